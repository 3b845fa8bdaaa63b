#include "tools/stat_report.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using namespace memtrack;
using namespace memtrack::tools;

StatReport small_report() {
  StatReport report{.path = "a b.msgpack", .file_bytes = 1000, .raw_bytes = 5000};
  report.outcome.frames = 2;
  EventBatch batch(2);
  Event event{};
  event.kind = EventKind::kMalloc;
  event.pid = 42;
  event.timestamp_ns = 1'000'000;
  event.alloc.size = 64;
  batch.append(event);
  event.timestamp_ns = 3'000'000;
  event.addr = 16;
  batch.append(event);
  report.statistics.add(batch);
  return report;
}

std::string text_of(const StatReport& report) {
  std::string text;
  append_stat_text(report, text);
  return text;
}

nlohmann::json json_of(const StatReport& report) {
  std::string text;
  append_stat_json(report, text);
  CHECK(text.find('\n') == text.size() - 1);
  return nlohmann::json::parse(text);
}

TEST_CASE("the text names the file, its state, sizes, time, kinds and processes") {
  const std::string text = text_of(small_report());
  for (const char* part :
       {"a b.msgpack\n", "whole", "1000 B (1,000 bytes) in 2 frames, 4.9 KiB decompressed (5.0 times as much)",
        "2.0 ms (1000000 to 3000000 ns)", "unknown (no index)", "128 B in 2 allocations", "128 B in 2 blocks", "Malloc",
        "42"}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("losses come from the index, and are unknown without one") {
  StatReport report = small_report();
  CHECK(json_of(report)["lost"].is_null());
  report.losses = LossCounters{};
  CHECK(text_of(report).find("lost       0\n") != std::string::npos);
  CHECK(json_of(report)["lost"]["total"] == 0);
  (*report.losses)[LossCause::kRingFull] = 7;
  CHECK(text_of(report).find("7 events were lost (ring full: 7)") != std::string::npos);
  CHECK(json_of(report)["lost"]["total"] == 7);
  CHECK(json_of(report)["lost"]["ring full"] == 7);
}

TEST_CASE("the JSON object has the same numbers") {
  const nlohmann::json json = json_of(small_report());
  CHECK(json["file"] == "a b.msgpack");
  CHECK(json["state"] == "whole");
  CHECK(json["file_bytes"] == 1000);
  CHECK(json["raw_bytes"] == 5000);
  CHECK(json["frames"] == 2);
  CHECK(json["events"] == 2);
  CHECK(json["kinds"] == nlohmann::json{{"Malloc", 2}});
  CHECK(json["live_bytes"] == 128);
  REQUIRE(json["processes"].size() == 1);
  CHECK(json["processes"][0]["pid"] == 42);
  CHECK(json["processes"][0]["live_blocks"] == 2);
}

TEST_CASE("truncated and damaged files say so, and an unknown size is null") {
  StatReport report = small_report();
  report.outcome.truncated = true;
  report.raw_bytes.reset();
  CHECK(json_of(report)["state"] == "truncated");
  CHECK(json_of(report)["raw_bytes"].is_null());
  CHECK(text_of(report).find("decompressed size unknown") != std::string::npos);
  report.outcome.error = Error{.code = ErrorCode::kCorruptFrame, .message = "x"};
  CHECK(json_of(report)["state"] == "damaged");
}

TEST_CASE("an index answers with what it knows, and says that nothing was decoded") {
  StatReport report{.path = "a", .file_bytes = 1000, .raw_bytes = 5000, .losses = LossCounters{}, .digest = Digest{}};
  const auto frame = [&](std::uint64_t events, std::uint64_t first, std::uint64_t last, KindSet kinds) {
    report.digest->frames.push_back({.summary = {.event_count = events,
                                                 .module_event_count = events / 10,
                                                 .first_timestamp_ns = first,
                                                 .last_timestamp_ns = last,
                                                 .kinds = kinds}});
  };
  frame(100, 50, 90, kind_bit(EventKind::kMalloc));
  frame(0, 0, 0, 0);
  frame(20, 40, 60, kind_bit(EventKind::kFork));
  const auto json = json_of(report);
  CHECK(json["state"] == "complete");
  CHECK(json["decoded"] == false);
  CHECK(json["events"] == 120);
  CHECK(json["module_events"] == 12);
  CHECK(json["first_timestamp"] == 40);
  CHECK(json["last_timestamp"] == 90);
  CHECK(json["kinds_present"] == nlohmann::json::array({"Malloc", "Fork"}));
  CHECK(json["lost"]["total"] == 0);
  const std::string text = text_of(report);
  for (const char* part : {"not read", "(40 to 90 ns)", "120, 12 of them of modules", "Malloc Fork"}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

}  // namespace
