// The events of one frame after another, streamed: frame decoder and event decoder in one loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "codec/error.h"
#include "codec/event_batch.h"
#include "codec/event_decoder.h"
#include "codec/frame_splitter.h"

namespace memtrack {

/// Gives all events, or those of the kinds in the options.
/// How to use: begin(frame), then next(batch) until it says kEnd; again for the next frame. One reused zstd context.
/// Ownership: the frame's bytes must stay valid while it is decoded. One thread at a time.
/// Bounds: the decoder's window + one piece + one event carried over between pieces; never a whole frame.
/// Errors: those of FrameDecoder, and kMalformedEvent (frame, its offset, and the event's position in the decompressed
/// frame in the message). Events before the damage have been given. After an error the frame is at its end.
class FrameCursor {
 public:
  enum class Status { kMore, kEnd };

  explicit FrameCursor(const DecodeOptions& options = {});
  FrameCursor(FrameCursor&&) noexcept;
  FrameCursor& operator=(FrameCursor&&) noexcept;
  ~FrameCursor();

  [[nodiscard]] Result<void> begin(const FrameRef& frame, std::span<const std::byte> frame_bytes);
  /// Appends events until the batch is full, holds `payload_bytes` of paths and stacks (or little more), the frame
  /// ends, or some 8 MiB of content have been passed, so that the caller can look around where few events are wanted.
  [[nodiscard]] Result<Status> next(EventBatch& out,
                                    std::size_t payload_bytes = std::numeric_limits<std::size_t>::max());
  /// After kEnd: the frame was cut; all events before the cut have been given.
  [[nodiscard]] bool cut() const;
  /// Of all frames so far.
  [[nodiscard]] const DecodeCounters& counters() const;
  /// Bytes of the frame that were taken so far.
  [[nodiscard]] std::uint64_t bytes_read() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace memtrack
