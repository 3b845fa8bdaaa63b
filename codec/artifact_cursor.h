// Serial reader of a whole artifact in memory: splitter, frame decoder and event decoder in one loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "codec/error.h"
#include "codec/event_batch.h"
#include "codec/event_decoder.h"

namespace memtrack {

/// Gives the events of an artifact in file order: all, or those of the kinds in the options.
/// How to use: next(batch) until it says kEnd; then look at truncated() and counters().
/// Ownership: the bytes must outlive the cursor. One thread at a time.
/// Bounds: the decoder's window + one piece + one event carried over between pieces; never a whole frame.
/// Errors: those of FrameSplitter and FrameDecoder, and kMalformedEvent (frame, its offset, and the event's position
/// in the decompressed frame in the message). Events before the damage have been given. After an error the cursor is
/// at its end.
class ArtifactCursor {
 public:
  enum class Status { kMore, kEnd };

  explicit ArtifactCursor(std::span<const std::byte> artifact, const DecodeOptions& options = {});
  ArtifactCursor(ArtifactCursor&&) noexcept;
  ArtifactCursor& operator=(ArtifactCursor&&) noexcept;
  ~ArtifactCursor();

  /// Appends events until the batch is full, holds `payload_bytes` of paths and stacks (or little more), or the
  /// artifact ends.
  [[nodiscard]] Result<Status> next(EventBatch& out,
                                    std::size_t payload_bytes = std::numeric_limits<std::size_t>::max());

  /// The last frame was cut; all events before the cut have been given. Meaningful after kEnd.
  [[nodiscard]] bool truncated() const;
  [[nodiscard]] const DecodeCounters& counters() const;
  /// Data frames begun so far, and bytes of the artifact passed so far (for progress).
  [[nodiscard]] std::uint64_t frames() const;
  [[nodiscard]] std::uint64_t bytes_read() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace memtrack
