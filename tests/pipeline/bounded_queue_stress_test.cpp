// Real threads that sleep on the bells: a lost wake-up hangs them until ctest's time limit.
#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "pipeline/bounded_queue.h"
#include "tests/pipeline/waiting.h"
#include "tests/support/seed.h"

namespace memtrack::pipeline {
namespace {

struct Item {
  std::uint32_t producer = 0;
  std::uint32_t number = 0;
};
using Queue = BoundedQueue<Item>;

struct Shape {
  std::uint32_t producers;
  std::uint32_t consumers;
  std::uint32_t items_each;
  Queue::Limits limits;
};

struct Outcome {
  std::vector<std::vector<Item>> popped;  // by consumer
  std::uint64_t high_water_items;
  std::uint64_t items_left;
};

/// Pushes everything through the queue; closes it when the producers are done.
Outcome run(const Shape& shape) {
  Queue queue(shape.limits);
  std::vector<std::unique_ptr<WaitingProducer<Item>>> producers;
  std::vector<std::unique_ptr<WaitingConsumer<Item>>> consumers;
  for (std::uint32_t i = 0; i < shape.producers; ++i) {
    producers.push_back(std::make_unique<WaitingProducer<Item>>(queue));
  }
  for (std::uint32_t i = 0; i < shape.consumers; ++i) {
    consumers.push_back(std::make_unique<WaitingConsumer<Item>>(queue));
  }
  Outcome outcome{.popped = std::vector<std::vector<Item>>(shape.consumers), .high_water_items = 0, .items_left = 0};
  std::vector<std::jthread> consuming;
  for (std::uint32_t c = 0; c < shape.consumers; ++c) {
    consuming.emplace_back([&consumer = *consumers[c], &popped = outcome.popped[c]] {
      for (Item item; consumer.pop(item);) popped.push_back(item);
    });
  }
  std::vector<std::jthread> producing;
  for (std::uint32_t p = 0; p < shape.producers; ++p) {
    producing.emplace_back([&producer = *producers[p], &shape, p] {
      for (std::uint32_t i = 0; i < shape.items_each; ++i) {
        Item item{.producer = p, .number = i};
        if (!producer.push(item, 1 + i % 7)) return;
      }
    });
  }
  producing.clear();
  queue.close();
  consuming.clear();
  outcome.high_water_items = queue.high_water_items();
  outcome.items_left = queue.items();
  return outcome;
}

/// Every item came out once; each consumer saw each producer's items in order (and nothing more is promised: B1).
void check_complete(const Shape& shape, const Outcome& outcome) {
  std::vector<std::uint32_t> seen(shape.producers * shape.items_each);
  bool ordered = true;
  for (const auto& items : outcome.popped) {
    std::vector<std::int64_t> last(shape.producers, -1);
    for (const Item& item : items) {
      ordered = ordered && item.number > last[item.producer];
      last[item.producer] = item.number;
      ++seen[item.producer * shape.items_each + item.number];
    }
  }
  CHECK(ordered);
  CHECK(std::ranges::all_of(seen, [](std::uint32_t count) { return count == 1; }));
  CHECK(outcome.high_water_items <= shape.limits.items);
  CHECK(outcome.items_left == 0);
}

}  // namespace

TEST_CASE("producers and consumers that sleep on their bells hand over everything") {
  for (const std::uint32_t producers : {1u, 2u, 8u}) {
    for (const std::uint32_t consumers : {1u, 2u, 8u}) {
      for (const Queue::Limits limits : {Queue::Limits{1, 100}, Queue::Limits{3, 1}, Queue::Limits{64, 20}}) {
        CAPTURE(producers);
        CAPTURE(consumers);
        CAPTURE(limits.items);
        const Shape shape{
            .producers = producers, .consumers = consumers, .items_each = 8000 / producers, .limits = limits};
        check_complete(shape, run(shape));
      }
    }
  }
}

TEST_CASE("20 short-lived producers of 100 items get through a queue of 64 (B2)") {
  for (int round = 0; round < 50; ++round) {
    const Shape shape{.producers = 20, .consumers = 1, .items_each = 100, .limits = {.items = 64, .bytes = 1 << 20}};
    check_complete(shape, run(shape));
  }
}

TEST_CASE("close wakes consumers and producers that wait, whenever it comes (B6)") {
  const std::uint64_t seed = test::test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3000; ++round) {
    Queue queue({.items = 2, .bytes = 100});
    WaitingProducer<Item> producer(queue);
    WaitingConsumer<Item> consumer(queue);
    std::atomic<std::uint32_t> accepted{0};
    std::uint32_t popped = 0;
    const auto close_after = static_cast<std::uint32_t>(random() % 8);
    const bool consume = random() % 2 == 0;
    {
      std::jthread producing([&] {
        Item item;
        while (producer.push(item, 1)) ++accepted;
      });
      std::jthread consuming([&] {
        if (!consume) return;
        for (Item item; consumer.pop(item);) ++popped;
      });
      while (accepted < std::min(close_after, consume ? 8u : 2u)) std::this_thread::yield();
      queue.close();
    }
    CHECK(popped + queue.items() == accepted);
    if (consume) CHECK(queue.drained());
  }
}

TEST_CASE("queues come and go on threads other than their producers' (B5)") {
  for (int round = 0; round < 3000; ++round) {
    auto queue = std::make_unique<Queue>(Queue::Limits{.items = 4, .bytes = 100});
    auto producer = std::make_unique<Queue::Producer>(*queue);
    auto consumer = std::make_unique<Queue::Consumer>(*queue);
    Queue::Push pushed = Queue::Push::kFull;
    std::jthread([&producer, &pushed] {
      Item item;
      pushed = producer->try_push(item, 1);
    }).join();
    CHECK(pushed == Queue::Push::kAccepted);
    Item item;
    CHECK(consumer->try_pop(item) == Queue::Pop::kItem);
    consumer.reset();
    producer.reset();
  }
}

}  // namespace memtrack::pipeline
