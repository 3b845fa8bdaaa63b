// Where each zstd frame of an artifact begins and ends, without decompressing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "codec/error.h"

namespace memtrack {

struct FrameRef {
  std::uint64_t number;  ///< counted from 0, skippable frames included
  std::uint64_t offset;  ///< bytes from the start of the artifact
  std::uint64_t size;    ///< bytes; for a cut frame, what is left of it
  bool skippable;
  bool cut;                                   ///< the bytes end inside this frame, and nothing after it is a frame
  std::optional<std::uint64_t> content_size;  ///< as declared, never to be trusted for an allocation
};

/// Walks the frames of a byte span, front to back. Cheap: reads frame and block headers only.
/// The span must outlive the splitter. One thread at a time.
/// Errors: kEmptyFile (no bytes), kNotAnArtifact (the first bytes are no frame), kUnsupportedFrame (legacy magic),
/// kCorruptFrame (bytes that are no frame behind a frame, or a broken frame with frames behind it). After an error or
/// the end, next() gives nothing more.
class FrameSplitter {
 public:
  explicit FrameSplitter(std::span<const std::byte> artifact) : artifact_(artifact) {}
  /// The next frame, or nothing at the end.
  [[nodiscard]] Result<std::optional<FrameRef>> next();

 private:
  std::span<const std::byte> artifact_;
  std::uint64_t offset_ = 0;
  std::uint64_t number_ = 0;
  bool done_ = false;
};

}  // namespace memtrack
