#include "tools/artifact_statistics.h"

#include <algorithm>
#include <limits>

namespace memtrack::tools {
namespace {

void add_saturated(std::uint64_t& sum, std::uint64_t value) {
  const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - sum;
  sum += std::min(value, room);
}

void subtract(std::uint64_t& sum, std::uint64_t value) {
  sum -= std::min(sum, value);
}

}  // namespace

void ArtifactStatistics::add(const EventBatch& batch) {
  for (const Event& event : batch.events()) add_event(event);
}

ArtifactStatistics::Process& ArtifactStatistics::process_of(std::int32_t pid) {
  if (last_process_ == nullptr || last_pid_ != pid) {
    last_process_ = &processes_[pid];
    last_pid_ = pid;
  }
  return *last_process_;
}

void ArtifactStatistics::add_event(const Event& event) {
  Process& process = process_of(event.pid);
  ++events_;
  ++kinds_[static_cast<std::size_t>(event.kind)];
  ++process.numbers.events;
  first_timestamp_ns_ = std::min(first_timestamp_ns_, event.timestamp_ns);
  last_timestamp_ns_ = std::max(last_timestamp_ns_, event.timestamp_ns);
  switch (event.kind) {
    case EventKind::kRealloc:
      if (event.has(Event::kHasOldAddr)) release(process, event.alloc.old_addr);
      [[fallthrough]];
    case EventKind::kMalloc:
    case EventKind::kCalloc:
    case EventKind::kAlignedAlloc:
      allocate(process, event.addr, event.alloc.size);
      break;
    case EventKind::kFree:
      release(process, event.addr);
      break;
    case EventKind::kFork:
      retire_heap(process);
      ++process.numbers.forks;
      break;
    case EventKind::kExec:
      drop_heap(process);
      ++process.numbers.execs;
      break;
    case EventKind::kExit:
      retire_heap(process);
      ++process.numbers.exits;
      break;
    default:
      break;
  }
}

void ArtifactStatistics::allocate(Process& process, std::uint64_t addr, std::uint64_t size) {
  ++process.numbers.heap.allocations;
  add_saturated(process.numbers.heap.allocated_bytes, size);
  if (const auto replaced = process.blocks.insert(addr, size)) {
    subtract(process.live_bytes, *replaced);
    subtract(live_bytes_, *replaced);
  }
  add_saturated(process.live_bytes, size);
  add_saturated(live_bytes_, size);
  peak_live_bytes_ = std::max(peak_live_bytes_, live_bytes_);
}

void ArtifactStatistics::release(Process& process, std::uint64_t addr) {
  const auto size = process.blocks.erase(addr);
  if (!size) {
    ++unknown_frees_;
    return;
  }
  subtract(process.live_bytes, *size);
  subtract(live_bytes_, *size);
}

void ArtifactStatistics::retire_heap(Process& process) {
  add_saturated(process.retired_live_blocks, process.blocks.count());
  add_saturated(process.retired_live_bytes, process.live_bytes);
  drop_heap(process);
}

void ArtifactStatistics::drop_heap(Process& process) {
  subtract(live_bytes_, process.live_bytes);
  process.live_bytes = 0;
  process.blocks.clear();
}

HeapStatistics ArtifactStatistics::heap() const {
  HeapStatistics all;
  for (const auto& [pid, process] : processes()) {
    all.allocations += process.heap.allocations;
    all.live_blocks += process.heap.live_blocks;
    add_saturated(all.allocated_bytes, process.heap.allocated_bytes);
    add_saturated(all.live_bytes, process.heap.live_bytes);
  }
  return all;
}

std::map<std::int32_t, ProcessStatistics> ArtifactStatistics::processes() const {
  std::map<std::int32_t, ProcessStatistics> all;
  for (const auto& [pid, process] : processes_) {
    ProcessStatistics numbers = process.numbers;
    numbers.heap.live_blocks = process.retired_live_blocks + process.blocks.count();
    numbers.heap.live_bytes = process.retired_live_bytes;
    add_saturated(numbers.heap.live_bytes, process.live_bytes);
    all.emplace(pid, numbers);
  }
  return all;
}

}  // namespace memtrack::tools
