#include "tools/stat_report.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tools/capture_report.h"
#include "tools/log.h"
#include "tools/units.h"

namespace memtrack::tools {
namespace {

using Json = nlohmann::ordered_json;

double ratio(std::uint64_t raw_bytes, std::uint64_t file_bytes) {
  return file_bytes == 0 ? 0 : static_cast<double>(raw_bytes) / static_cast<double>(file_bytes);
}

std::string sizes_text(const StatReport& report) {
  std::string text = fmt::format("{} ({} bytes) in {}", human_size(report.file_bytes), human_count(report.file_bytes),
                                 human_count(report.outcome.frames, "frame"));
  if (!report.raw_bytes) return text + ", decompressed size unknown";
  return text + fmt::format(", {} decompressed ({:.1f} times as much)", human_size(*report.raw_bytes),
                            ratio(*report.raw_bytes, report.file_bytes));
}

std::string losses_text(const StatReport& report) {
  if (!report.losses) return "unknown (no index)";
  return report.losses->total() == 0 ? "0" : loss_text(*report.losses);
}

// What the index says of all frames together.
FrameSummary sum_of(const Digest& digest) {
  FrameSummary all;
  for (const IndexedFrame& frame : digest.frames) {
    const FrameSummary& one = frame.summary;
    if (one.event_count == 0) continue;
    all.first_timestamp_ns =
        all.event_count == 0 ? one.first_timestamp_ns : std::min(all.first_timestamp_ns, one.first_timestamp_ns);
    all.last_timestamp_ns = std::max(all.last_timestamp_ns, one.last_timestamp_ns);
    all.event_count += one.event_count;
    all.module_event_count += one.module_event_count;
    all.kinds |= one.kinds;
  }
  return all;
}

std::vector<std::string_view> kind_names(KindSet kinds) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kEventKindCount; ++i) {
    const auto kind = static_cast<EventKind>(i);
    if ((kinds & kind_bit(kind)) != 0) names.push_back(to_string(kind));
  }
  return names;
}

std::string time_text(std::uint64_t events, std::uint64_t first, std::uint64_t last) {
  if (events == 0) return "no events";
  return fmt::format("{} ({} to {} ns)", human_duration(static_cast<std::int64_t>(last - first)), first, last);
}

void append_processes(const ArtifactStatistics& statistics, std::string& out) {
  const auto processes = statistics.processes();
  fmt::format_to(std::back_inserter(out), "  processes  {}\n", human_count(processes.size()));
  if (processes.empty()) return;
  fmt::format_to(std::back_inserter(out), "    {:>10} {:>14} {:>14} {:>12} {:>14} {:>12}  {}\n", "pid", "events",
                 "allocations", "allocated", "live blocks", "live", "fork exec exit");
  for (const auto& [pid, process] : processes) {
    fmt::format_to(std::back_inserter(out), "    {:>10} {:>14} {:>14} {:>12} {:>14} {:>12}  {:>4} {:>4} {:>4}\n", pid,
                   human_count(process.events), human_count(process.heap.allocations),
                   human_size(process.heap.allocated_bytes), human_count(process.heap.live_blocks),
                   human_size(process.heap.live_bytes), process.forks, process.execs, process.exits);
  }
}

void append_kinds(const ArtifactStatistics& statistics, std::string& out) {
  for (std::size_t i = 0; i < kEventKindCount; ++i) {
    const auto kind = static_cast<EventKind>(i);
    if (statistics.of_kind(kind) == 0) continue;
    fmt::format_to(std::back_inserter(out), "    {:<14} {:>14}\n", to_string(kind),
                   human_count(statistics.of_kind(kind)));
  }
}

Json losses_json(const StatReport& report) {
  if (!report.losses) return nullptr;
  Json json{{"total", report.losses->total()}};
  for (std::size_t i = 0; i < kLossCauseCount; ++i) {
    json[std::string(to_string(static_cast<LossCause>(i)))] = report.losses->by_cause[i];
  }
  return json;
}

Json kinds_json(const ArtifactStatistics& statistics) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kEventKindCount; ++i) {
    const auto kind = static_cast<EventKind>(i);
    if (statistics.of_kind(kind) > 0) json[std::string(to_string(kind))] = statistics.of_kind(kind);
  }
  return json;
}

Json heap_json(const HeapStatistics& heap) {
  return Json{{"allocations", heap.allocations},
              {"allocated_bytes", heap.allocated_bytes},
              {"live_blocks", heap.live_blocks},
              {"live_bytes", heap.live_bytes}};
}

Json processes_json(const ArtifactStatistics& statistics) {
  Json all = Json::array();
  for (const auto& [pid, process] : statistics.processes()) {
    Json json{{"pid", pid},
              {"events", process.events},
              {"forks", process.forks},
              {"execs", process.execs},
              {"exits", process.exits}};
    json.update(heap_json(process.heap));
    all.push_back(std::move(json));
  }
  return all;
}

void append_head(const StatReport& report, std::uint64_t events, std::uint64_t first, std::uint64_t last,
                 std::string& out) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "{}\n", printable(report.path));
  fmt::format_to(to, "  state      {}\n",
                 report.digest ? "complete; the data was not read (--full does)" : outcome_name(report.outcome));
  fmt::format_to(to, "  size       {}\n", sizes_text(report));
  fmt::format_to(to, "  time       {}\n", time_text(events, first, last));
  fmt::format_to(to, "  lost       {}\n", losses_text(report));
}

void append_index_text(const StatReport& report, std::string& out) {
  const FrameSummary all = sum_of(*report.digest);
  append_head(report, all.event_count, all.first_timestamp_ns, all.last_timestamp_ns, out);
  fmt::format_to(std::back_inserter(out), "  events     {}, {} of them of modules\n", human_count(all.event_count),
                 human_count(all.module_event_count));
  fmt::format_to(std::back_inserter(out), "  kinds      {}\n", fmt::join(kind_names(all.kinds), " "));
}

Json index_json(const Digest& digest) {
  const FrameSummary all = sum_of(digest);
  return Json{{"first_timestamp", all.first_timestamp_ns},
              {"last_timestamp", all.last_timestamp_ns},
              {"events", all.event_count},
              {"module_events", all.module_event_count},
              {"kinds_present", kind_names(all.kinds)}};
}

Json decoded_json(const StatReport& report) {
  const ArtifactStatistics& statistics = report.statistics;
  Json json{{"first_timestamp", statistics.first_timestamp_ns()}, {"last_timestamp", statistics.last_timestamp_ns()}};
  json["events"] = statistics.events();
  json["kinds"] = kinds_json(statistics);
  json["unknown_kinds"] = report.outcome.counters.unknown_kinds;
  json["unknown_keys"] = report.outcome.counters.unknown_keys;
  json.update(heap_json(statistics.heap()));
  json["peak_live_bytes"] = statistics.peak_live_bytes();
  json["unknown_frees"] = statistics.unknown_frees();
  json["processes"] = processes_json(statistics);
  return json;
}

}  // namespace

void append_stat_text(const StatReport& report, std::string& out) {
  if (report.digest) return append_index_text(report, out);
  const ArtifactStatistics& statistics = report.statistics;
  const HeapStatistics heap = statistics.heap();
  const auto to = std::back_inserter(out);
  append_head(report, statistics.events(), statistics.first_timestamp_ns(), statistics.last_timestamp_ns(), out);
  fmt::format_to(to, "  allocated  {} in {}\n", human_size(heap.allocated_bytes),
                 human_count(heap.allocations, "allocation"));
  fmt::format_to(to, "  live       {} in {} at the end, {} at the peak\n", human_size(heap.live_bytes),
                 human_count(heap.live_blocks, "block"), human_size(statistics.peak_live_bytes()));
  if (statistics.unknown_frees() > 0) {
    fmt::format_to(to, "  frees      {} of blocks that the process did not allocate in this recording\n",
                   human_count(statistics.unknown_frees()));
  }
  fmt::format_to(to, "  events     {}\n", human_count(statistics.events()));
  append_kinds(statistics, out);
  append_processes(statistics, out);
}

void append_stat_json(const StatReport& report, std::string& out) {
  Json json{{"file", report.path},
            {"state", report.digest ? "complete" : outcome_name(report.outcome)},
            {"decoded", !report.digest},
            {"file_bytes", report.file_bytes}};
  json["frames"] = report.outcome.frames;
  json["raw_bytes"] = report.raw_bytes ? Json(*report.raw_bytes) : Json(nullptr);
  json["lost"] = losses_json(report);
  json.update(report.digest ? index_json(*report.digest) : decoded_json(report));
  out += json.dump(-1, ' ', false, Json::error_handler_t::replace);
  out += '\n';
}

}  // namespace memtrack::tools
