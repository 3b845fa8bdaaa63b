// Internal to codec: the outer shape of one zstd frame (RFC 8878), without decompressing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace memtrack {

inline constexpr std::uint32_t kZstdMagic = 0xFD2FB528;
inline constexpr std::uint32_t kSkippableMagic = 0x184D2A50;  // and the 15 numbers behind it
inline constexpr std::size_t kMagicBytes = 4;
inline constexpr std::size_t kSkippableHeaderBytes = 8;

[[nodiscard]] inline std::uint64_t load_little_endian(const std::byte* from, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i > 0; --i) value = value << 8 | std::to_integer<std::uint64_t>(from[i - 1]);
  return value;
}

[[nodiscard]] inline std::uint32_t load_u32(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint32_t>(load_little_endian(bytes.data() + at, 4));
}

[[nodiscard]] constexpr bool is_skippable_magic(std::uint32_t magic) {
  return (magic & 0xFFFFFFF0) == kSkippableMagic;
}

struct FrameWalk {
  enum class Shape : std::uint8_t {
    kWhole,
    kCut,      ///< the bytes end inside the frame
    kBroken,   ///< `reason`: headers that no zstd frame has
    kLegacy,   ///< a frame of a zstd before 0.8
    kNoFrame,  ///< no frame begins here
  };
  Shape shape = Shape::kNoFrame;
  bool skippable = false;
  bool checksum = false;
  bool has_header = false;             ///< the header is whole; window and dictionary are known
  std::uint64_t size = 0;              ///< whole: of the frame; cut: of what is left of it
  std::uint64_t whole_blocks_end = 0;  ///< bytes up to the end of the last whole block; 0 where the header is cut
  std::uint64_t window_bytes = 0;
  std::uint32_t dictionary_id = 0;
  std::optional<std::uint64_t> content_size = {};
  const char* reason = "";
};

/// Walks the frame at the front of `bytes`: header, block headers, checksum. Never reads outside.
[[nodiscard]] FrameWalk walk_frame(std::span<const std::byte> bytes);

/// Only the header of the frame at the front; `size` and `whole_blocks_end` are the header's size then.
[[nodiscard]] FrameWalk read_frame_header(std::span<const std::byte> bytes);

}  // namespace memtrack
