#include "pipeline/reorder_buffer.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "tests/support/seed.h"

namespace memtrack::pipeline {

TEST_CASE("numbered items in any order come out in order, each as soon as it can (B1)") {
  const std::uint64_t seed = test::test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  constexpr std::uint64_t kSize = 8;
  ReorderBuffer<std::unique_ptr<std::uint64_t>> buffer(kSize, 100);
  std::uint64_t expected = 100;
  std::vector<std::uint64_t> out(kSize);
  std::iota(out.begin(), out.end(), std::uint64_t{100});
  for (int step = 0; step < 1000; ++step) {
    // One of the numbers that the window lets be out arrives; taking the next ones lets new numbers out.
    std::swap(out[random() % out.size()], out.back());
    const std::uint64_t seq = out.back();
    out.pop_back();
    REQUIRE(buffer.put(seq, std::make_unique<std::uint64_t>(seq)));
    while (auto item = buffer.take_next()) {
      CHECK(**item == expected);
      out.push_back(expected + kSize);
      ++expected;
    }
    CHECK(buffer.next_seq() == expected);
    CHECK(buffer.held() + out.size() == kSize);
    CHECK(std::ranges::find(out, expected) != out.end());
  }
}

TEST_CASE("an item that is not expected is refused and untouched") {
  ReorderBuffer<std::unique_ptr<int>> buffer(4);
  auto item = std::make_unique<int>(1);
  CHECK_FALSE(buffer.put(4, std::move(item)));  // too far ahead
  REQUIRE(item != nullptr);
  CHECK(buffer.put(3, std::move(item)));
  item = std::make_unique<int>(2);
  CHECK_FALSE(buffer.put(3, std::move(item)));  // twice
  REQUIRE(item != nullptr);
  CHECK_FALSE(buffer.take_next());
  CHECK(buffer.put(0, std::move(item)));
  CHECK(**buffer.take_next() == 2);
  item = std::make_unique<int>(3);
  CHECK_FALSE(buffer.put(0, std::move(item)));  // taken already
  CHECK(buffer.put(4, std::move(item)));
  CHECK(buffer.held() == 2);
}

}  // namespace memtrack::pipeline
