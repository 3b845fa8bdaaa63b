#include "tools/event_json.h"

#include <array>
#include <limits>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using namespace memtrack;
using memtrack::tools::append_json;

Event event(EventKind kind) {
  Event made{};
  made.kind = kind;
  made.pid = -7;
  made.tid = 8;
  made.timestamp_ns = std::numeric_limits<std::uint64_t>::max();
  made.addr = 4096;
  return made;
}

std::string json_of(const Event& made) {
  EventBatch batch(1);
  batch.append(made);
  std::string out;
  append_json(batch, 0, out);
  return out;
}

TEST_CASE("an event is one line with the artifact's key names in the artifact's order") {
  Event realloc = event(EventKind::kRealloc);
  realloc.flags = Event::kHasStackHash | Event::kHasOldAddr;
  realloc.alloc = {.size = 42, .old_addr = 0, .stack_hash = 9, .reserved = 0};
  CHECK(json_of(realloc) ==
        "{\"pid\":-7,\"tid\":8,\"timestamp\":18446744073709551615,\"addr\":4096,\"stack_hash\":9,\"type\":\"Realloc\","
        "\"old_addr\":0,\"size\":42}\n");
}

TEST_CASE("an absent optional field is left out") {
  Event realloc = event(EventKind::kRealloc);
  realloc.alloc.size = 42;
  CHECK(json_of(realloc) ==
        "{\"pid\":-7,\"tid\":8,\"timestamp\":18446744073709551615,\"addr\":4096,\"type\":\"Realloc\",\"size\":42}\n");
}

TEST_CASE("every fixed kind prints its own fields") {
  const auto own = [](const Event& made) {
    const std::string line = json_of(made);
    return line.substr(line.find("\"type\""));
  };
  for (const EventKind kind : {EventKind::kMalloc, EventKind::kCalloc, EventKind::kAlignedAlloc, EventKind::kMmap,
                               EventKind::kMunmap, EventKind::kBrk}) {
    Event made = event(kind);
    made.alloc.size = 5;
    CHECK(own(made) == "\"type\":\"" + std::string(to_string(kind)) + "\",\"size\":5}\n");
  }
  for (const EventKind kind : {EventKind::kFree, EventKind::kExec, EventKind::kExit}) {
    CHECK(own(event(kind)) == "\"type\":\"" + std::string(to_string(kind)) + "\"}\n");
  }
  Event rss = event(EventKind::kRss);
  rss.rss = {.member = 1, .size = 2, .reserved = {}};
  CHECK(own(rss) == "\"type\":\"Rss\",\"member\":1,\"size\":2}\n");
  Event rmap = event(EventKind::kRmap);
  rmap.rmap = {.member = 3, .delta = -4, .reserved = {}};
  CHECK(own(rmap) == "\"type\":\"Rmap\",\"member\":3,\"delta\":-4}\n");
  Event fork = event(EventKind::kFork);
  fork.fork = {.parent_pid = -1, .reserved = {}};
  CHECK(own(fork) == "\"type\":\"Fork\",\"parent_pid\":-1}\n");
}

TEST_CASE("a path is escaped, and bytes that are no UTF-8 are replaced") {
  EventBatch batch(2);
  Event mapping = event(EventKind::kMapping);
  mapping.mapping = {.dev = 1, .ino = 2, .file_offset = 3, .len = 4};
  batch.append_mapping(mapping, "/a \"b\"\n");
  batch.append_mapping(mapping, "/\xFF");
  std::string out;
  append_json(batch, 0, out);
  append_json(batch, 1, out);
  CHECK(out.find(
            "\"type\":\"Mapping\",\"path\":\"/a \\\"b\\\"\\n\",\"dev\":1,\"ino\":2,\"file_offset\":3,\"len\":4}\n") !=
        std::string::npos);
  CHECK(out.find("\"path\":\"/\uFFFD\"") != std::string::npos);
}

TEST_CASE("a stack prints its lists and its bytes in hex") {
  constexpr std::array<std::uint64_t, 2> kRegs{1, 2};
  constexpr std::array kBytes{std::byte{0x00}, std::byte{0xAF}};
  EventBatch batch(1);
  Event stack = event(EventKind::kStack);
  stack.flags = Event::kStackTruncated;
  stack.stack = {.hash = 5, .sp = 6, .reserved = {}};
  batch.append_stack(stack, StackParts{.regs = kRegs, .bytes = kBytes, .fp_chain = {}});
  std::string out;
  append_json(batch, 0, out);
  CHECK(
      out.ends_with("\"type\":\"Stack\",\"hash\":5,\"sp\":6,\"regs\":[1,2],\"bytes\":\"00af\",\"fp_chain\":[],"
                    "\"truncated\":true}\n"));
  CHECK(nlohmann::json::accept(out));
}

}  // namespace
