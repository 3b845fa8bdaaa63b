// An independent reader of zstd's seekable format (version 0.1.0), written from its public description, not from ours:
// a skippable frame 0x184D2A5E that ends the file; entries of compressed and decompressed size, and, where bit 7 of the
// descriptor is set, a checksum; then number of frames (4 bytes), descriptor (1), magic 0x8F92EAB1 (4).
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "codec/frame_decoder.h"
#include "tests/pipeline/read_support.h"

namespace memtrack::pipeline {
namespace {

struct SeekEntry {
  std::uint64_t compressed_offset;
  std::uint64_t compressed_size;
  std::uint64_t decompressed_offset;
  std::uint64_t decompressed_size;
};

std::uint64_t u32_at(const Bytes& file, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(file.at(at + i));
  return value;
}

std::vector<SeekEntry> read_seek_table(const Bytes& file) {
  REQUIRE(file.size() > 17);
  REQUIRE(u32_at(file, file.size() - 4) == 0x8F92EAB1);
  const auto descriptor = std::to_integer<unsigned>(file[file.size() - 5]);
  REQUIRE((descriptor & 0x7C) == 0);  // reserved bits
  const std::size_t entry_bytes = (descriptor & 0x80) != 0 ? 12 : 8;
  const std::uint64_t count = u32_at(file, file.size() - 9);
  const std::uint64_t content = count * entry_bytes + 9;
  REQUIRE(content + 8 <= file.size());
  const std::size_t header = file.size() - content - 8;
  REQUIRE(u32_at(file, header) == 0x184D2A5E);
  REQUIRE(u32_at(file, header + 4) == content);
  std::vector<SeekEntry> entries;
  SeekEntry next{};
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t at = header + 8 + i * entry_bytes;
    next.compressed_size = u32_at(file, at);
    next.decompressed_size = u32_at(file, at + 4);
    entries.push_back(next);
    next.compressed_offset += next.compressed_size;
    next.decompressed_offset += next.decompressed_size;
  }
  CHECK(next.compressed_offset == header);  // the entries cover everything before the table
  return entries;
}

}  // namespace

TEST_CASE("the seek table leads a reader of the public format to every frame") {
  const Bytes artifact = indexed_artifact({.seed = 31, .events = 50'000}, 3000);
  const std::vector<SeekEntry> entries = read_seek_table(artifact);
  REQUIRE(entries.size() == 18);  // 17 data frames and the digest, which decompresses to nothing
  CHECK(entries.back().decompressed_size == 0);
  FrameDecoder decoder;
  std::string text;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::span frame(artifact.data() + entries[i].compressed_offset, entries[i].compressed_size);
    FrameSplitter splitter(frame);
    const auto ref = splitter.next();
    REQUIRE(ref);
    REQUIRE(*ref);
    CHECK((*ref)->size == frame.size());
    REQUIRE(decoder.begin(**ref, frame));
    std::uint64_t decompressed = 0;
    for (auto piece = decoder.next(); piece && !piece->empty(); piece = decoder.next()) decompressed += piece->size();
    CHECK(decompressed == entries[i].decompressed_size);
    if (!(*ref)->skippable) text += oracle(frame).text;
  }
  CHECK((text == oracle(artifact).text));
}

}  // namespace memtrack::pipeline
