#include "tools/module_maps.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace memtrack::tools {
namespace {

int rank(EventKind kind) {
  return kind == EventKind::kExec ? 0 : kind == EventKind::kMapping ? 1 : 2;
}

struct Process {
  std::vector<ModuleMap> live = {};
  std::vector<ModuleMap> gone = {};

  void end(const ModuleMap& map, std::uint64_t time_ns) {
    // What came and went at one time was never there.
    if (map.from_ns == time_ns) return;
    gone.push_back(map);
    gone.back().until_ns = time_ns;
  }
  void clear(std::uint64_t time_ns) {
    for (const ModuleMap& map : live) end(map, time_ns);
    live.clear();
  }
  void inherit(const std::vector<ModuleMap>& maps, std::uint64_t time_ns) {
    clear(time_ns);
    live = maps;
    for (ModuleMap& map : live) map.from_ns = time_ns;
  }
  void put(const ModuleMap& map) {
    std::vector<ModuleMap> kept;
    for (const ModuleMap& old : live) {
      if (old.end <= map.start || map.end <= old.start) {
        kept.push_back(old);
        continue;
      }
      end(old, map.from_ns);
      keep_part(old, old.start, map.start, map.from_ns, kept);
      keep_part(old, map.end, old.end, map.from_ns, kept);
    }
    kept.push_back(map);
    live = std::move(kept);
  }
  // What a new map leaves of an old one.
  static void keep_part(const ModuleMap& old, std::uint64_t start, std::uint64_t end, std::uint64_t time_ns,
                        std::vector<ModuleMap>& kept) {
    if (start >= end) return;
    ModuleMap part = old;
    part.file_offset += start - old.start;
    part.start = start;
    part.end = end;
    part.from_ns = time_ns;
    kept.push_back(std::move(part));
  }
};

}  // namespace

void ModuleMaps::add(const EventBatch& batch) {
  for (const Event& event : batch.events()) {
    if (!is_module_event(event.kind)) continue;
    Change change{.time_ns = event.timestamp_ns, .kind = event.kind, .pid = event.pid, .parent_pid = 0, .map = {}};
    if (event.kind == EventKind::kFork) change.parent_pid = static_cast<std::int32_t>(event.fork.parent_pid);
    if (event.kind == EventKind::kMapping) {
      const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - event.addr;
      change.map = {.start = event.addr,
                    .end = event.addr + std::min(event.mapping.len, room),
                    .file_offset = event.mapping.file_offset,
                    .dev = event.mapping.dev,
                    .ino = event.mapping.ino,
                    .path = std::string(batch.path(event)),
                    .from_ns = event.timestamp_ns};
    }
    changes_.push_back(std::move(change));
  }
}

std::vector<ModuleMap> ModuleMaps::of(std::int32_t pid) const {
  std::vector<const Change*> ordered;
  for (const Change& change : changes_) ordered.push_back(&change);
  std::ranges::stable_sort(ordered, {},
                           [](const Change* change) { return std::pair(change->time_ns, rank(change->kind)); });
  std::map<std::int32_t, Process> processes;
  for (const Change* change : ordered) {
    Process& process = processes[change->pid];
    if (change->kind == EventKind::kExec) process.clear(change->time_ns);
    if (change->kind == EventKind::kMapping) process.put(change->map);
    if (change->kind == EventKind::kFork) process.inherit(processes[change->parent_pid].live, change->time_ns);
  }
  std::vector<ModuleMap> all = std::move(processes[pid].gone);
  std::ranges::move(processes[pid].live, std::back_inserter(all));
  std::ranges::stable_sort(all, {},
                           [](const ModuleMap& map) { return std::tuple(map.from_ns, map.start, map.until_ns); });
  return all;
}

}  // namespace memtrack::tools
