// One zstd frame to bytes, streamed in pieces of bounded size.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "codec/error.h"
#include "codec/frame_splitter.h"
#include "codec/limits.h"

namespace memtrack {

/// Streams the content of one frame after another with one reused context.
/// How to use: begin(frame), then next() until it gives an empty span; again for the next frame.
/// Ownership: the frame's bytes must stay valid while it is decoded; a piece is valid until the next call.
/// Bounds: window (capped by limits.window_bytes) + one piece of at most 128 KiB.
/// Errors: kUnsupportedFrame (dictionary), kLimitExceeded (window over the cap), kCorruptFrame (with number and
/// offset of the frame). A cut frame gives all that can be decoded, then an empty span; cut() is true then.
class FrameDecoder {
 public:
  explicit FrameDecoder(const DecodeLimits& limits = {});
  FrameDecoder(FrameDecoder&&) noexcept;
  FrameDecoder& operator=(FrameDecoder&&) noexcept;
  ~FrameDecoder();

  [[nodiscard]] Result<void> begin(const FrameRef& frame, std::span<const std::byte> frame_bytes);
  [[nodiscard]] Result<std::span<const std::byte>> next();
  /// After the end of a frame: its bytes ended before its content did.
  [[nodiscard]] bool cut() const;
  /// Bytes of the current frame that were taken so far (for progress).
  [[nodiscard]] std::uint64_t bytes_read() const;

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace memtrack
