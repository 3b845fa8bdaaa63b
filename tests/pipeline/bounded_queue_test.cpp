#include "pipeline/bounded_queue.h"

#include <memory>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

namespace memtrack::pipeline {
namespace {

using Item = std::unique_ptr<int>;
using Queue = BoundedQueue<Item>;
using Push = Queue::Push;
using Pop = Queue::Pop;

Push push(Queue::Producer& producer, int value, std::uint64_t bytes = 1) {
  Item item = std::make_unique<int>(value);
  return producer.try_push(item, bytes);
}

int pop(Queue::Consumer& consumer) {
  Item item;
  REQUIRE(consumer.try_pop(item) == Pop::kItem);
  return *item;
}

}  // namespace

TEST_CASE("items of one producer leave the queue in its order") {
  Queue queue({.items = 100, .bytes = 1000});
  Queue::Producer producer(queue);
  Queue::Consumer consumer(queue);
  for (int i = 0; i < 100; ++i) REQUIRE(push(producer, i) == Push::kAccepted);
  for (int i = 0; i < 100; ++i) CHECK(pop(consumer) == i);
  Item none;
  CHECK(consumer.try_pop(none) == Pop::kEmpty);
}

TEST_CASE("the bound of items is exact however many producers share it (B2)") {
  for (const std::uint64_t capacity : {1u, 2u, 31u, 32u, 33u, 64u}) {
    CAPTURE(capacity);
    Queue queue({.items = capacity, .bytes = 1 << 20});
    std::vector<Queue::Producer> producers;
    for (int i = 0; i < 20; ++i) producers.emplace_back(queue);
    Queue::Consumer consumer(queue);
    for (int round = 0; round < 5; ++round) {
      for (std::uint64_t i = 0; i < capacity; ++i) REQUIRE(push(producers[i % 20], 0) == Push::kAccepted);
      for (Queue::Producer& producer : producers) CHECK(push(producer, 0) == Push::kFull);
      CHECK(queue.items() == capacity);
      (void)pop(consumer);
      CHECK(push(producers[7], 0) == Push::kAccepted);
      CHECK(push(producers[8], 0) == Push::kFull);
      for (std::uint64_t i = 0; i < capacity; ++i) (void)pop(consumer);
      CHECK(queue.items() == 0);
    }
    CHECK(queue.high_water_items() == capacity);
  }
}

TEST_CASE("the bound of bytes is exact") {
  Queue queue({.items = 100, .bytes = 10});
  Queue::Producer producer(queue);
  Queue::Consumer consumer(queue);
  CHECK(push(producer, 1, 4) == Push::kAccepted);
  CHECK(push(producer, 2, 6) == Push::kAccepted);
  CHECK(queue.bytes() == 10);
  CHECK(push(producer, 3, 1) == Push::kFull);
  CHECK(push(producer, 3, 0) == Push::kAccepted);
  CHECK(pop(consumer) == 1);
  CHECK(queue.bytes() == 6);
  CHECK(push(producer, 4, 5) == Push::kFull);
  CHECK(push(producer, 4, 4) == Push::kAccepted);
  CHECK(queue.high_water_bytes() == 10);
  CHECK(queue.high_water_items() == 3);
}

TEST_CASE("an item larger than the byte bound is accepted when the queue is empty") {
  Queue queue({.items = 100, .bytes = 10});
  Queue::Producer producer(queue);
  Queue::Consumer consumer(queue);
  CHECK(push(producer, 1, 1) == Push::kAccepted);
  CHECK(push(producer, 2, 1000) == Push::kFull);
  CHECK(pop(consumer) == 1);
  CHECK(push(producer, 2, 1000) == Push::kAccepted);
  CHECK(push(producer, 3, 0) == Push::kFull);
  CHECK(queue.high_water_bytes() == 1000);
  CHECK(pop(consumer) == 2);
  CHECK(queue.bytes() == 0);
  SUBCASE("even one that does not fit the counter") {
    CHECK(push(producer, 4, ~std::uint64_t{0}) == Push::kAccepted);
    CHECK(queue.items() == 1);
    CHECK_FALSE(queue.closed());
    CHECK(pop(consumer) == 4);
    CHECK(queue.bytes() == 0);
    CHECK(queue.items() == 0);
  }
}

TEST_CASE("a refused item is untouched, an accepted one is moved from") {
  Queue queue({.items = 1, .bytes = 10});
  Queue::Producer producer(queue);
  Queue::Consumer consumer(queue);
  Item item = std::make_unique<int>(1);
  CHECK(producer.try_push(item, 1) == Push::kAccepted);
  CHECK(item == nullptr);
  item = std::make_unique<int>(2);
  CHECK(producer.try_push(item, 1) == Push::kFull);
  REQUIRE(item != nullptr);
  CHECK(*item == 2);
  queue.close();
  CHECK(producer.try_push(item, 1) == Push::kClosed);
  REQUIRE(item != nullptr);
  CHECK(*item == 2);
  CHECK(queue.items() == 1);
}

TEST_CASE("an empty pop leaves the caller's object alone") {
  Queue queue({.items = 1, .bytes = 10});
  Queue::Consumer consumer(queue);
  Item mine = std::make_unique<int>(7);
  CHECK(consumer.try_pop(mine) == Pop::kEmpty);
  queue.close();
  CHECK(consumer.try_pop(mine) == Pop::kDrained);
  CHECK(*mine == 7);
}

TEST_CASE("a closed queue gives what is inside, then says drained") {
  Queue queue({.items = 4, .bytes = 10});
  Queue::Producer producer(queue);
  Queue::Consumer consumer(queue);
  CHECK(push(producer, 1) == Push::kAccepted);
  CHECK(push(producer, 2) == Push::kAccepted);
  queue.close();
  queue.close();
  CHECK(queue.closed());
  CHECK_FALSE(queue.drained());
  CHECK(push(producer, 3) == Push::kClosed);
  CHECK(pop(consumer) == 1);
  CHECK_FALSE(queue.drained());
  CHECK(pop(consumer) == 2);
  CHECK(queue.drained());
  Item none;
  CHECK(consumer.try_pop(none) == Pop::kDrained);
  CHECK(consumer.try_pop(none) == Pop::kDrained);
  CHECK(push(producer, 3) == Push::kClosed);
}

TEST_CASE("limits out of range are refused") {
  CHECK_THROWS_AS(Queue({.items = 0, .bytes = 1}), std::invalid_argument);
  CHECK_THROWS_AS(Queue({.items = 1, .bytes = 0}), std::invalid_argument);
  CHECK_THROWS_AS(Queue({.items = QueueCredits::kMaxItems + 1, .bytes = 1}), std::invalid_argument);
  CHECK_THROWS_AS(Queue({.items = 1, .bytes = QueueCredits::kMaxBytes + 1}), std::invalid_argument);
  Queue largest({.items = QueueCredits::kMaxItems, .bytes = QueueCredits::kMaxBytes});
  Queue::Producer producer(largest);
  CHECK(push(producer, 1, QueueCredits::kMaxBytes) == Push::kAccepted);
  CHECK(push(producer, 1, 1) == Push::kFull);
  CHECK(largest.bytes() == QueueCredits::kMaxBytes);
  CHECK(largest.items() == 1);
}

TEST_CASE("items that nobody popped are destroyed with the queue") {
  const auto shared = std::make_shared<int>(1);
  {
    BoundedQueue<std::shared_ptr<int>> queue({.items = 8, .bytes = 8});
    BoundedQueue<std::shared_ptr<int>>::Producer producer(queue);
    for (int i = 0; i < 8; ++i) {
      std::shared_ptr<int> copy = shared;
      REQUIRE(producer.try_push(copy, 1) == Push::kAccepted);
    }
    CHECK(shared.use_count() == 9);
  }
  CHECK(shared.use_count() == 1);
}

TEST_CASE("the bell for work rings once when an idle consumer gets something to do") {
  Queue queue({.items = 8, .bytes = 100});
  Queue::Producer producer(queue);
  Queue::Consumer consumer(queue);
  int rings = 0;
  consumer.on_work([&rings] { ++rings; });
  CHECK(push(producer, 1) == Push::kAccepted);
  CHECK(push(producer, 2) == Push::kAccepted);
  CHECK(rings == 1);
  CHECK_FALSE(consumer.await_work());  // two items are there
  CHECK(push(producer, 3) == Push::kAccepted);
  CHECK(rings == 1);  // it said that it goes on
  for (int i = 1; i <= 3; ++i) CHECK(pop(consumer) == i);
  CHECK(consumer.await_work());
  CHECK(push(producer, 4) == Push::kAccepted);
  CHECK(rings == 2);
}

TEST_CASE("a push rings one idle consumer, close rings all, and so does the pop that drains") {
  Queue queue({.items = 8, .bytes = 100});
  Queue::Producer producer(queue);
  Queue::Consumer first(queue);
  Queue::Consumer second(queue);
  int first_rings = 0;
  int second_rings = 0;
  first.on_work([&first_rings] { ++first_rings; });
  second.on_work([&second_rings] { ++second_rings; });
  CHECK(push(producer, 1) == Push::kAccepted);
  CHECK(first_rings + second_rings == 1);
  CHECK(push(producer, 2) == Push::kAccepted);
  CHECK(first_rings == 1);
  CHECK(second_rings == 1);
  CHECK(push(producer, 3) == Push::kAccepted);
  CHECK(first_rings + second_rings == 2);
  (void)pop(first);
  (void)pop(first);
  (void)pop(first);
  CHECK(first.await_work());
  CHECK(second.await_work());
  SUBCASE("close") {
    queue.close();
    CHECK(first_rings == 2);
    CHECK(second_rings == 2);
    CHECK_FALSE(first.await_work());  // a wait after close returns at once (B6)
    CHECK_FALSE(second.await_work());
    queue.close();
    CHECK(first_rings == 2);
  }
  SUBCASE("the last pop of a closed queue") {
    CHECK(push(producer, 4) == Push::kAccepted);
    queue.close();
    CHECK(pop(first) == 4);
    CHECK(second_rings == 2);
    CHECK_FALSE(second.await_work());
  }
}

TEST_CASE("the bell for room rings the producers that asked for it, and only once") {
  Queue queue({.items = 2, .bytes = 10});
  Queue::Producer waiting(queue);
  Queue::Producer other(queue);
  Queue::Consumer consumer(queue);
  int waiting_rings = 0;
  int other_rings = 0;
  waiting.on_room([&waiting_rings] { ++waiting_rings; });
  other.on_room([&other_rings] { ++other_rings; });
  CHECK(push(waiting, 1, 5) == Push::kAccepted);
  CHECK(push(waiting, 2, 5) == Push::kAccepted);
  CHECK(push(waiting, 3, 5) == Push::kFull);
  CHECK(waiting.await_room());
  (void)pop(consumer);
  (void)pop(consumer);
  CHECK(waiting_rings == 1);
  CHECK(other_rings == 0);
  CHECK(push(waiting, 3, 8) == Push::kAccepted);
  CHECK(push(waiting, 4, 3) == Push::kFull);
  SUBCASE("not where room came before the wish") {
    (void)pop(consumer);
    CHECK_FALSE(waiting.await_room());
    CHECK(push(waiting, 4, 3) == Push::kAccepted);
    CHECK(waiting_rings == 1);
  }
  SUBCASE("close rings as well") {
    CHECK(waiting.await_room());
    queue.close();
    CHECK(waiting_rings == 2);
    CHECK_FALSE(waiting.await_room());
    CHECK(push(waiting, 4, 3) == Push::kClosed);
  }
}

}  // namespace memtrack::pipeline
