// ArtifactStatistics: what `stat` counts while it reads events.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "codec/event.h"
#include "codec/event_batch.h"
#include "tools/live_blocks.h"

namespace memtrack::tools {

/// Sums stop at the largest 64-bit number.
struct HeapStatistics {
  std::uint64_t allocations = 0;      ///< Malloc, Calloc, AlignedAlloc, Realloc
  std::uint64_t allocated_bytes = 0;  ///< their sizes
  std::uint64_t live_blocks = 0;      ///< not freed when the process ended, or the recording did
  std::uint64_t live_bytes = 0;
};

struct ProcessStatistics {
  std::uint64_t events = 0;
  std::uint64_t forks = 0;  ///< Fork events of which it is the child; more than one: its number was used again
  std::uint64_t execs = 0;
  std::uint64_t exits = 0;
  HeapStatistics heap = {};
};

/// How to use: add() each batch of an artifact in file order, then read.
/// A process's heap is what it allocated itself since its last Exec: blocks that a child inherits by fork belong to the
/// parent, so a child's free of one is counted in unknown_frees. Memory: with processes and live blocks, not events.
class ArtifactStatistics {
 public:
  void add(const EventBatch& batch);

  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::uint64_t of_kind(EventKind kind) const { return kinds_[static_cast<std::size_t>(kind)]; }
  /// Smallest and largest; 0 where there are no events.
  [[nodiscard]] std::uint64_t first_timestamp_ns() const { return events_ == 0 ? 0 : first_timestamp_ns_; }
  [[nodiscard]] std::uint64_t last_timestamp_ns() const { return last_timestamp_ns_; }
  /// Of all processes that lived at the same time.
  [[nodiscard]] std::uint64_t peak_live_bytes() const { return peak_live_bytes_; }
  [[nodiscard]] std::uint64_t unknown_frees() const { return unknown_frees_; }
  /// Of all processes together.
  [[nodiscard]] HeapStatistics heap() const;
  [[nodiscard]] std::map<std::int32_t, ProcessStatistics> processes() const;

 private:
  struct Process {
    ProcessStatistics numbers = {};
    LiveBlocks blocks = {};
    // What was live when the process ended, and when earlier ones with the same number did.
    std::uint64_t retired_live_blocks = 0;
    std::uint64_t retired_live_bytes = 0;
    std::uint64_t live_bytes = 0;
  };

  Process& process_of(std::int32_t pid);
  void add_event(const Event& event);
  void allocate(Process& process, std::uint64_t addr, std::uint64_t size);
  void release(Process& process, std::uint64_t addr);
  void retire_heap(Process& process);
  void drop_heap(Process& process);

  std::uint64_t events_ = 0;
  std::array<std::uint64_t, kEventKindCount> kinds_{};
  std::uint64_t first_timestamp_ns_ = ~std::uint64_t{0};
  std::uint64_t last_timestamp_ns_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t peak_live_bytes_ = 0;
  std::uint64_t unknown_frees_ = 0;
  std::unordered_map<std::int32_t, Process> processes_;
  // The process of the last event: neighbours mostly share it. Nodes of the map stay where they are.
  std::int32_t last_pid_ = 0;
  Process* last_process_ = nullptr;
};

}  // namespace memtrack::tools
