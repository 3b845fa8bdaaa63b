#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <zstd.h>

#include "codec/frame_decoder.h"
#include "codec/frame_encoder.h"
#include "codec/frame_splitter.h"
#include "tests/codec/codec_test_support.h"
#include "tests/support/seed.h"

using namespace memtrack;
using namespace memtrack::test;

namespace {

Bytes noise(std::size_t size, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  Bytes bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random() % 7 == 0 ? random() : 0x41);
  return bytes;
}

// The first error of splitting, and how many frames were given before it.
struct SplitError {
  std::size_t frames = 0;
  std::optional<Error> error;
};
SplitError split_error(std::span<const std::byte> artifact) {
  SplitError result;
  FrameSplitter splitter(artifact);
  while (true) {
    auto frame = splitter.next();
    if (!frame) {
      result.error = frame.error();
      auto after = splitter.next();
      REQUIRE((after && !*after));
      return result;
    }
    if (!*frame) return result;
    ++result.frames;
  }
}

Error decode_error(std::span<const std::byte> artifact) {
  auto content = decompress(artifact);
  REQUIRE(!content.has_value());
  return content.error();
}

// A frame damaged in its magic, its middle, its first block header, and with an end that is missing.
std::vector<Bytes> damaged_forms(const Bytes& frame) {
  std::vector<Bytes> forms;
  const auto overwrite = [&](std::size_t at, std::string_view hex) {
    Bytes damaged = frame;
    std::ranges::copy(from_hex(hex), damaged.begin() + static_cast<std::ptrdiff_t>(at));
    forms.push_back(std::move(damaged));
  };
  overwrite(0, "eeeeeeee");
  overwrite(frame.size() / 2, "a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5");
  const bool single_segment = (frame[4] & std::byte{0x20}) != std::byte{0};
  for (const std::string_view header : {"ffffff", "000000", "f0ff0f", "040000", "f8ff0f"}) {
    overwrite(single_segment ? 9 : 10, header);
  }
  for (const std::size_t size : {frame.size() - 20'000, std::size_t{12}, std::size_t{5}}) {
    forms.emplace_back(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
  }
  return forms;
}

}  // namespace

TEST_CASE("an encoded frame has content size and checksum, and zstd reads it") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{3'000'000}}) {
    CAPTURE(size);
    const Bytes content = noise(size);
    const Bytes frame = frame_of(content);
    CHECK(ZSTD_getFrameContentSize(frame.data(), frame.size()) == size);
    CHECK((frame[4] & std::byte{0x04}) == std::byte{0x04});
    Bytes plain(size + 1);
    REQUIRE(ZSTD_decompress(plain.data(), plain.size(), frame.data(), frame.size()) == size);
    plain.resize(size);
    CHECK(plain == content);
    CHECK(*decompress(frame) == content);
    CHECK(split(frame).at(0).content_size == size);
  }
}

TEST_CASE("every level that makes sense works, and a level that zstd lacks is an error") {
  const Bytes content = noise(300'000);
  for (const int level : {-7, -3, 1, 3, 19, 22}) {
    CAPTURE(level);
    auto encoder = FrameEncoder::create(level);
    REQUIRE(encoder.has_value());
    ByteBuffer out;
    REQUIRE(encoder->encode(content, out));
    CHECK(*decompress(out.bytes()) == content);
  }
  for (const int level : {23, 1000, -2'000'000'000}) {
    const auto refused = FrameEncoder::create(level);
    REQUIRE(!refused.has_value());
    CHECK(refused.error().code == ErrorCode::kInvalidArgument);
    CHECK(refused.error().message.find(std::to_string(level)) != std::string::npos);
  }
}

TEST_CASE("one encoder and one decoder serve many frames, and appended frames keep what was there") {
  auto encoder = FrameEncoder::create();
  ByteBuffer out;
  Bytes all;
  for (std::size_t i = 0; i < 50; ++i) {
    const Bytes content = noise(i * 997, i);
    REQUIRE(encoder->encode(content, out));
    append(all, content);
  }
  CHECK(split(out.bytes()).size() == 50);
  CHECK(*decompress(out.bytes()) == all);
}

TEST_CASE("pieces are at most 128 KiB") {
  const Bytes frame = frame_of(noise(1'000'000));
  FrameDecoder decoder;
  REQUIRE(decoder.begin(split(frame)[0], frame));
  std::size_t total = 0;
  while (true) {
    const auto piece = decoder.next();
    REQUIRE(piece);
    if (piece->empty()) break;
    CHECK(piece->size() <= 128u << 10);
    total += piece->size();
    CHECK(decoder.bytes_read() <= frame.size());
  }
  CHECK(total == 1'000'000);
  CHECK(decoder.bytes_read() == frame.size());
  CHECK(!decoder.cut());
}

TEST_CASE("frames without content size are normal (A4)") {
  const Bytes content = noise(500'000);
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  Bytes frame(ZSTD_compressBound(content.size()));
  ZSTD_inBuffer in = {content.data(), content.size() / 2, 0};
  ZSTD_outBuffer out = {frame.data(), frame.size(), 0};
  ZSTD_compressStream2(context.get(), &out, &in, ZSTD_e_flush);
  in.size = content.size();
  REQUIRE(ZSTD_compressStream2(context.get(), &out, &in, ZSTD_e_end) == 0);
  frame.resize(out.pos);
  REQUIRE(ZSTD_getFrameContentSize(frame.data(), frame.size()) == ZSTD_CONTENTSIZE_UNKNOWN);
  CHECK(!split(frame).at(0).content_size.has_value());
  CHECK(*decompress(frame) == content);
}

TEST_CASE("skippable frames are passed anywhere, zero-length ones too (A5)") {
  const Bytes a = frame_of(noise(1000, 1));
  const Bytes b = frame_of(noise(2000, 2));
  const Bytes first = skippable_frame(0x184D2A50, bytes_of("hello"));
  const Bytes last = skippable_frame(0x184D2A5F, {});
  const Bytes artifact = joined({first, last, a, first, last, b, last, first});
  const auto frames = split(artifact);
  REQUIRE(frames.size() == 8);
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    CHECK(frames[i].number == i);
    CHECK(frames[i].offset == offset);
    CHECK(frames[i].skippable == (i != 2 && i != 5));
    CHECK(!frames[i].cut);
    offset += frames[i].size;
  }
  CHECK(offset == artifact.size());
  CHECK(*decompress(artifact) == joined({noise(1000, 1), noise(2000, 2)}));
}

TEST_CASE("a window over the cap is refused with its size and the cap, without memory for it (A6)") {
  // Magic, descriptor 0, window descriptor, then one empty raw last block.
  const Bytes half_gib = from_hex("28b52ffd 00 98 010000");
  const Bytes two_gib = from_hex("28b52ffd 00 a8 010000");
  const Error error = decode_error(half_gib);
  CHECK(error.code == ErrorCode::kLimitExceeded);
  CHECK(error.message.find("536870912") != std::string::npos);
  CHECK(error.message.find("8388608") != std::string::npos);
  CHECK(decode_error(two_gib).code == ErrorCode::kLimitExceeded);
  Bytes many;
  for (int i = 0; i < 20; ++i) append(many, two_gib);
  CHECK(split(many).size() == 20);
  CHECK(decode_error(many).frame == 0);
  // A single segment's window is its content size.
  CHECK(decode_error(from_hex("28b52ffd a0 00000001 010000")).code == ErrorCode::kLimitExceeded);
  CHECK(decompress(half_gib, {.window_bytes = 512u << 20}).has_value());
}

TEST_CASE("what looks like a frame over the window's cap is not tried, and shows no damage (A6)") {
  Bytes cut = frame_of(noise(100'000));
  cut.resize(cut.size() / 2);
  for (int i = 0; i < 20; ++i) append(cut, from_hex("28b52ffd 00 88 010000"));  // 128 MiB each
  const auto frames = split(cut);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].cut);
}

TEST_CASE("the cap on the window is exact") {
  const Bytes frame = from_hex("28b52ffd 00 69 010000");  // 2^23 + 2^20
  CHECK(!decompress(frame, {.window_bytes = (9u << 20) - 1}).has_value());
  CHECK(decompress(frame, {.window_bytes = 9u << 20}).has_value());
}

TEST_CASE("an empty span is an empty file, other bytes are no artifact (A7)") {
  CHECK(split_error({}).error->code == ErrorCode::kEmptyFile);
  for (const std::string_view text : {"hello world", "\x7f", "PK\x03\x04", "abc"}) {
    CAPTURE(text);
    const SplitError found = split_error(bytes_of(text));
    REQUIRE(found.error);
    CHECK(found.error->code == ErrorCode::kNotAnArtifact);
    CHECK(found.frames == 0);
  }
}

TEST_CASE("legacy frames are refused with the reason, first or later (A19)") {
  const Bytes good = frame_of(noise(100));
  for (const std::string_view magic :
       {"1eb52ffd", "fd2fb51e", "22b52ffd", "23b52ffd", "24b52ffd", "25b52ffd", "26b52ffd", "27b52ffd"}) {
    CAPTURE(magic);
    const Bytes legacy = joined({from_hex(magic), noise(50)});
    const SplitError alone = split_error(legacy);
    REQUIRE(alone.error);
    CHECK(alone.error->code == ErrorCode::kUnsupportedFrame);
    CHECK(alone.error->message.find("legacy") != std::string::npos);
    const SplitError later = split_error(joined({good, legacy}));
    CHECK(later.frames == 1);
    CHECK(later.error->code == ErrorCode::kUnsupportedFrame);
    CHECK(later.error->offset == good.size());
  }
}

TEST_CASE("a frame that needs a dictionary is refused with the reason (A19)") {
  const Bytes frame = from_hex("28b52ffd 21 07 00 010000");
  const SplitError found = split_error(frame);
  REQUIRE(found.error);
  CHECK(found.error->code == ErrorCode::kUnsupportedFrame);
  CHECK(found.error->message.find("dictionary 7") != std::string::npos);
  FrameDecoder decoder;
  const FrameRef ref{
      .number = 3, .offset = 30, .size = frame.size(), .skippable = false, .cut = false, .content_size = 0};
  const auto begun = decoder.begin(ref, frame);
  REQUIRE(!begun);
  CHECK(begun.error().code == ErrorCode::kUnsupportedFrame);
  CHECK(begun.error().frame == 3);
  CHECK(begun.error().offset == 30);
}

TEST_CASE("bytes that are no frame behind the last one are damage with number and offset") {
  const Bytes good = frame_of(noise(100));
  for (const std::string_view garbage : {"x", "garbage", "\xff\xff\xff\xff\xff"}) {
    CAPTURE(garbage);
    const SplitError found = split_error(joined({good, good, bytes_of(garbage)}));
    CHECK(found.frames == 2);
    REQUIRE(found.error);
    CHECK(found.error->code == ErrorCode::kCorruptFrame);
    CHECK(found.error->frame == 2);
    CHECK(found.error->offset == 2 * good.size());
  }
  const SplitError zeros = split_error(joined({good, Bytes(4096)}));
  CHECK(zeros.error->code == ErrorCode::kCorruptFrame);
}

TEST_CASE("a file cut anywhere inside its last frame has that frame as cut") {
  const Bytes first = frame_of(noise(300'000, 1));
  for (const Bytes& last :
       {frame_of(noise(300'000, 2)), frame_of(noise(10, 2), false), skippable_frame(0x184D2A53, noise(40))}) {
    const Bytes whole = joined({first, last});
    for (std::size_t size = 1; size < last.size(); size += size < 40 ? 1 : 997) {
      CAPTURE(size);
      const std::span<const std::byte> artifact = std::span(whole).first(first.size() + size);
      const auto frames = split(artifact);
      REQUIRE(frames.size() == 2);
      CHECK(frames[1].cut);
      CHECK(frames[1].size == size);
      // The beginning of a frame alone is a cut file, not a foreign one.
      CHECK(split(std::span(last).first(size)).at(0).cut);
    }
  }
}

TEST_CASE("a cut frame gives every whole block, then says that it is cut") {
  const Bytes content = noise(1'000'000);
  const Bytes frame = frame_of(content);
  std::size_t longest = 0;
  for (std::size_t size = 5; size < frame.size(); size += 1009) {
    CAPTURE(size);
    const auto some = std::span(frame).first(size);
    const FrameRef ref = split(some).at(0);
    FrameDecoder decoder;
    REQUIRE(decoder.begin(ref, some));
    Bytes got;
    while (true) {
      const auto piece = decoder.next();
      REQUIRE(piece);
      if (piece->empty()) break;
      append(got, *piece);
    }
    CHECK(decoder.cut());
    REQUIRE(got.size() <= content.size());
    CHECK(std::equal(got.begin(), got.end(), content.begin()));
    CHECK(got.size() >= longest);
    longest = got.size();
  }
  CHECK(longest >= content.size() - 2 * (128u << 10));
}

TEST_CASE("damage in a frame with frames behind it is an error that names the frame (A2, A10)") {
  Bytes frames[5];
  for (std::size_t i = 0; i < 5; ++i) frames[i] = frame_of(noise(200'000, i), i % 2 == 0);
  for (const std::size_t victim : {0u, 1u, 2u, 3u}) {
    CAPTURE(victim);
    const std::vector<Bytes> damaged_frames = damaged_forms(frames[victim]);
    for (std::size_t form = 0; form < damaged_frames.size(); ++form) {
      CAPTURE(form);
      Bytes artifact;
      std::size_t offset = 0;
      for (std::size_t i = 0; i < 5; ++i) {
        if (i == victim) offset = artifact.size();
        append(artifact, i == victim ? damaged_frames[form] : frames[i]);
      }
      const Error error = decode_error(artifact);
      if (victim == 0 && form == 0) {  // its magic
        CHECK(error.code == ErrorCode::kNotAnArtifact);
        continue;
      }
      CHECK(error.code == ErrorCode::kCorruptFrame);
      CHECK(error.frame == victim);
      CHECK(error.offset == offset);
    }
  }
}

TEST_CASE("a last frame without its last block is a cut, with checksum left over or not (A10)") {
  const Bytes content = noise(300'000);
  for (const bool checksum : {false, true}) {
    CAPTURE(checksum);
    Bytes frame = frame_of(content, checksum);
    // Walk the blocks to find where the last one begins.
    std::size_t at = (frame[4] & std::byte{0x20}) != std::byte{0} ? 9 : 10;
    std::size_t last = at;
    while (true) {
      const unsigned header = std::to_integer<unsigned>(frame[at]) | std::to_integer<unsigned>(frame[at + 1]) << 8 |
                              std::to_integer<unsigned>(frame[at + 2]) << 16;
      last = at;
      at += 3 + (((header >> 1) & 3) == 1 ? 1 : header >> 3);
      if ((header & 1) != 0) break;
    }
    REQUIRE(at + (checksum ? 4 : 0) == frame.size());
    frame.erase(frame.begin() + static_cast<std::ptrdiff_t>(last), frame.begin() + static_cast<std::ptrdiff_t>(at));
    CHECK(split(frame).at(0).cut);
    const auto got = decompress(frame);
    REQUIRE(got);
    CHECK(got->size() == (content.size() / (128u << 10)) * (128u << 10));
  }
}

TEST_CASE("corruption in the last frame is corruption, not a cut") {
  const Bytes first = frame_of(noise(1000));
  Bytes last = frame_of(noise(200'000));
  last[last.size() / 2] ^= std::byte{0x10};
  const Error error = decode_error(joined({first, last}));
  CHECK(error.code == ErrorCode::kCorruptFrame);
  CHECK(error.frame == 1);
  CHECK(error.offset == first.size());
}

TEST_CASE("every flipped bit of a frame with checksum is an error or changes nothing (A3)") {
  const Bytes content = noise(300, 9);
  const Bytes frame = frame_of(content);
  for (std::size_t at = 0; at < frame.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      CAPTURE(at);
      CAPTURE(bit);
      Bytes flipped = frame;
      flipped[at] ^= static_cast<std::byte>(1u << bit);
      const auto got = decompress(flipped);
      if (!got) continue;
      // Bits that no decoder looks at change nothing; a flip may also turn the frame into a cut one.
      const bool cut = split(flipped).at(0).cut;
      CHECK((cut || *got == content));
    }
  }
}

TEST_CASE("flipped bits of a frame without checksum never crash (A3)") {
  const auto seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  const Bytes frame = frame_of(noise(5000, 9), false);
  for (int round = 0; round < 5000; ++round) {
    Bytes flipped = frame;
    for (std::uint64_t i = 0; i <= random() % 3; ++i)
      flipped[random() % frame.size()] ^= static_cast<std::byte>(1u << random() % 8);
    const auto got = decompress(flipped);
    if (got) CHECK(got->size() <= 1u << 20);
  }
}
