#include <string>

#include <doctest/doctest.h>

#include "tests/codec/codec_test_support.h"

using namespace memtrack;
using namespace memtrack::test;

namespace {

struct GoldenFile {
  const char* artifact;
  const char* text;
  std::size_t events;
  std::uint64_t frames;
};
constexpr GoldenFile kFiles[] = {
    {"kinds.memtrack", "kinds.tsv.zst", 215, 1},
    {"realistic_3frames.memtrack", "realistic_3frames.tsv.zst", 140'000, 3},
    {"stacks_2frames.memtrack", "stacks_2frames.tsv.zst", 70'000, 2},
    {"empty.memtrack", nullptr, 0, 1},
    {"old_realloc.memtrack", "old_realloc.tsv", 1, 1},
};

}  // namespace

TEST_CASE("a golden artifact decodes to exactly its text") {
  for (const GoldenFile& file : kFiles) {
    CAPTURE(file.artifact);
    const Bytes artifact = golden(file.artifact);
    const Reading reading = read_artifact(artifact);
    REQUIRE(!reading.error);
    CHECK(!reading.truncated);
    CHECK(reading.events.size() == file.events);
    CHECK(reading.counters.events == file.events);
    CHECK(reading.counters.unknown_kinds == 0);
    CHECK(reading.counters.unknown_keys == 0);
    CHECK(split(artifact).size() == file.frames);
    const std::string expected = file.text == nullptr ? "" : golden_text(file.text);
    CHECK(text_of(reading.events) == expected);
  }
}

TEST_CASE("encoding a golden artifact's events again gives its decompressed bytes") {
  for (const GoldenFile& file : kFiles) {
    CAPTURE(file.artifact);
    const Bytes artifact = golden(file.artifact);
    const auto content = decompress(artifact);
    REQUIRE(content.has_value());
    const Bytes encoded = encode(read_artifact(artifact).events);
    REQUIRE(encoded.size() == content->size());
    CHECK(first_difference(encoded, *content) == content->size());
  }
}
