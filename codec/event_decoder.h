// MessagePack to events: any key order, any legal integer width, unknown kinds and keys skipped and counted.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "codec/event_batch.h"
#include "codec/limits.h"

namespace memtrack {

/// What a reader met and passed over.
struct DecodeCounters {
  std::uint64_t events = 0;         ///< of known kinds, those that were not asked for included
  std::uint64_t unknown_kinds = 0;  ///< whole events skipped
  std::uint64_t unknown_keys = 0;   ///< fields skipped in known events
  void merge(const DecodeCounters& other);
};

struct DecodeStep {
  enum class Status {
    kNeedMore,   ///< every whole event was taken; the rest (maybe 0 bytes) is the beginning of one
    kBatchFull,  ///< the batch has no room; go on with bytes from `consumed`
    kMalformed,  ///< the bytes at `consumed` are no event; `reason` says why. Earlier events are in the batch.
  };
  Status status = Status::kNeedMore;
  std::size_t consumed = 0;  ///< bytes of whole events
  std::string reason = {};
};

/// How events are decoded. All ways give the same results; they differ in speed.
enum class DecodeWay : std::uint8_t {
  kExact,     ///< value by value
  kPortable,  ///< events in written form by comparing whole words, others exactly
  kAvx2,      ///< the same with the AVX2 instructions of x86-64
};
/// Whether this processor (and this build) can go that way.
[[nodiscard]] bool is_available(DecodeWay way);
/// The fastest one that is available.
[[nodiscard]] DecodeWay fastest_way();

struct DecodeOptions {
  DecodeLimits limits = {};
  /// Only events of these kinds are appended; the others are checked and counted all the same.
  KindSet kinds = kAllKinds;
  DecodeWay way = fastest_way();
};

/// Appends the events of `bytes` (decompressed, starting at an event) to `out` until the bytes or the room end.
/// Never reads outside `bytes`, never allocates from a declared length: lengths are compared with the bytes left;
/// an event that needs more than limits.event_bytes is malformed. A missing required field, a key that is no string,
/// a value of a wrong type, a number out of its field's range, a duplicate key are malformed, whether the event's kind
/// is asked for or not.
[[nodiscard]] DecodeStep decode_events(std::span<const std::byte> bytes, EventBatch& out, DecodeCounters& counters,
                                       const DecodeOptions& options = {});

}  // namespace memtrack
