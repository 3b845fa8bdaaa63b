#include "tools/live_blocks.h"

#include <limits>
#include <random>
#include <unordered_map>

#include <doctest/doctest.h>

#include "tests/support/seed.h"

namespace {

using memtrack::tools::LiveBlocks;

TEST_CASE("live blocks behave like a map from address to size") {
  const std::uint64_t seed = memtrack::test::test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  LiveBlocks blocks;
  std::unordered_map<std::uint64_t, std::uint64_t> model;
  for (int i = 0; i < 200'000; ++i) {
    // Few addresses, as near as an allocator's, so that runs, gaps and replacements are common.
    const std::uint64_t addr = random() % 700 * 16;
    const std::uint64_t size = random() % 100;
    const auto found = model.find(addr);
    const std::optional<std::uint64_t> before = found == model.end() ? std::nullopt : std::optional(found->second);
    if (random() % 2 == 0) {
      REQUIRE(blocks.insert(addr, size) == before);
      model[addr] = size;
    } else {
      REQUIRE(blocks.erase(addr) == before);
      model.erase(addr);
    }
    REQUIRE(blocks.count() == model.size());
  }
}

TEST_CASE("address 0, size 0 and the largest size are blocks like others") {
  LiveBlocks blocks;
  CHECK_FALSE(blocks.erase(0).has_value());
  CHECK_FALSE(blocks.insert(0, 0).has_value());
  CHECK(blocks.count() == 1);
  CHECK(blocks.erase(0) == 0);
  blocks.insert(1, std::numeric_limits<std::uint64_t>::max());
  CHECK(blocks.erase(1) == std::numeric_limits<std::uint64_t>::max() - 1);
  blocks.insert(2, 3);
  blocks.clear();
  CHECK(blocks.count() == 0);
  CHECK_FALSE(blocks.erase(2).has_value());
}

}  // namespace
