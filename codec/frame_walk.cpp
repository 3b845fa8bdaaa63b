#include "codec/frame_walk.h"

#include <algorithm>
#include <array>

namespace memtrack {
namespace {

using Shape = FrameWalk::Shape;

constexpr std::size_t kBlockHeaderBytes = 3;
constexpr std::size_t kChecksumBytes = 4;
constexpr std::uint64_t kLargestBlock = 128u << 10;

// zstd 0.1 wrote its magic in the other byte order.
constexpr std::array<std::uint32_t, 8> kLegacyMagics = {0xFD2FB51E, 0x1EB52FFD, 0xFD2FB522, 0xFD2FB523,
                                                        0xFD2FB524, 0xFD2FB525, 0xFD2FB526, 0xFD2FB527};

FrameWalk stopped(FrameWalk walk, Shape shape, const char* reason = "") {
  walk.shape = shape;
  walk.reason = reason;
  return walk;
}

// Fewer bytes than a magic has: a cut frame where they may begin one.
bool may_begin_magic(std::span<const std::byte> bytes) {
  constexpr std::uint32_t kMasks[] = {0xFF, 0xFFFF, 0xFFFFFF};
  const std::uint32_t mask = kMasks[bytes.size() - 1];
  const auto have = static_cast<std::uint32_t>(load_little_endian(bytes.data(), bytes.size()));
  return have == (kZstdMagic & mask) || (have & 0xFFFFFFF0 & mask) == (kSkippableMagic & mask);
}

FrameWalk walk_skippable(std::span<const std::byte> bytes, FrameWalk walk) {
  walk.skippable = true;
  if (bytes.size() < kSkippableHeaderBytes) return stopped(walk, Shape::kCut);
  const std::uint64_t declared = kSkippableHeaderBytes + std::uint64_t{load_u32(bytes, kMagicBytes)};
  if (declared > bytes.size()) return stopped(walk, Shape::kCut);
  walk.size = declared;
  return stopped(walk, Shape::kWhole);
}

std::uint64_t window_of(unsigned descriptor) {
  const std::uint64_t base = std::uint64_t{1} << (10 + (descriptor >> 3));
  return base + base / 8 * (descriptor & 7);
}

// The header behind the magic: descriptor, window, dictionary id, content size.
FrameWalk read_zstd_header(std::span<const std::byte> bytes, FrameWalk walk) {
  if (bytes.size() <= kMagicBytes) return stopped(walk, Shape::kCut);
  const auto descriptor = std::to_integer<unsigned>(bytes[kMagicBytes]);
  if ((descriptor & 0x08) != 0) return stopped(walk, Shape::kBroken, "a reserved bit is set in the frame's header");
  const bool single_segment = (descriptor & 0x20) != 0;
  constexpr std::size_t kDictionaryBytes[] = {0, 1, 2, 4};
  const std::size_t dictionary_bytes = kDictionaryBytes[descriptor & 3];
  const unsigned size_flag = descriptor >> 6;
  const std::size_t size_bytes = size_flag == 0 ? (single_segment ? 1 : 0) : std::size_t{1} << size_flag;
  std::size_t at = kMagicBytes + 1;
  const std::size_t header_bytes = at + (single_segment ? 0 : 1) + dictionary_bytes + size_bytes;
  if (bytes.size() < header_bytes) return stopped(walk, Shape::kCut);

  walk.checksum = (descriptor & 0x04) != 0;
  if (!single_segment) walk.window_bytes = window_of(std::to_integer<unsigned>(bytes[at++]));
  walk.dictionary_id = static_cast<std::uint32_t>(load_little_endian(bytes.data() + at, dictionary_bytes));
  at += dictionary_bytes;
  if (size_bytes != 0) {
    walk.content_size = load_little_endian(bytes.data() + at, size_bytes) + (size_bytes == 2 ? 256 : 0);
  }
  if (single_segment) walk.window_bytes = *walk.content_size;
  walk.has_header = true;
  walk.size = walk.whole_blocks_end = header_bytes;
  return stopped(walk, Shape::kWhole);
}

struct Block {
  bool last;
  std::uint64_t bytes;  // in the frame, header included
  const char* wrong;    // nullptr where all is well
};

Block read_block_header(const std::byte* at, std::uint64_t largest) {
  const std::uint64_t header = load_little_endian(at, kBlockHeaderBytes);
  const std::uint64_t type = (header >> 1) & 3;
  const std::uint64_t size = header >> 3;
  constexpr std::uint64_t kRle = 1;
  constexpr std::uint64_t kReserved = 3;
  const char* wrong = type == kReserved ? "a block of the reserved type"
                      : size > largest  ? "a block larger than the format allows"
                                        : nullptr;
  return {.last = (header & 1) != 0, .bytes = kBlockHeaderBytes + (type == kRle ? 1 : size), .wrong = wrong};
}

}  // namespace

FrameWalk read_frame_header(std::span<const std::byte> bytes) {
  FrameWalk walk;
  walk.size = bytes.size();
  if (bytes.empty()) return walk;
  if (bytes.size() < kMagicBytes) return stopped(walk, may_begin_magic(bytes) ? Shape::kCut : Shape::kNoFrame);
  const std::uint32_t magic = load_u32(bytes, 0);
  if (is_skippable_magic(magic)) return walk_skippable(bytes, walk);
  if (magic == kZstdMagic) return read_zstd_header(bytes, walk);
  if (std::ranges::find(kLegacyMagics, magic) != kLegacyMagics.end()) return stopped(walk, Shape::kLegacy);
  return walk;
}

FrameWalk walk_frame(std::span<const std::byte> bytes) {
  FrameWalk walk = read_frame_header(bytes);
  if (walk.shape != Shape::kWhole || walk.skippable) return walk;
  const std::uint64_t largest_block = std::min(walk.window_bytes, kLargestBlock);
  const std::size_t tail_bytes = walk.checksum ? kChecksumBytes : 0;
  std::uint64_t at = walk.whole_blocks_end;
  walk.size = bytes.size();
  for (bool last = false; !last;) {
    const std::uint64_t left = bytes.size() - at;
    // Less than the smallest last block and the checksum: a cut, whatever these bytes are.
    if (left < kBlockHeaderBytes + tail_bytes) return stopped(walk, Shape::kCut);
    const Block block = read_block_header(bytes.data() + at, largest_block);
    if (block.wrong != nullptr) return stopped(walk, Shape::kBroken, block.wrong);
    if (block.bytes > left) return stopped(walk, Shape::kCut);
    at += block.bytes;
    walk.whole_blocks_end = at;
    last = block.last;
  }
  if (bytes.size() - at < tail_bytes) return stopped(walk, Shape::kCut);
  walk.size = at + tail_bytes;
  return walk;
}

}  // namespace memtrack
