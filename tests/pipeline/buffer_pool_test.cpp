#include "pipeline/buffer_pool.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace memtrack::pipeline {
namespace {

struct Buffer {
  std::vector<int> values;
  static inline int alive = 0;
  Buffer() { ++alive; }
  ~Buffer() { --alive; }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void clear() { values.clear(); }
};

std::unique_ptr<Buffer> make_buffer() {
  return std::make_unique<Buffer>();
}

}  // namespace

TEST_CASE("an object comes back cleared, with its memory, when its last handle goes") {
  BufferPool<Buffer> pool(4, make_buffer);
  Pooled<Buffer> first = pool.take();
  CHECK(pool.in_use() == 1);
  first->values.assign(100, 1);
  const Buffer* object = &*first;
  Pooled<Buffer> second = first;
  CHECK(first.use_count() == 2);
  first.reset();
  CHECK_FALSE(first);
  CHECK(first.use_count() == 0);
  CHECK(second.use_count() == 1);
  CHECK(second->values.size() == 100);
  CHECK(pool.idle() == 0);
  second.reset();
  CHECK(pool.idle() == 1);
  CHECK(pool.in_use() == 0);
  const Pooled<Buffer> again = pool.take();
  CHECK(&*again == object);
  CHECK(again->values.empty());
  CHECK(again->values.capacity() >= 100);
}

TEST_CASE("assigning and moving handles keeps the count right") {
  BufferPool<Buffer> pool(4, make_buffer);
  Pooled<Buffer> a = pool.take();
  Pooled<Buffer> b = pool.take();
  a = b;
  CHECK(pool.in_use() == 1);
  CHECK(a.use_count() == 2);
  Pooled<Buffer>& same = a;
  a = same;
  CHECK(a.use_count() == 2);
  b = std::move(a);
  CHECK(b.use_count() == 1);
  CHECK(pool.in_use() == 1);
}

TEST_CASE("at most max_idle objects are kept") {
  const int before = Buffer::alive;
  {
    BufferPool<Buffer> pool(2, make_buffer);
    {
      std::vector<Pooled<Buffer>> handles;
      for (int i = 0; i < 5; ++i) handles.push_back(pool.take());
      CHECK(pool.in_use() == 5);
    }
    CHECK(pool.in_use() == 0);
    CHECK(pool.idle() == 2);
    CHECK(Buffer::alive == before + 2);
  }
  CHECK(Buffer::alive == before);
}

TEST_CASE("a handle may outlive its pool") {
  const int before = Buffer::alive;
  Pooled<Buffer> left;
  {
    BufferPool<Buffer> pool(2, make_buffer);
    left = pool.take();
  }
  left->values.push_back(1);
  left.reset();
  CHECK(Buffer::alive == before);
}

TEST_CASE("handles are copied and dropped by many threads") {
  BufferPool<Buffer> pool(8, make_buffer);
  const int before = Buffer::alive;
  std::atomic<bool> intact{true};
  for (int round = 0; round < 200; ++round) {
    Pooled<Buffer> shared = pool.take();
    shared->values.assign(10, round);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([copy = shared, round, &intact] {
        for (int i = 0; i < 50; ++i) {
          const Pooled<Buffer> more = copy;
          if (more->values.back() != round) intact = false;
        }
      });
    }
    shared.reset();
  }
  CHECK(intact);
  CHECK(pool.in_use() == 0);
  CHECK(pool.idle() == 1);
  CHECK(Buffer::alive == before + 1);
}

}  // namespace memtrack::pipeline
