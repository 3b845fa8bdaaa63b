#include "tools/artifact_statistics.h"

#include <limits>

#include <doctest/doctest.h>

namespace {

using namespace memtrack;
using namespace memtrack::tools;

class Recording {
 public:
  Recording& add(EventKind kind, std::int32_t pid, std::uint64_t addr = 0, std::uint64_t size = 0,
                 std::uint64_t old_addr = 0) {
    Event event{};
    event.kind = kind;
    event.pid = event.tid = pid;
    event.timestamp_ns = ++time_;
    event.addr = addr;
    if (kind == EventKind::kFork) {
      event.fork.parent_pid = 1;
    } else {
      event.alloc.size = size;
    }
    if (old_addr != 0) {
      event.flags = Event::kHasOldAddr;
      event.alloc.old_addr = old_addr;
    }
    EventBatch batch(1);
    batch.append(event);
    statistics.add(batch);
    return *this;
  }
  ArtifactStatistics statistics;

 private:
  std::uint64_t time_ = 100;
};

TEST_CASE("kinds, times and processes are counted") {
  Recording recording;
  recording.add(EventKind::kExec, 1)
      .add(EventKind::kMalloc, 1, 16, 10)
      .add(EventKind::kFork, 2)
      .add(EventKind::kExit, 2);
  const ArtifactStatistics& statistics = recording.statistics;
  CHECK(statistics.events() == 4);
  CHECK(statistics.of_kind(EventKind::kMalloc) == 1);
  CHECK(statistics.of_kind(EventKind::kFree) == 0);
  CHECK(statistics.first_timestamp_ns() == 101);
  CHECK(statistics.last_timestamp_ns() == 104);
  const auto processes = statistics.processes();
  REQUIRE(processes.size() == 2);
  CHECK(processes.at(1).events == 2);
  CHECK(processes.at(1).execs == 1);
  CHECK(processes.at(2).forks == 1);
  CHECK(processes.at(2).exits == 1);
}

TEST_CASE("live memory follows malloc, realloc and free") {
  Recording recording;
  recording.add(EventKind::kMalloc, 1, 16, 100)
      .add(EventKind::kCalloc, 1, 32, 50)
      .add(EventKind::kRealloc, 1, 64, 200, 16)
      .add(EventKind::kFree, 1, 32);
  const HeapStatistics heap = recording.statistics.heap();
  CHECK(heap.allocations == 3);
  CHECK(heap.allocated_bytes == 350);
  CHECK(heap.live_blocks == 1);
  CHECK(heap.live_bytes == 200);
  CHECK(recording.statistics.peak_live_bytes() == 250);
  CHECK(recording.statistics.unknown_frees() == 0);
}

TEST_CASE("a free of a block that the process did not allocate is counted apart") {
  Recording recording;
  recording.add(EventKind::kMalloc, 1, 16, 100).add(EventKind::kFork, 2).add(EventKind::kFree, 2, 16);
  CHECK(recording.statistics.unknown_frees() == 1);
  CHECK(recording.statistics.heap().live_bytes == 100);
}

TEST_CASE("exec forgets the old heap; exit and a new owner of the number keep what was not freed") {
  Recording recording;
  recording.add(EventKind::kMalloc, 1, 16, 100)
      .add(EventKind::kExec, 1)
      .add(EventKind::kMalloc, 1, 16, 7)
      .add(EventKind::kExit, 1);
  CHECK(recording.statistics.heap().live_bytes == 7);
  recording.add(EventKind::kFork, 1).add(EventKind::kMalloc, 1, 16, 1);
  CHECK(recording.statistics.heap().live_bytes == 8);
  CHECK(recording.statistics.heap().live_blocks == 2);
  CHECK(recording.statistics.peak_live_bytes() == 100);
}

TEST_CASE("absurd sizes do not wrap around") {
  Recording recording;
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  recording.add(EventKind::kMalloc, 1, 16, kLargest).add(EventKind::kMalloc, 1, 32, kLargest);
  CHECK(recording.statistics.heap().allocated_bytes == kLargest);
  CHECK(recording.statistics.peak_live_bytes() == kLargest);
}

TEST_CASE("nothing recorded is all zeros") {
  const ArtifactStatistics statistics;
  CHECK(statistics.first_timestamp_ns() == 0);
  CHECK(statistics.last_timestamp_ns() == 0);
  CHECK(statistics.heap().live_blocks == 0);
  CHECK(statistics.processes().empty());
}

}  // namespace
