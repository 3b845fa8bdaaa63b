// Internal to codec: decodes the events that are written in key order and in the widths that nearly all have.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/event.h"

namespace memtrack::fast {

/// The kinds that have forms: Malloc to Brk, which are nearly all events of any artifact.
inline constexpr KindSet kKinds = (kind_bit(EventKind::kBrk) << 1) - 1;
/// How far behind its beginning an event is looked at, whatever its bytes are: common fields, stack_hash, a name of 31
/// bytes, old_addr, size, and a word.
inline constexpr std::ptrdiff_t kMaxReach = 160;
/// No event that has a form is longer.
inline constexpr std::uint64_t kLongestForm = 160;

/// What a run goes on with and what it leaves behind.
struct Run {
  const std::byte* at = nullptr;   ///< an event begins here
  const std::byte* end = nullptr;  ///< nothing behind it is read; at least kMaxReach behind `at`
  Event* to = nullptr;             ///< where the next event goes; unused when skipping
  Event* to_end = nullptr;
  std::uint64_t events = 0;  ///< passed, kept or not
  std::size_t common = 0;    ///< the form that the last event had
  bool hashes = false;       ///< events with a stack_hash have been met
};

/// Takes events from the front until the room or the bytes end, or one comes that has no form: it may be anything, and
/// only the exact decoder can tell. What is taken is well formed and equals what the exact decoder makes of it.
using Taker = void (*)(Run&);

/// One instruction set's way.
struct Path {
  Taker keep;  ///< writes the events to `to`
  Taker skip;  ///< only counts: none of the kinds that have forms is wanted
};
extern const Path kPortable;
extern const Path kAvx2;  ///< equals kPortable where the compiler has no such instructions

/// Whether this processor has what kAvx2 needs.
[[nodiscard]] bool has_avx2();

}  // namespace memtrack::fast
