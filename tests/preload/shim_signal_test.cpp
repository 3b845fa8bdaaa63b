// Signal handlers that record while they interrupt records, under the built shim.
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/preload/segment_harness.h"

namespace {

using namespace memtrack::test;

const std::string kStorm = std::string(MEMTRACK_FIXTURE_DIR) + "/fixture_signal_storm";

struct Counts {
  std::map<std::string, std::uint64_t> done;      ///< as the program says
  std::map<std::string, std::uint64_t> recorded;  ///< of the same kinds
  std::uint64_t lost = 0;                         ///< as nested
};

Counts storm(SegmentHarness& harness, const std::vector<std::string>& arguments) {
  std::vector<std::string> command{kStorm};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const RunResult result = harness.run(command, MEMTRACK_SHIM_PATH);
  INFO("output: ", result.output);
  CHECK(result.wait_status == 0);
  Counts counts;
  std::istringstream text(result.output);
  std::string type;
  for (std::uint64_t count = 0; text >> type >> count;) counts.done[type] = count;
  for (const RingStream& stream : harness.streams()) {
    for (const ParsedRecord& record : parse_records(stream.slots)) {
      const std::uint64_t value = record.first.value;
      switch (record.first.kind) {
        case MT_MALLOC:
          counts.recorded["Heap"] += value >= 5001 && value <= 5016 ? 1 : 0;
          break;
        case MT_REALLOC_BEGIN:
          counts.recorded["Moved"] += value >= 9001 && value <= 9016 ? 1 : 0;
          break;
        case MT_MMAP:
          counts.recorded["Mapped"] += value == 5 * 4096 ? 1 : 0;
          counts.recorded["Handled"] += value == 3 * 4096 ? 1 : 0;
          break;
        case MT_MUNMAP_BEGIN:
          counts.recorded["Unmapped"] += value == 5 * 4096 ? 1 : 0;
          counts.recorded["HandledUnmapped"] += value == 3 * 4096 ? 1 : 0;
          break;
        default:
          break;
      }
    }
  }
  const auto lost = harness.lost();
  for (std::size_t cause = 0; cause < lost.size(); ++cause) {
    if (cause != MT_LOSS_SIGNAL_NESTING) CHECK(lost[cause] == 0);
  }
  counts.lost = lost[MT_LOSS_SIGNAL_NESTING];
  CHECK(counts.done["Handled"] > 100);
  return counts;
}

}  // namespace

TEST_CASE("handlers that record at every point of other hooks lose nothing") {
  SegmentHarness harness({.ring_slots = 65536});
  Counts counts = storm(harness, {"stay", "20000", "2"});
  CHECK(counts.lost == 0);
  CHECK(counts.recorded["Heap"] == counts.done["Heap"]);
  CHECK(counts.recorded["Moved"] == counts.done["Heap"]);
  CHECK(counts.recorded["Mapped"] == counts.done["Mapped"]);
  CHECK(counts.recorded["Unmapped"] == counts.done["Mapped"]);
  CHECK(counts.recorded["Handled"] == counts.done["Handled"]);
  CHECK(counts.recorded["HandledUnmapped"] == counts.done["Handled"]);
}

TEST_CASE("handlers that record into rings of one page lose nothing that is not counted") {
  SegmentHarness harness({.ring_slots = 128});
  Counts counts = storm(harness, {"stay", "20000", "2"});
  CHECK(counts.recorded["Heap"] == counts.done["Heap"]);
  CHECK(counts.recorded["Moved"] == counts.done["Heap"]);
  CHECK(counts.recorded["Mapped"] == counts.done["Mapped"]);
  CHECK(counts.recorded["Unmapped"] == counts.done["Mapped"]);
  CHECK(counts.recorded["Handled"] + counts.recorded["HandledUnmapped"] + counts.lost == 2 * counts.done["Handled"]);
}

TEST_CASE("handlers that leave a hook by siglongjmp leave no ring busy, no call open, and nothing uncounted") {
  SegmentHarness harness({.ring_slots = 65536});
  Counts counts = storm(harness, {"jump", "20000", "2"});
  CHECK(counts.recorded["Heap"] == counts.done["Heap"]);
  CHECK(counts.recorded["Moved"] == counts.done["Heap"]);
  // A jump that comes between a call's record and the program's own count makes one more.
  CHECK(counts.recorded["Mapped"] + counts.lost >= counts.done["Mapped"]);
  CHECK(counts.recorded["Handled"] == counts.done["Handled"]);
  CHECK(counts.recorded["HandledUnmapped"] == counts.done["Handled"]);
  for (const RingStream& stream : harness.streams()) {
    const auto records = parse_records(stream.slots);
    for (std::size_t i = 0; i < records.size(); ++i) {
      const std::uint16_t kind = records[i].first.kind;
      if (kind != MT_MUNMAP_BEGIN && kind != MT_REALLOC_BEGIN) continue;
      REQUIRE(i + 1 < records.size());
      REQUIRE(records[i + 1].first.kind == kind + 1);
    }
  }
  for (std::uint32_t ring = 0; ring < 64; ++ring) CHECK(harness.ring(ring).busy == 0);
}
