// The index at the end of a complete artifact: digest frame and seek table, both zstd skippable frames (FORMAT.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec/byte_buffer.h"
#include "codec/error.h"
#include "codec/event_encoder.h"
#include "codec/loss.h"

namespace memtrack {

struct IndexedFrame {
  std::uint64_t offset = 0;            ///< of the frame in the file
  std::uint64_t compressed_bytes = 0;  ///< of the whole frame
  std::uint64_t decompressed_bytes = 0;
  FrameSummary summary = {};
  bool operator==(const IndexedFrame&) const = default;
};

/// Events lost for a cause that this version has no name for (a later version wrote the file).
struct OtherLoss {
  std::uint32_t cause = 0;
  std::uint64_t count = 0;
  bool operator==(const OtherLoss&) const = default;
};

struct Digest {
  std::vector<IndexedFrame> frames;  ///< data frames in file order, one behind the other from byte 0
  LossCounters losses = {};
  std::vector<OtherLoss> other_losses = {};
  /// Whether the module section is there; false where the module events were over the cap.
  bool has_modules = true;
  std::uint64_t modules_bytes = 0;  ///< of the module section: zstd frames of module events in file order
  bool operator==(const Digest&) const = default;
};

// The three writers fail with kLimitExceeded where a size does not fit the format (a digest frame or a data frame of
// 4 GiB or more, over 4 million frames) and with kInvalidArgument where the frames don't tile the file or a section
// that is said to be absent has a size. On error `out` is as before.

/// Appends the beginning of the digest frame (everything before the module section, whose length is
/// digest.modules_bytes and whose bytes the caller writes next).
[[nodiscard]] Result<void> encode_digest_head(const Digest& digest, ByteBuffer& out);
/// Appends the end of the digest frame, which follows the module section.
[[nodiscard]] Result<void> encode_digest_tail(const Digest& digest, ByteBuffer& out);
/// Appends the seek table of zstd's public seekable format for the data frames and the digest frame
/// (`digest_frame_bytes` long, 0 decompressed bytes) in front of it.
[[nodiscard]] Result<void> encode_seek_table(const Digest& digest, std::uint64_t digest_frame_bytes, ByteBuffer& out);

struct ParsedIndex {
  Digest digest;
  std::span<const std::byte> modules;  ///< the module section; a view into the artifact
  std::uint64_t data_end = 0;          ///< offset of the digest frame: data frames tile [0, data_end)
};

/// The index of an artifact: nothing where it is absent or foreign, kCorruptIndex where it is ours and damaged or does
/// not describe the file (its frames don't tile the bytes before it, a checksum is wrong). Callers other than a
/// verifier treat an error like an absent index. The data frames are not read; the module section is only walked, its
/// frames have checksums of their own. Memory: in proportion to the seek table's real size.
[[nodiscard]] Result<std::optional<ParsedIndex>> parse_index(std::span<const std::byte> artifact);

}  // namespace memtrack
