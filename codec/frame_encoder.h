// One batch of bytes to one self-contained zstd frame with content size and checksum.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "codec/byte_buffer.h"
#include "codec/error.h"

namespace memtrack {

/// Best in time and size together by measurement (docs/decisions/compression-level.md).
inline constexpr int kDefaultCompressionLevel = -3;

/// Compresses with one reused context. One thread at a time. Memory: the context (a few MiB at the default level).
class FrameEncoder {
 public:
  /// Level as zstd counts (-7 to 19 make sense here). Fails with kInvalidArgument on a level zstd does not have.
  [[nodiscard]] static Result<FrameEncoder> create(int level = kDefaultCompressionLevel, bool checksum = true);
  FrameEncoder(FrameEncoder&&) noexcept;
  FrameEncoder& operator=(FrameEncoder&&) noexcept;
  ~FrameEncoder();

  /// Appends one frame that holds `content` (which may be empty) to `out`; on error `out` is as before.
  [[nodiscard]] Result<void> encode(std::span<const std::byte> content, ByteBuffer& out);

 private:
  struct Context;
  explicit FrameEncoder(std::unique_ptr<Context> context);
  std::unique_ptr<Context> context_;
};

}  // namespace memtrack
