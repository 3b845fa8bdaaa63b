// HistoryChecker: replays events in the order of an artifact and says where that can't have happened.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "codec/event.h"

namespace memtrack::test {

struct HistoryOptions {
  /// A free of an address that no event gave out is fine in a process that was not seen from its start: blocks of
  /// before tracking.
  bool tolerate_unknown_frees = false;
  /// A fork copies the parent while other threads of it go on, so a stamp can't say exactly which of their blocks the
  /// child has. True: what the child inherited may be dead or alive there; what it did itself is checked all the same.
  bool tolerate_inherited = true;
  /// Also check that Mmap and Munmap fit: a Munmap of nothing that was mapped is a violation.
  bool check_mappings = false;
  std::size_t max_violations = 20;
};

/// Rules, each process by itself: no allocation of a live address, no free (or realloc) of a dead one. A Fork copies
/// the parent's blocks, an Exec clears them. Process rules: a child's events come after its Fork, nothing comes after
/// an Exit, each Exit has a start.
class HistoryChecker {
 public:
  explicit HistoryChecker(HistoryOptions options = {}) : options_(options) {}

  void add(const Event& event) {
    ++count_;
    Process& process = processes_[event.pid];
    if (event.kind == EventKind::kFork) return fork(event, process);
    if (process.exited) violate(event, "after the process's Exit");
    if (!process.started) {
      if (event.kind != EventKind::kExec || root_seen_) violate(event, "before the process's Fork");
      process.started = root_seen_ = true;
    }
    check_time(event, process);
    switch (event.kind) {
      case EventKind::kExec:
        process.live.clear();
        process.inherited.clear();
        process.mapped.clear();
        process.execs++;
        return;
      case EventKind::kExit:
        process.exited = true;
        return;
      case EventKind::kMalloc:
      case EventKind::kCalloc:
      case EventKind::kAlignedAlloc:
        return allocate(event, process);
      case EventKind::kRealloc:
        if (event.has(Event::kHasOldAddr)) release(event, process, event.alloc.old_addr);
        return allocate(event, process);
      case EventKind::kFree:
        return release(event, process, event.addr);
      case EventKind::kMmap:
        return map(process, event.addr, event.alloc.size);
      case EventKind::kMunmap:
        return unmap(event, process);
      default:
        return;
    }
  }

  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }
  [[nodiscard]] std::uint64_t violation_count() const { return violation_count_; }
  /// Processes that were started and have no Exit.
  [[nodiscard]] std::vector<std::int32_t> without_exit() const {
    std::vector<std::int32_t> pids;
    for (const auto& [pid, process] : processes_) {
      if (process.started && !process.exited) pids.push_back(pid);
    }
    return pids;
  }
  [[nodiscard]] std::size_t process_count() const { return started_count_ + (root_seen_ ? 1 : 0); }
  [[nodiscard]] std::size_t live_blocks(std::int32_t pid) const {
    const auto at = processes_.find(pid);
    return at == processes_.end() ? 0 : at->second.live.size();
  }
  /// All violations, one a line, for a test's message.
  [[nodiscard]] std::string report() const {
    std::string text;
    for (const std::string& line : violations_) text += line + "\n";
    return text;
  }

 private:
  struct Process {
    std::unordered_map<std::uint64_t, std::uint64_t> live;  // address to number of the event that gave it out
    std::set<std::uint64_t> inherited;              // addresses whose state in here is the parent's and so not sure
    std::map<std::uint64_t, std::uint64_t> mapped;  // start to end
    std::uint64_t last_ns = 0;
    std::uint64_t execs = 0;
    bool started = false;
    bool exited = false;
    bool forked = false;
    std::set<std::uint64_t> freed;  // in a fork child: freed without having been given out in here

    bool freed_unknown(std::uint64_t address) { return freed.insert(address).second; }
  };

  void violate(const Event& event, const std::string& what) {
    ++violation_count_;
    if (violations_.size() >= options_.max_violations) return;
    violations_.push_back("event " + std::to_string(count_ - 1) + ": pid " + std::to_string(event.pid) + " tid " +
                          std::to_string(event.tid) + " " + std::string(to_string(event.kind)) + " of " +
                          hex(event.addr) + " at " + std::to_string(event.timestamp_ns) + " ns: " + what);
  }
  static std::string hex(std::uint64_t value) {
    std::string text;
    do {
      text.insert(text.begin(), "0123456789abcdef"[value & 15]);
    } while ((value >>= 4) != 0);
    return "0x" + text;
  }

  void fork(const Event& event, Process& child) {
    if (child.started && !child.exited) violate(event, "a Fork of a process that lives");
    const auto parent = processes_.find(static_cast<std::int32_t>(event.fork.parent_pid));
    Process fresh;
    if (parent != processes_.end()) {
      fresh.live = parent->second.live;
      fresh.mapped = parent->second.mapped;
      for (const auto& [address, number] : fresh.live) fresh.inherited.insert(address);
    }
    fresh.started = fresh.forked = true;
    fresh.last_ns = event.timestamp_ns;
    child = std::move(fresh);
    ++started_count_;
  }

  void check_time(const Event& event, Process& process) {
    if (event.timestamp_ns < process.last_ns) violate(event, "an earlier time than the event before it has");
    process.last_ns = event.timestamp_ns;
  }

  void allocate(const Event& event, Process& process) {
    const bool sure = !options_.tolerate_inherited || process.inherited.erase(event.addr) == 0;
    const auto [at, fresh] = process.live.try_emplace(event.addr, count_ - 1);
    if (!fresh && sure) violate(event, "allocated while live since event " + std::to_string(at->second));
    at->second = count_ - 1;
    process.freed.erase(event.addr);
  }

  void release(const Event& event, Process& process, std::uint64_t address) {
    process.inherited.erase(address);
    if (process.live.erase(address) != 0) {
      if (process.forked) process.freed.insert(address);
      return;
    }
    // A child may free what its parent freed between the fork and the stamp of the fork; but each only once.
    const bool maybe_inherited =
        options_.tolerate_inherited && process.forked && process.execs == 0 && process.freed_unknown(address);
    if (maybe_inherited || options_.tolerate_unknown_frees) return;
    violate(event, "frees " + hex(address) + ", which is dead");
  }

  static void map(Process& process, std::uint64_t start, std::uint64_t bytes) {
    cut(process, start, start + bytes);
    process.mapped[start] = start + bytes;
  }
  void unmap(const Event& event, Process& process) {
    const bool any = cut(process, event.addr, event.addr + event.alloc.size);
    if (!any && options_.check_mappings) violate(event, "unmaps what is not mapped");
  }
  /// Takes [start, end) out of what is mapped; true if anything was there.
  static bool cut(Process& process, std::uint64_t start, std::uint64_t end) {
    bool any = false;
    auto at = process.mapped.upper_bound(start);
    if (at != process.mapped.begin() && std::prev(at)->second > start) --at;
    while (at != process.mapped.end() && at->first < end) {
      const auto [from, to] = *at;
      at = process.mapped.erase(at);
      if (from < start) process.mapped[from] = start;
      if (to > end) process.mapped[end] = to;
      any = true;
    }
    return any;
  }

  HistoryOptions options_;
  std::map<std::int32_t, Process> processes_;
  std::vector<std::string> violations_;
  std::uint64_t violation_count_ = 0;
  std::uint64_t count_ = 0;
  std::size_t started_count_ = 0;
  bool root_seen_ = false;
};

}  // namespace memtrack::test
