#include "pipeline/batcher.h"

#include <random>
#include <string>

#include <doctest/doctest.h>

#include "tests/pipeline/fake_source.h"
#include "tests/support/seed.h"

namespace memtrack::pipeline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
const Batcher::Clock::time_point kStart{};

/// Makes chunks of numbered events and checks that batches hold them all, in order.
struct Feed {
  BufferPool<EventBatch> pool{64, [] { return std::make_unique<EventBatch>(kChunkEvents); }};
  std::uint64_t made = 0;
  std::uint64_t chunk_seq = 0;
  std::uint64_t checked = 0;
  std::uint64_t batch_seq = 0;

  Chunk chunk(std::size_t events, std::size_t path_bytes = 0) {
    Chunk chunk{.seq = chunk_seq++, .events = pool.take()};
    for (std::size_t i = 0; i < events; ++i) {
      Event event = numbered_event(made++);
      if (path_bytes == 0) {
        chunk.events->append(event);
      } else {
        event.kind = EventKind::kMapping;
        chunk.events->append_mapping(event, std::string(path_bytes, 'p'));
      }
    }
    return chunk;
  }
  void check(const Batch& batch) {
    CHECK(batch.seq == batch_seq++);
    std::uint64_t count = 0;
    bool ordered = true;
    for (const Slice& slice : batch.slices) {
      CHECK(slice.begin < slice.end);
      for (std::uint32_t i = slice.begin; i < slice.end; ++i, ++count) {
        ordered = ordered && (*slice.events)[i].addr == checked++;
      }
    }
    CHECK(ordered);
    CHECK(batch.event_count == count);
  }
};

BatchOptions options_of(std::uint32_t events, std::uint64_t bytes = 1u << 30) {
  return {.events = events, .bytes = bytes, .flush_interval = seconds(1)};
}

enum class Flush { kIdle, kDrain };

std::optional<Batch> flush_by(Flush how, Batcher& batcher) {
  return how == Flush::kIdle ? batcher.flush_if_older(kStart + seconds(1)) : batcher.flush();
}

}  // namespace

TEST_CASE("0, 1, n-1, n and n+1 events come out whole by idle time and by drain or shutdown (B7)") {
  constexpr std::uint32_t kEvents = 1024;
  for (const Flush how : {Flush::kIdle, Flush::kDrain}) {
    for (const std::uint32_t events : {0u, 1u, kEvents - 1, kEvents, kEvents + 1}) {
      CAPTURE(events);
      Feed feed;
      Batcher batcher(options_of(kEvents));
      batcher.add(feed.chunk(events), kStart);
      std::uint64_t full = 0;
      while (auto batch = batcher.next_full()) {
        CHECK(batch->event_count == kEvents);
        feed.check(*batch);
        ++full;
      }
      CHECK(full == events / kEvents);
      CHECK(batcher.pending_events() == events % kEvents);
      const auto rest = flush_by(how, batcher);
      CHECK(rest.has_value() == (events % kEvents != 0));
      if (rest) feed.check(*rest);
      CHECK(feed.checked == events);
      CHECK(batcher.pending_events() == 0);
      CHECK_FALSE(flush_by(how, batcher));
      CHECK(batcher.next_seq() == feed.batch_seq);
    }
  }
}

TEST_CASE("chunks are cut where a batch ends, and shared, not copied") {
  Feed feed;
  Batcher batcher(options_of(1000));
  const Chunk chunk = feed.chunk(2500);
  batcher.add(chunk, kStart);
  const auto first = batcher.next_full();
  const auto second = batcher.next_full();
  CHECK_FALSE(batcher.next_full());
  const auto rest = batcher.flush();
  for (const auto* batch : {&first, &second, &rest}) {
    REQUIRE(*batch);
    REQUIRE((*batch)->slices.size() == 1);
    CHECK(&*(*batch)->slices[0].events == &*chunk.events);
    feed.check(**batch);
  }
  CHECK(feed.checked == 2500);
}

TEST_CASE("a partial batch is flushed when its first event is old enough, not before") {
  Feed feed;
  Batcher batcher(options_of(100));
  batcher.add(feed.chunk(1), kStart);
  batcher.add(feed.chunk(1), kStart + milliseconds(900));
  CHECK_FALSE(batcher.flush_if_older(kStart + milliseconds(999)));
  const auto batch = batcher.flush_if_older(kStart + milliseconds(1000));
  REQUIRE(batch);
  CHECK(batch->event_count == 2);
  CHECK_FALSE(batcher.flush_if_older(kStart + seconds(100)));
}

TEST_CASE("what a full batch leaves behind is as old as the chunk that brought it") {
  Feed feed;
  Batcher batcher(options_of(100));
  batcher.add(feed.chunk(99), kStart);
  batcher.add(feed.chunk(2), kStart + milliseconds(900));
  REQUIRE(batcher.next_full());
  CHECK(batcher.pending_events() == 1);
  CHECK_FALSE(batcher.flush_if_older(kStart + milliseconds(1899)));
  CHECK(batcher.flush_if_older(kStart + milliseconds(1900)));
}

TEST_CASE("small chunks of a slow source share buffers, and theirs go back to the pool") {
  Feed feed;
  Batcher batcher(options_of(65'536));
  for (int i = 0; i < 20'000; ++i) batcher.add(feed.chunk(3), kStart);
  CHECK(feed.pool.in_use() <= 60'000 / kChunkEvents + 1);
  const auto batch = batcher.flush();
  REQUIRE(batch);
  feed.check(*batch);
  CHECK(feed.checked == 60'000);
}

TEST_CASE("a chunk that another batch still reads is not written to") {
  Feed feed;
  Batcher batcher(options_of(10));
  batcher.add(feed.chunk(15), kStart);
  auto first = batcher.next_full();
  REQUIRE(first);
  const std::size_t size = first->slices[0].events->size();
  batcher.add(feed.chunk(1), kStart);
  CHECK(first->slices[0].events->size() == size);
  CHECK(feed.pool.in_use() == 2);
  feed.check(*first);
  SUBCASE("but once that is done") {
    feed.check(*batcher.flush());
    batcher.add(feed.chunk(15), kStart);
    first = batcher.next_full();
    feed.check(*first);
    first.reset();
    batcher.add(feed.chunk(1), kStart);
    CHECK(feed.pool.in_use() == 1);
  }
  feed.check(*batcher.flush());
  CHECK(feed.checked == feed.made);
}

TEST_CASE("a batch is full when its chunks hold the bound of bytes") {
  Feed feed;
  Batcher batcher(options_of(1'000'000, 10 << 20));
  std::uint64_t batches = 0;
  for (int i = 0; i < 100; ++i) {
    batcher.add(feed.chunk(10, 50'000), kStart);
    while (auto batch = batcher.next_full()) {
      std::uint64_t used = 0;
      for (const Slice& slice : batch->slices) used += slice.events->used_bytes();
      CHECK(used >= 10 << 20);
      CHECK(used < (10 << 20) + 600'000);
      CHECK(held_bytes(*batch) >= used);
      feed.check(*batch);
      ++batches;
    }
  }
  CHECK(batches == 100 * 500'640 / ((10 << 20) + 500'000));
  if (const auto rest = batcher.flush()) feed.check(*rest);
  CHECK(feed.checked == 1000);
}

TEST_CASE("paths and stacks of merged chunks stay within a chunk's payload bound") {
  Feed feed;
  Batcher batcher(options_of(1'000'000));
  for (int i = 0; i < 100; ++i) batcher.add(feed.chunk(1, 300'000), kStart);
  const auto batch = batcher.flush();
  REQUIRE(batch);
  for (const Slice& slice : batch->slices) CHECK(slice.events->payload_bytes() <= kChunkPayloadBytes);
  CHECK(batch->slices.size() <= 34);
  feed.check(*batch);
}

TEST_CASE("random chunks, flushes and batch sizes lose nothing and keep the order") {
  const std::uint64_t seed = test::test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    Feed feed;
    const auto size = static_cast<std::uint32_t>(1 + random() % 5000);
    CAPTURE(size);
    Batcher batcher(options_of(size, random() % 4 == 0 ? 200'000 : 1u << 30));
    std::vector<Batch> in_flight;
    for (int step = 0; step < 100; ++step) {
      batcher.add(feed.chunk(random() % 3 == 0 ? random() % 4097 : random() % 20), kStart);
      while (auto batch = batcher.next_full()) in_flight.push_back(std::move(*batch));
      CHECK(batcher.pending_events() < size);
      if (random() % 10 == 0) {
        while (auto batch = batcher.flush()) in_flight.push_back(std::move(*batch));
      }
      if (random() % 4 == 0) {
        for (const Batch& batch : in_flight) feed.check(batch);
        in_flight.clear();
      }
    }
    while (auto batch = batcher.flush()) in_flight.push_back(std::move(*batch));
    for (const Batch& batch : in_flight) feed.check(batch);
    in_flight.clear();
    CHECK(feed.checked == feed.made);
    CHECK(feed.pool.in_use() == 0);
  }
}

}  // namespace memtrack::pipeline
