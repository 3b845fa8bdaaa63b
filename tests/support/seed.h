// The seed of a random test: printed with every failure, settable with MEMTRACK_TEST_SEED.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace memtrack::test {

/// Use with `INFO("seed ", seed);` in the test, so that a failure can be repeated.
inline std::uint64_t test_seed() {
  if (const char* text = std::getenv("MEMTRACK_TEST_SEED")) return std::strtoull(text, nullptr, 10);
  return std::random_device{}();
}

}  // namespace memtrack::test
