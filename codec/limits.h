// Caps that keep a hostile or damaged file from costing memory.
#pragma once

#include <cstdint>

namespace memtrack {

struct DecodeLimits {
  /// Largest zstd window that a frame may ask for; the decoder's memory is about this much.
  std::uint64_t window_bytes = 8u << 20;
  /// Largest single event (a Stack's bytes, a path): what may be carried over between two pieces of a frame.
  std::uint64_t event_bytes = 16u << 20;
};

}  // namespace memtrack
