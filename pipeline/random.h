// SplitMix64: a small, fast generator whose numbers are the same everywhere.
#pragma once

#include <cstdint>

namespace memtrack::pipeline {

/// Sebastiano Vigna's SplitMix64: one multiplication-rich step a number, any seed is a good one. Not for secrets.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// 0 to bound - 1, evenly enough for bounds far below 2^32.
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32); }

 private:
  std::uint64_t state_;
};

}  // namespace memtrack::pipeline
