// Events to MessagePack, byte for byte as FORMAT.md says.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "codec/byte_buffer.h"
#include "codec/event.h"
#include "codec/event_batch.h"

namespace memtrack {

/// What the index keeps about the events of one frame.
struct FrameSummary {
  std::uint64_t event_count = 0;
  std::uint64_t module_event_count = 0;
  std::uint64_t first_timestamp_ns = 0;  ///< smallest; 0 where event_count is 0
  std::uint64_t last_timestamp_ns = 0;   ///< largest; 0 where event_count is 0
  std::uint32_t kinds = 0;               ///< bit 1 << EventKind for each kind present

  void add(const Event& event) {
    first_timestamp_ns = event_count == 0 ? event.timestamp_ns : std::min(first_timestamp_ns, event.timestamp_ns);
    last_timestamp_ns = std::max(last_timestamp_ns, event.timestamp_ns);
    kinds |= 1u << static_cast<unsigned>(event.kind);
    module_event_count += is_module_event(event.kind) ? 1 : 0;
    ++event_count;
  }
  void merge(const FrameSummary& other);
  bool operator==(const FrameSummary&) const = default;
};

/// Serialises events. Keeps the encoded (pid, tid) prefixes of recent threads, so reuse one encoder for a stream.
/// One thread at a time; never fails but for std::bad_alloc; no allocation once `out` has grown.
class EventEncoder {
 public:
  /// Appends the encoding of events [begin, end) of the batch to `out`. Paths and stack bytes over 4 GiB do not exist.
  void encode(const EventBatch& batch, std::size_t begin, std::size_t end, ByteBuffer& out);

 private:
  /// The bytes from behind the map header to the timestamp's value: they depend on the thread only.
  struct Prefix {
    std::int32_t pid = 0;
    std::int32_t tid = 0;
    std::uint32_t size = 0;  // 0: not filled yet
    std::array<std::byte, 40> bytes{};
  };
  static constexpr std::size_t kPrefixSlots = 64;

  static void fill(Prefix& prefix, const Event& event);

  std::array<Prefix, kPrefixSlots> prefixes_{};  // direct-mapped by tid
};

}  // namespace memtrack
