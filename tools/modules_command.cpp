#include "tools/modules_command.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/artifact_reader.h"
#include "tools/event_json.h"
#include "tools/exit_code.h"
#include "tools/log.h"
#include "tools/output_stream.h"

namespace memtrack::tools {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

// Device numbers are major << 20 | minor.
std::string device_text(std::uint64_t dev) {
  return fmt::format("{:02x}:{:02x}", dev >> 20, dev & 0xFFFFF);
}

void append_table(const EventBatch& events, std::string& text) {
  for (std::size_t i = 0; i < events.size(); ++i) append_module_row(events, i, text);
}

void append_json_lines(const EventBatch& events, std::string& text) {
  for (std::size_t i = 0; i < events.size(); ++i) append_json(events, i, text);
}

nlohmann::ordered_json map_json(const ModuleMap& map) {
  return {{"start", map.start},
          {"end", map.end},
          {"file_offset", map.file_offset},
          {"dev", map.dev},
          {"ino", map.ino},
          {"path", map.path},
          {"from", map.from_ns},
          {"until", map.until_ns == kNever ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(map.until_ns)}};
}

ReadOutcome list_events(const std::string& path, const ReaderOptions& options, OutputStream& out) {
  if (!options.json) append_module_heading(out.text());
  return read_artifact(
      path, options, /*show_progress=*/false, [&](const pipeline::PartView& part) { return out.write(part.text); },
      options.json ? append_json_lines : append_table);
}

// The maps need everything that the process may have inherited, so nothing is selected by value.
ReadOutcome list_maps(const std::string& path, const ReaderOptions& options, OutputStream& out) {
  ModuleMaps maps;
  ReaderOptions all = options;
  all.selection = pipeline::ReadSelection::modules();
  ReadOutcome outcome = read_artifact(path, all, /*show_progress=*/false, [&](const pipeline::PartView& part) {
    maps.add(part.events);
    return true;
  });
  append_maps(maps.of(*options.maps_pid), options.maps_at_ns, options.json, out.text());
  return outcome;
}

int list_file(const std::string& path, const ReaderOptions& options, OutputStream& out) {
  const ReadOutcome outcome = options.maps_pid ? list_maps(path, options, out) : list_events(path, options, out);
  (void)out.flush();
  if (!out.failed()) say_outcome(outcome, path, options.maps_pid ? "looked at" : "printed");
  return outcome_exit_code(outcome);
}

}  // namespace

void append_module_heading(std::string& out) {
  fmt::format_to(std::back_inserter(out), "{:>20} {:>10} {:>10} {:<8} {}\n", "timestamp", "pid", "tid", "type", "what");
}

void append_module_row(const EventBatch& batch, std::size_t i, std::string& out) {
  const Event& event = batch[i];
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "{:>20} {:>10} {:>10} {}", event.timestamp_ns, event.pid, event.tid, to_string(event.kind));
  if (event.kind == EventKind::kFork) fmt::format_to(to, "     child of {}", event.fork.parent_pid);
  if (event.kind == EventKind::kMapping) {
    fmt::format_to(to, "  {:x} +{:x} of {} at {:x} ({} {})", event.addr, event.mapping.len,
                   printable(batch.path(event)), event.mapping.file_offset, device_text(event.mapping.dev),
                   event.mapping.ino);
  }
  out += '\n';
}

void append_maps(std::span<const ModuleMap> maps, std::optional<std::uint64_t> at_ns, bool json, std::string& out) {
  const auto to = std::back_inserter(out);
  for (const ModuleMap& map : maps) {
    if (at_ns && !map.is_there(*at_ns)) continue;
    if (json) {
      out += map_json(map).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
      continue;
    }
    fmt::format_to(to, "{:08x}-{:08x} r-xp {:08x} {} {:<10} {}", map.start, map.end, map.file_offset,
                   device_text(map.dev), map.ino, printable(map.path));
    if (!at_ns) {
      fmt::format_to(to, "  from {} to {}", map.from_ns,
                     map.until_ns == kNever ? "the end" : std::to_string(map.until_ns));
    }
    out += '\n';
  }
}

int run_modules(const ReaderOptions& options) {
  OutputStream out(STDOUT_FILENO);
  int worst = kExitWhole;
  for (const std::string& path : options.files) {
    if (options.files.size() > 1) out.text() += file_heading(path, options.json);
    worst = std::max(worst, list_file(path, options, out));
    if (out.failed()) break;
  }
  return finish_output(out, worst);
}

}  // namespace memtrack::tools
