#include "codec/event_decoder.h"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "tests/codec/codec_test_support.h"

using namespace memtrack;
using namespace memtrack::test;

namespace {

using Status = DecodeStep::Status;

std::string key(std::string_view text) {
  return std::string(1, static_cast<char>(0xa0 + text.size())) + std::string(text);
}

// A hand-made map: alternating key text and raw value bytes in hex.
Bytes map_of(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  Bytes bytes = {static_cast<std::byte>(0x80 + fields.size())};
  for (const auto& [name, value] : fields) {
    append(bytes, bytes_of(key(name)));
    append(bytes, from_hex(value));
  }
  return bytes;
}

constexpr std::string_view kMalloc = "a6 4d616c6c6f63";
constexpr std::string_view kFree = "a4 46726565";
constexpr std::string_view kRealloc = "a7 5265616c6c6f63";
constexpr std::string_view kZzz = "a3 5a7a7a";
constexpr std::string_view kRss = "a3 527373";

struct Decoded {
  EventBatch events{100};
  DecodeCounters counters;
  DecodeStep step;
};

Decoded decode(const Bytes& bytes, const DecodeLimits& limits = {}) {
  Decoded decoded;
  decoded.step = decode_events(bytes, decoded.events, decoded.counters, {.limits = limits});
  return decoded;
}

bool malformed_with(const Decoded& decoded, std::string_view words) {
  INFO(decoded.step.reason);
  const bool as_expected = decoded.step.status == Status::kMalformed && decoded.step.consumed == 0 &&
                           decoded.events.empty() && decoded.counters.events == 0 &&
                           decoded.step.reason.find(words) != std::string::npos;
  CHECK_MESSAGE(as_expected, "wanted: ", words, ", got: ", decoded.step.reason);
  return as_expected;
}

Bytes free_map() {
  return map_of({{"pid", "01"}, {"tid", "02"}, {"timestamp", "03"}, {"addr", "04"}, {"type", kFree}});
}

}  // namespace

TEST_CASE("type may come last and every field before it is kept") {
  const Decoded decoded = decode(map_of({{"size", "cd 0100"},
                                         {"old_addr", "05"},
                                         {"stack_hash", "00"},
                                         {"addr", "04"},
                                         {"timestamp", "03"},
                                         {"tid", "ff"},
                                         {"pid", "01"},
                                         {"type", kRealloc}}));
  REQUIRE(decoded.step.status == Status::kNeedMore);
  CHECK(text_of(decoded.events) == "1\t-1\t3\t4\tRealloc\told_addr=5\tsize=256\tstack_hash=0\n");
}

TEST_CASE("old shapes decode: Realloc without old_addr, Free with a stack_hash, nil for an optional field (A14)") {
  const Bytes bytes = joined({
      map_of({{"pid", "01"}, {"tid", "02"}, {"timestamp", "03"}, {"addr", "04"}, {"type", kRealloc}, {"size", "05"}}),
      map_of(
          {{"pid", "01"}, {"tid", "02"}, {"timestamp", "03"}, {"addr", "04"}, {"stack_hash", "07"}, {"type", kFree}}),
      map_of({{"pid", "01"},
              {"tid", "02"},
              {"timestamp", "03"},
              {"addr", "04"},
              {"stack_hash", "c0"},
              {"type", kRealloc},
              {"old_addr", "c0"},
              {"size", "05"}}),
  });
  const Decoded decoded = decode(bytes);
  REQUIRE(decoded.step.status == Status::kNeedMore);
  CHECK(text_of(decoded.events) ==
        "1\t2\t3\t4\tRealloc\tsize=5\n1\t2\t3\t4\tFree\tstack_hash=7\n1\t2\t3\t4\tRealloc\tsize=5\n");
  CHECK(decoded.counters.unknown_keys == 0);
}

TEST_CASE("a Free keeps its stack_hash when it is encoded again") {
  const Bytes bytes = map_of(
      {{"pid", "01"}, {"tid", "02"}, {"timestamp", "03"}, {"addr", "04"}, {"stack_hash", "07"}, {"type", kFree}});
  CHECK(encode(decode(bytes).events) == bytes);
}

TEST_CASE("unknown kinds are skipped and counted, whatever fields they have (A13)") {
  const Bytes known = free_map();
  const Bytes bytes = joined({
      known,
      map_of({{"type", kZzz}}),
      map_of({{"pid", "a1 78"}, {"type", kZzz}, {"size", "c0"}, {"payload", "93 01 81 02 c4 02 ffff c2"}}),
      map_of({{"pid", "01"}, {"tid", "02"}, {"timestamp", "03"}, {"addr", "04"}, {"type", kZzz}, {"regs", "80"}}),
      known,
  });
  const Decoded decoded = decode(bytes);
  CHECK(decoded.step.status == Status::kNeedMore);
  CHECK(decoded.step.consumed == bytes.size());
  CHECK(decoded.events.size() == 2);
  CHECK(decoded.counters.events == 2);
  CHECK(decoded.counters.unknown_kinds == 3);
  CHECK(decoded.counters.unknown_keys == 0);
}

TEST_CASE("unknown keys, and keys of other kinds, are skipped and counted whatever they hold (A13)") {
  const Decoded decoded = decode(map_of({{"pid", "01"},
                                         {"new_one", "82 a1 61 91 91 91 c0 01 d9 03 616263"},
                                         {"tid", "02"},
                                         {"timestamp", "03"},
                                         {"addr", "04"},
                                         {"type", kFree},
                                         {"size", "cb 3ff0000000000000"},
                                         {"float", "ca 3f800000"},
                                         {"ext", "d8 01 000102030405060708090a0b0c0d0e0f"},
                                         {"long_ext", "c7 02 05 aabb"}}));
  REQUIRE(decoded.step.status == Status::kNeedMore);
  CHECK(text_of(decoded.events) == "1\t2\t3\t4\tFree\n");
  CHECK(decoded.counters.unknown_keys == 5);
}

TEST_CASE("an event nested a million levels deep is passed without recursion") {
  Bytes bytes = {std::byte{0x86}};
  append(bytes, bytes_of(key("deep")));
  bytes.insert(bytes.end(), 1'000'000, std::byte{0x91});
  bytes.push_back(std::byte{0xc0});
  const Bytes rest = free_map();
  bytes.insert(bytes.end(), rest.begin() + 1, rest.end());
  const Decoded decoded = decode(bytes);
  CHECK(decoded.step.status == Status::kNeedMore);
  CHECK(decoded.events.size() == 1);
  CHECK(decoded.counters.unknown_keys == 1);
}

TEST_CASE("what is no event is malformed, and the reason says why") {
  malformed_with(decode(from_hex("c0")), "is no map");
  malformed_with(decode(from_hex("93 01 02 03")), "is no map");
  malformed_with(decode(from_hex("80")), "has no 'type'");
  malformed_with(decode(from_hex("81 01 02")), "key that is no string");
  malformed_with(decode(from_hex("81 c4 01 61 02")), "key that is no string");
  malformed_with(decode(from_hex("81 a1 61 c1")), "never uses");
  malformed_with(decode(map_of({{"type", "01"}})), "'type'");
  malformed_with(decode(map_of({{"type", "c4 04 46726565"}})), "'type'");
  malformed_with(decode(map_of({{"pid", "01"}, {"tid", "02"}, {"timestamp", "03"}, {"type", kFree}})),
                 "a Free without 'addr'");
  malformed_with(decode(map_of({{"pid", "01"}, {"tid", "02"}, {"timestamp", "03"}, {"addr", "04"}, {"type", kMalloc}})),
                 "a Malloc without 'size'");
  malformed_with(decode(map_of({{"pid", "01"}, {"pid", "01"}, {"type", kZzz}})), "'pid' twice");
}

TEST_CASE("a value of a wrong type or out of its field's range is malformed") {
  const auto malloc_with = [](std::string_view field, std::string_view value) {
    Bytes bytes = {std::byte{0x86}};
    for (const auto& [name, usual] : {std::pair<std::string_view, std::string_view>{"pid", "01"},
                                      {"tid", "02"},
                                      {"timestamp", "03"},
                                      {"addr", "04"},
                                      {"type", kMalloc},
                                      {"size", "05"}}) {
      append(bytes, bytes_of(key(name)));
      append(bytes, from_hex(name == field ? value : usual));
    }
    return bytes;
  };
  CHECK(decode(malloc_with("size", "d0 05")).events.size() == 1);
  CHECK(decode(malloc_with("size", "d3 7fffffffffffffff")).events.size() == 1);
  CHECK(decode(malloc_with("pid", "d3 ffffffff80000000")).events.size() == 1);
  CHECK(decode(malloc_with("pid", "cf 000000007fffffff")).events.size() == 1);
  for (const std::string_view wrong :
       {"ff", "d0 80", "d1 ffff", "d2 80000000", "d3 8000000000000000", "ca 3f800000", "c0", "c3", "a1 35", "90"}) {
    CAPTURE(wrong);
    malformed_with(decode(malloc_with("size", wrong)), "'size'");
    malformed_with(decode(malloc_with("timestamp", wrong)), "'timestamp'");
  }
  for (const std::string_view wrong : {"ce 80000000", "cf 8000000000000000", "cf ffffffffffffffff",
                                       "d3 ffffffff7fffffff", "c0", "cb 3ff0000000000000"}) {
    CAPTURE(wrong);
    malformed_with(decode(malloc_with("pid", wrong)), "'pid'");
    malformed_with(decode(malloc_with("tid", wrong)), "'tid'");
  }
  malformed_with(decode(map_of({{"pid", "01"},
                                {"tid", "02"},
                                {"timestamp", "03"},
                                {"addr", "04"},
                                {"type", kRss},
                                {"member", "ce 80000000"},
                                {"size", "01"}})),
                 "'member'");
}

TEST_CASE("wrong parts of a Stack or a Mapping are malformed") {
  const auto stack_with = [](std::string_view regs, std::string_view bytes, std::string_view truncated) {
    return map_of({{"pid", "01"},
                   {"tid", "02"},
                   {"timestamp", "03"},
                   {"addr", "04"},
                   {"type", "a5 537461636b"},
                   {"hash", "05"},
                   {"sp", "06"},
                   {"regs", regs},
                   {"bytes", bytes},
                   {"fp_chain", "91 01"},
                   {"truncated", truncated}});
  };
  CHECK(text_of(decode(stack_with("92 01 cd 0100", "c4 02 abcd", "c3")).events) ==
        "1\t2\t3\t4\tStack\thash=5\tsp=6\tregs=1,256\tbytes=abcd\tfp_chain=1\ttruncated=true\n");
  CHECK(decode(stack_with("dc 0001 d0 01", "c6 00000000", "c2")).events.size() == 1);
  malformed_with(decode(stack_with("91 ff", "c4 00", "c2")), "'regs'");
  malformed_with(decode(stack_with("91 a0", "c4 00", "c2")), "'regs'");
  malformed_with(decode(stack_with("81 01 01", "c4 00", "c2")), "'regs'");
  malformed_with(decode(stack_with("90", "a0", "c2")), "'bytes'");
  malformed_with(decode(stack_with("90", "c4 00", "00")), "'truncated'");
  malformed_with(decode(map_of({{"pid", "01"},
                                {"tid", "02"},
                                {"timestamp", "03"},
                                {"addr", "04"},
                                {"type", "a7 4d617070696e67"},
                                {"path", "c4 01 2f"},
                                {"dev", "01"},
                                {"ino", "01"},
                                {"file_offset", "00"},
                                {"len", "00"}})),
                 "'path'");
}

TEST_CASE("declared lengths over the cap are refused at once, smaller ones only ask for more (A11)") {
  malformed_with(decode(from_hex("df ffffffff")), "more fields");
  malformed_with(decode(from_hex("81 db ffffffff")), "over the cap");
  for (const std::string_view huge : {"dd ffffffff", "df ffffffff", "c6 ffffffff", "db ffffffff", "c9 ffffffff 01"}) {
    CAPTURE(huge);
    CHECK(decode(map_of({{"payload", huge}})).step.status == Status::kMalformed);
  }
  malformed_with(decode(from_hex("dd ffffffff")), "is no map");
  malformed_with(decode(from_hex("c6 ffffffff")), "is no map");
  CHECK(decode(from_hex("df 00100000")).step.status == Status::kNeedMore);
  CHECK(decode(map_of({{"payload", "c6 00100000"}})).step.status == Status::kNeedMore);
}

TEST_CASE("an event over the cap is malformed whether its end is there or not") {
  const Bytes event =
      map_of({{"payload",
               "da 0064 "
               "2020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
               "2020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"},
              {"type", kZzz}});
  CHECK(decode(event, {.event_bytes = event.size()}).counters.unknown_kinds == 1);
  malformed_with(decode(event, {.event_bytes = event.size() - 1}), "larger than the cap");
  const Bytes beginning(event.begin(), event.end() - 1);
  CHECK(decode(beginning, {.event_bytes = event.size() - 1}).step.status == Status::kNeedMore);
  malformed_with(decode(beginning, {.event_bytes = event.size() - 2}), "larger than the cap");
}

TEST_CASE("events before the malformed one are given, and consumed points at it") {
  const Bytes good = free_map();
  const Decoded decoded = decode(joined({good, good, from_hex("c0"), good}));
  CHECK(decoded.step.status == Status::kMalformed);
  CHECK(decoded.step.consumed == 2 * good.size());
  CHECK(decoded.events.size() == 2);
}

TEST_CASE("keys and kinds that are nearly known are unknown") {
  for (const std::string_view name :
       {"", "p", "pi", "pidd", "Pid", "timestam", "timestampp", "timestamq", "file_offsez", "fp_chai_"}) {
    CAPTURE(name);
    Bytes bytes = {std::byte{0x86}};
    append(bytes, bytes_of(key(name)));
    append(bytes, from_hex("05"));
    const Bytes rest = free_map();
    append(bytes, std::span(rest).subspan(1));
    const Decoded decoded = decode(bytes);
    CHECK(decoded.events.size() == 1);
    CHECK(decoded.counters.unknown_keys == 1);
  }
  for (const std::string_view name : {"", "M", "free", "Mallo", "Malloc2", "AlignedA", "AlignedAlloC", "Exi"}) {
    CAPTURE(name);
    Bytes bytes = {std::byte{0x81}};
    append(bytes, bytes_of(key("type")));
    append(bytes, bytes_of(key(name)));
    const Decoded decoded = decode(bytes);
    CHECK(decoded.events.empty());
    CHECK(decoded.counters.unknown_kinds == 1);
  }
}
