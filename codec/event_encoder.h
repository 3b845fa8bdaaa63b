// Events to MessagePack, byte for byte as FORMAT.md says.
#pragma once

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

  void add(const Event& event);
  void merge(const FrameSummary& other);
  bool operator==(const FrameSummary&) const = default;
};

/// Serialises events. Keeps the encoded (pid, tid) prefix of the last event, so reuse one encoder for a stream.
/// One thread at a time; never fails but for std::bad_alloc; no allocation once `out` has grown.
class EventEncoder {
 public:
  /// Appends the encoding of events [begin, end) of the batch to `out`.
  void encode(const EventBatch& batch, std::size_t begin, std::size_t end, ByteBuffer& out);

 private:
  std::int32_t pid_ = 0;
  std::int32_t tid_ = 0;
  std::uint8_t prefix_bytes_ = 0;  // 0: no prefix cached yet
  std::byte prefix_[24] = {};      // "pid" value "tid" value, then the key "timestamp" is appended by the encoder
};

}  // namespace memtrack
