#include "codec/index.h"

#include <algorithm>
#include <array>
#include <string>

#include <doctest/doctest.h>
#include <zstd.h>

#include "codec/event_encoder.h"
#include "codec/xxhash64.h"
#include "tests/codec/codec_test_support.h"
#include "tests/support/seed.h"

using namespace memtrack;
using namespace memtrack::test;

namespace {

struct Indexed {
  Bytes artifact;
  Digest digest;
  std::uint64_t data_end = 0;
  std::uint64_t seek_table_at = 0;
  Bytes modules;
};

IndexedFrame describe(const Bytes& frame, std::uint64_t offset, const EventBatch& batch) {
  IndexedFrame entry{.offset = offset, .compressed_bytes = frame.size(), .decompressed_bytes = encode(batch).size()};
  for (const Event& event : batch.events()) entry.summary.add(event);
  return entry;
}

Bytes with_index(const Bytes& data, const Digest& digest, const Bytes& modules) {
  ByteBuffer index;
  REQUIRE(encode_digest_head(digest, index));
  index.append(modules);
  REQUIRE(encode_digest_tail(digest, index));
  const std::uint64_t digest_frame_bytes = index.size();
  REQUIRE(encode_seek_table(digest, digest_frame_bytes, index));
  return joined({data, index.bytes()});
}

// Three frames of random events, losses of every cause and of one that does not exist yet, two module frames.
Indexed make_indexed(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Indexed made;
  for (int i = 0; i < 3; ++i) {
    EventBatch batch(20);
    for (int k = 0; k < 20; ++k) append_random(batch, static_cast<EventKind>(random() % 13), random);
    const Bytes frame = frame_of(encode(batch));
    made.digest.frames.push_back(describe(frame, made.artifact.size(), batch));
    append(made.artifact, frame);
  }
  for (int i = 0; i < 2; ++i) {
    EventBatch batch(3);
    append_random(batch, EventKind::kExec, random);
    append_random(batch, EventKind::kFork, random);
    Event mapping{};
    mapping.kind = EventKind::kMapping;
    mapping.mapping = {edge_uint(random), edge_uint(random), edge_uint(random), edge_uint(random)};
    batch.append_mapping(mapping, "/usr/lib/libc.so.6");  // short, since tests below go through every bit
    append(made.modules, frame_of(encode(batch)));
  }
  for (std::size_t cause = 0; cause < kLossCauseCount; ++cause) made.digest.losses.by_cause[cause] = 10 + cause;
  made.digest.other_losses.push_back({.cause = 77, .count = 5});
  made.digest.modules_bytes = made.modules.size();
  made.data_end = made.artifact.size();
  made.artifact = with_index(made.artifact, made.digest, made.modules);
  made.seek_table_at = made.artifact.size() - 17 - 8 * 4;
  return made;
}

std::uint64_t little_endian(const Bytes& bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) value |= std::to_integer<std::uint64_t>(bytes.at(at + i)) << (8 * i);
  return value;
}

}  // namespace

TEST_CASE("an index gives back the digest that was written") {
  const auto seed = test_seed();
  INFO("seed ", seed);
  const Indexed made = make_indexed(seed);
  const auto parsed = parse_index(made.artifact);
  REQUIRE(parsed.has_value());
  REQUIRE(parsed->has_value());
  CHECK((*parsed)->digest == made.digest);
  CHECK((*parsed)->data_end == made.data_end);
  CHECK(std::ranges::equal((*parsed)->modules, made.modules));
}

TEST_CASE("an index of no frames and one without module section are read back") {
  const Bytes nothing = with_index({}, {}, {});
  const auto parsed = parse_index(nothing);
  REQUIRE((parsed && *parsed));
  CHECK((*parsed)->digest == Digest{});

  Digest digest;
  digest.has_modules = false;
  const Bytes empty = golden("empty.memtrack");
  digest.frames.push_back({.offset = 0, .compressed_bytes = empty.size()});
  const Bytes artifact = with_index(empty, digest, {});
  const auto without = parse_index(artifact);
  REQUIRE((without && *without));
  CHECK((*without)->digest == digest);
  CHECK(read_artifact(artifact).events.empty());
}

TEST_CASE("an indexed artifact reads like one without index, and zstd itself decompresses it") {
  const auto seed = test_seed();
  INFO("seed ", seed);
  const Indexed made = make_indexed(seed);
  const Bytes data(made.artifact.begin(), made.artifact.begin() + static_cast<std::ptrdiff_t>(made.data_end));
  const Reading with = read_artifact(made.artifact);
  CHECK(!with.error);
  CHECK(!with.truncated);
  CHECK(same_events(with.events, read_artifact(data).events));

  const auto content = decompress(data);
  REQUIRE(content);
  Bytes by_zstd(content->size() + 1);
  const std::size_t size = ZSTD_decompress(by_zstd.data(), by_zstd.size(), made.artifact.data(), made.artifact.size());
  REQUIRE(size == content->size());
  by_zstd.resize(size);
  CHECK(by_zstd == *content);
}

TEST_CASE("the seek table is one of zstd's seekable format") {
  // An independent little reader of contrib/seekable_format/zstd_seekable_compression_format.md.
  const Indexed made = make_indexed(1);
  const Bytes& file = made.artifact;
  REQUIRE(little_endian(file, file.size() - 4, 4) == 0x8F92EAB1);
  CHECK(file[file.size() - 5] == std::byte{0});  // no checksums, reserved bits zero
  const std::uint64_t frames = little_endian(file, file.size() - 9, 4);
  REQUIRE(frames == made.digest.frames.size() + 1);
  const std::size_t table_at = file.size() - 9 - 8 * frames - 8;
  CHECK(table_at == made.seek_table_at);
  CHECK(little_endian(file, table_at, 4) == 0x184D2A5E);
  CHECK(little_endian(file, table_at + 4, 4) == 8 * frames + 9);
  std::uint64_t compressed = 0;
  std::uint64_t decompressed = 0;
  for (std::size_t i = 0; i < frames; ++i) {
    const std::uint64_t size = little_endian(file, table_at + 8 + 8 * i, 4);
    const std::uint64_t content = little_endian(file, table_at + 12 + 8 * i, 4);
    if (i + 1 < frames) CHECK(ZSTD_findFrameCompressedSize(file.data() + compressed, size) == size);
    if (i + 1 == frames) CHECK(content == 0);
    compressed += size;
    decompressed += content;
  }
  CHECK(compressed == table_at);
  CHECK(decompressed == decompress(file)->size());
}

TEST_CASE("a file without index, or with another tool's seek table, has no index and no error") {
  for (const char* name : {"kinds.memtrack", "empty.memtrack", "realistic_3frames.memtrack"}) {
    const auto parsed = parse_index(golden(name));
    REQUIRE(parsed.has_value());
    CHECK(!parsed->has_value());
  }
  CHECK(!parse_index({})->has_value());

  const Bytes data = golden("old_realloc.memtrack");
  const Bytes entry = from_hex("38 00 00 00 38 00 00 00  01 00 00 00  00  b1 ea 92 8f");
  const auto foreign = parse_index(joined({data, skippable_frame(0x184D2A5E, entry)}));
  REQUIRE(foreign.has_value());
  CHECK(!foreign->has_value());
}

TEST_CASE("an index of a later version counts as absent") {
  const Indexed made = make_indexed(2);
  Bytes later = made.artifact;
  const std::size_t head = made.data_end + 8;
  const std::size_t body_bytes = little_endian(later, head + 12, 4);
  const std::size_t tail = made.seek_table_at - 32;
  later[head + 8] = std::byte{2};
  Bytes checked(later.begin() + static_cast<std::ptrdiff_t>(head),
                later.begin() + static_cast<std::ptrdiff_t>(head + 32 + body_bytes));
  append(checked, std::span(later).subspan(tail, 16));
  const std::uint64_t checksum = xxhash64(checked);
  for (std::size_t i = 0; i < 8; ++i) later[tail + 16 + i] = static_cast<std::byte>(checksum >> (8 * i));
  const auto parsed = parse_index(later);
  REQUIRE(parsed.has_value());
  CHECK(!parsed->has_value());
}

TEST_CASE("every cut of an indexed artifact leaves no index that passes for whole") {
  const Indexed made = make_indexed(3);
  for (std::size_t size = 0; size < made.artifact.size(); ++size) {
    CAPTURE(size);
    const auto parsed = parse_index(std::span(made.artifact).first(size));
    CHECK(!(parsed.has_value() && parsed->has_value()));
    const Reading reading = read_artifact(std::span(made.artifact).first(size));
    if (size >= made.data_end) CHECK(!reading.error);
    if (size > made.data_end && size != made.seek_table_at) CHECK(reading.truncated);
  }
}

TEST_CASE("every flipped bit of an index is noticed") {
  const auto seed = test_seed();
  INFO("seed ", seed);
  const Indexed made = make_indexed(seed);
  const Bytes modules_content = *decompress(made.modules);
  const std::size_t modules_end = made.seek_table_at - 32;
  const std::size_t modules_at = modules_end - made.modules.size();
  for (std::size_t at = made.data_end; at < made.artifact.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      CAPTURE(at);
      CAPTURE(bit);
      Bytes flipped = made.artifact;
      flipped[at] ^= static_cast<std::byte>(1u << bit);
      const auto parsed = parse_index(flipped);
      if (at < modules_at || at >= modules_end) {
        REQUIRE(!parsed.has_value());
        CHECK(parsed.error().code == ErrorCode::kCorruptIndex);
      } else if (parsed && *parsed) {
        // Module frames have checksums of their own, so what can still be decoded is right.
        const auto content = decompress((*parsed)->modules);
        CHECK((!content || *content == modules_content));
      }
    }
  }
}

TEST_CASE("an index that does not describe its file is refused") {
  const Indexed made = make_indexed(4);
  SUBCASE("two indexed files one behind the other") {
    const auto parsed = parse_index(joined({made.artifact, made.artifact}));
    REQUIRE(!parsed.has_value());
    CHECK(parsed.error().code == ErrorCode::kCorruptIndex);
    const Reading reading = read_artifact(joined({made.artifact, made.artifact}));
    CHECK(!reading.error);
    CHECK(reading.events.size() == 2 * 60);
  }
  SUBCASE("a frame put in front") {
    const auto parsed = parse_index(joined({golden("empty.memtrack"), made.artifact}));
    CHECK(!parsed.has_value());
  }
}

TEST_CASE("what does not fit an index is refused and leaves the output as it was") {
  ByteBuffer out;
  Digest digest;
  digest.frames.push_back({.offset = 0, .compressed_bytes = 100, .decompressed_bytes = std::uint64_t{1} << 32});
  CHECK(encode_seek_table(digest, 100, out).error().code == ErrorCode::kLimitExceeded);
  digest.frames[0].decompressed_bytes = 5;
  CHECK(encode_seek_table(digest, std::uint64_t{1} << 32, out).error().code == ErrorCode::kLimitExceeded);
  digest.modules_bytes = (std::uint64_t{1} << 32) - 50;
  CHECK(encode_digest_head(digest, out).error().code == ErrorCode::kLimitExceeded);
  CHECK(encode_digest_tail(digest, out).error().code == ErrorCode::kLimitExceeded);
  digest.has_modules = false;
  CHECK(encode_digest_head(digest, out).error().code == ErrorCode::kInvalidArgument);
  digest.modules_bytes = 0;
  digest.frames[0].offset = 1;
  CHECK(encode_digest_head(digest, out).error().code == ErrorCode::kInvalidArgument);
  CHECK(out.empty());
}

TEST_CASE("the checksum is XXH64, whose lower half zstd puts behind a frame") {
  const auto seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  CHECK(xxhash64({}) == 0xEF46DB3751D8E999);  // the published value for no input
  for (std::size_t size = 0; size < 200; ++size) {
    CAPTURE(size);
    Bytes content(size);
    for (auto& byte : content) byte = static_cast<std::byte>(random());
    const Bytes frame = frame_of(content);
    CHECK(little_endian(frame, frame.size() - 4, 4) == (xxhash64(content) & 0xFFFFFFFF));
  }
}
