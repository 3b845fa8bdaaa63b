// Internal to codec: the fixed layout of digest frame and seek table (FORMAT.md), and how to recognise them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "codec/frame_walk.h"

namespace memtrack {

inline constexpr std::uint32_t kDigestFrameMagic = 0x184D2A5D;
inline constexpr std::string_view kDigestHeadMagic = "MTDIGEST";
inline constexpr std::string_view kDigestTailMagic = "MTDIGEND";
inline constexpr std::uint16_t kDigestVersion = 1;
inline constexpr std::uint16_t kDigestHasModules = 1;
inline constexpr std::size_t kDigestHeadBytes = 32;  // of the payload, in front of the body
inline constexpr std::size_t kDigestTailBytes = 32;
inline constexpr std::size_t kDigestTailCheckedBytes = 16;       // of the tail; head and body are checked whole
inline constexpr std::uint16_t kDigestMustBeZeroFlags = 0x00FE;  // unknown ones of these: not ours to read

// The body, decompressed.
inline constexpr std::size_t kBodyHeaderBytes = 16;
inline constexpr std::size_t kLossEntryBytes = 16;
inline constexpr std::size_t kFrameEntryBytes = 64;
inline constexpr std::size_t kMaxEntryBytes = 256;  // a later minor version may append fields
inline constexpr std::size_t kMaxLossEntries = 4096;
inline constexpr std::uint64_t kMaxIndexedFrames = 1u << 22;

inline constexpr std::uint32_t kSeekFrameMagic = 0x184D2A5E;
inline constexpr std::uint32_t kSeekFooterMagic = 0x8F92EAB1;
inline constexpr std::size_t kSeekEntryBytes = 8;
inline constexpr std::size_t kSeekFooterBytes = 9;
inline constexpr unsigned kSeekChecksumFlag = 0x80;
inline constexpr unsigned kSeekReservedBits = 0x7C;

struct SeekTable {
  std::uint64_t offset;  ///< of its skippable frame in the span it was found in
  std::uint64_t frames;
  std::size_t entry_bytes;
  unsigned descriptor;
};

/// The seek table that ends exactly where `bytes` end, where there is one.
[[nodiscard]] inline std::optional<SeekTable> find_seek_table(std::span<const std::byte> bytes) {
  if (bytes.size() < kSkippableHeaderBytes + kSeekFooterBytes) return std::nullopt;
  const std::size_t footer = bytes.size() - kSeekFooterBytes;
  const auto descriptor = std::to_integer<unsigned>(bytes[footer + 4]);
  if (load_u32(bytes, footer + 5) != kSeekFooterMagic || (descriptor & kSeekReservedBits) != 0) return std::nullopt;
  const std::uint64_t frames = load_u32(bytes, footer);
  const std::size_t entry_bytes = kSeekEntryBytes + ((descriptor & kSeekChecksumFlag) != 0 ? 4 : 0);
  const std::uint64_t payload = frames * entry_bytes + kSeekFooterBytes;
  if (payload + kSkippableHeaderBytes > bytes.size()) return std::nullopt;
  const std::uint64_t offset = bytes.size() - payload - kSkippableHeaderBytes;
  if (load_u32(bytes, offset) != kSeekFrameMagic || load_u32(bytes, offset + kMagicBytes) != payload) {
    return std::nullopt;
  }
  return SeekTable{.offset = offset, .frames = frames, .entry_bytes = entry_bytes, .descriptor = descriptor};
}

[[nodiscard]] inline bool holds(std::span<const std::byte> bytes, std::uint64_t at, std::string_view text) {
  return at <= bytes.size() && bytes.size() - at >= text.size() &&
         std::memcmp(bytes.data() + at, text.data(), text.size()) == 0;
}

/// Whether a skippable frame begins like a digest of ours.
[[nodiscard]] inline bool begins_digest(std::span<const std::byte> frame) {
  return holds(frame, kSkippableHeaderBytes, kDigestHeadMagic);
}

}  // namespace memtrack
