// Real programs under the built shim, with the harness in place of the tracker.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <vector>

#include <doctest/doctest.h>

#include "tests/preload/run_checks.h"
#include "tests/support/seed.h"

namespace {

using namespace memtrack::test;

void check_possible(const SegmentHarness& harness) {
  for (const mt_image& image : harness.images_seen()) {
    INFO("pid ", image.pid, " origin ", image.origin);
    CHECK(find_impossible(harness.streams(), image) == "");
  }
}

std::map<std::string, std::uint64_t> counts_printed(const std::string& output) {
  std::map<std::string, std::uint64_t> counts;
  std::istringstream text(output);
  std::string type;
  std::uint64_t count = 0;
  while (text >> type >> count) counts[type] = count;
  return counts;
}

/// How often `kind` was recorded with a size from `low` to `high`.
std::uint64_t count_sized(const SegmentHarness& harness, mt_record_kind kind, std::uint64_t low, std::uint64_t high) {
  std::uint64_t count = 0;
  for (const RingStream& stream : harness.streams()) {
    for (const ParsedRecord& record : parse_records(stream.slots)) {
      count += record.first.kind == kind && record.first.value >= low && record.first.value <= high ? 1 : 0;
    }
  }
  return count;
}

}  // namespace

TEST_CASE("each entry point makes exactly its event, failing calls none, and errno stays the real one") {
  check_expected_events("known_calls", {});
  check_expected_events("known_calls", {.ring_slots = 128});
  check_expected_events("known_calls", {.clock = MT_CLOCK_MONOTONIC});
}

TEST_CASE("calls that an allocator makes to itself are no events of the program") {
  check_expected_events("plain_heap", {});
  const std::string both = kShim + ":" + fixture("foreign_allocator.so");
  check_expected_events("plain_heap", {}, both);
  check_expected_events("new_forms", {}, both);
}

TEST_CASE("each form of operator new and delete makes one allocation and one free") {
  check_expected_events("new_forms", {});
}

TEST_CASE("32 threads that hand each other blocks leave a possible history and exact counts (E12)") {
  for (const std::uint32_t ring_slots : {128u, 65536u}) {
    const std::uint64_t seed = memtrack::test::test_seed();
    INFO("seed ", seed);
    SegmentHarness harness({.ring_slots = ring_slots});
    const RunResult result = harness.run({fixture("threads_race"), "32", "5000", std::to_string(seed)}, kShim);
    check_ok(result);
    check_nothing_lost(harness);
    check_possible(harness);
    auto counts = counts_printed(result.output);
    CHECK(count_sized(harness, MT_MALLOC, 2001, 4016) == counts["Malloc"]);
    CHECK(count_sized(harness, MT_ALIGNED_ALLOC, 2001, 4016) == counts["AlignedAlloc"]);
    CHECK(count_sized(harness, MT_REALLOC_BEGIN, 2001, 4016) == counts["Realloc"]);
    CHECK(counts["Malloc"] > 1000);
    CHECK(counts["Realloc"] > 1000);
  }
}

TEST_CASE("a ring that drops counts what it drops: recorded and lost make up all that was done") {
  SegmentHarness harness({.ring_slots = 128, .on_full = MT_ON_FULL_DROP});
  const RunResult result = harness.run({fixture("threads_race"), "4", "20000", "1"}, kShim);
  check_ok(result);
  const auto counts = counts_printed(result.output);
  std::uint64_t done = 0;
  for (const auto& [type, count] : counts) done += count;
  std::uint64_t recorded = 0;
  std::uint64_t begins = 0;
  std::uint64_t ends = 0;
  for (const RingStream& stream : harness.streams()) {
    for (const ParsedRecord& record : parse_records(stream.slots)) {
      begins += record.first.kind == MT_REALLOC_BEGIN ? 1 : 0;
      ends += record.first.kind == MT_REALLOC_END ? 1 : 0;
      recorded += record.first.kind != MT_REALLOC_END && record.first.kind != MT_MAPPING ? 1 : 0;
    }
  }
  const auto lost = harness.lost();
  CHECK(begins == ends);
  CHECK(recorded + lost[MT_LOSS_RING_FULL] >= done);
  CHECK(recorded + lost[MT_LOSS_RING_FULL] <= done + 200);  // the C library's own, of starting threads and of printf
}

TEST_CASE("every process of a fork tree has its image, its parent and its own events") {
  SegmentHarness harness({.ring_count = 256});
  const RunResult result = harness.run({fixture("fork_tree"), "3", "50", "100"}, kShim);
  check_ok(result);
  check_nothing_lost(harness);
  check_possible(harness);
  std::map<std::int32_t, std::pair<std::int32_t, std::uint64_t>> expected;
  std::istringstream output(result.output);
  std::int32_t pid = 0;
  std::int32_t parent = 0;
  std::uint64_t allocations = 0;
  while (output >> pid >> parent >> allocations) expected[pid] = {parent, allocations};
  REQUIRE(expected.size() == 151);
  REQUIRE(harness.images_seen().size() == 151);
  std::map<std::int32_t, std::uint64_t> mallocs;
  for (const RingStream& stream : harness.streams()) {
    for (const ParsedRecord& record : parse_records(stream.slots)) {
      mallocs[stream.image.pid] += record.first.kind == MT_MALLOC && record.first.value == 3003 ? 1 : 0;
      CHECK(record.first.ticks >= stream.image.ticks);
    }
  }
  for (const mt_image& image : harness.images_seen()) {
    REQUIRE(expected.contains(image.pid));
    CHECK(image.parent_pid == expected[image.pid].first);
    CHECK(mallocs[image.pid] == expected[image.pid].second);
    CHECK(image.uid == getuid());
    CHECK((image.origin == MT_ORIGIN_EXEC) == (&image == harness.images_seen().data()));
  }
}

TEST_CASE("a process that forks while its threads allocate loses nothing and hangs nowhere") {
  SegmentHarness harness({.ring_slots = 16384});
  const RunResult result = harness.run({fixture("fork_storm"), "8", "100"}, kShim);
  check_ok(result);
  check_nothing_lost(harness);
  check_possible(harness);
  CHECK(harness.images_seen().size() == 101);
  CHECK(count_sized(harness, MT_MALLOC, 4004, 4004) == 100);
}

TEST_CASE("children of vfork and posix_spawn leave their parent's recording as it was") {
  SegmentHarness harness({});
  const RunResult result = harness.run({fixture("spawn_children"), "/bin/true", "20"}, kShim);
  check_ok(result);
  check_nothing_lost(harness);
  check_possible(harness);
  CHECK(count_sized(harness, MT_MALLOC, 5005, 5005) == 20);
  REQUIRE(harness.images_seen().size() == 21);
  const std::int32_t parent = harness.images_seen()[0].pid;
  for (std::size_t i = 1; i < 21; ++i) {
    CHECK(harness.images_seen()[i].origin == MT_ORIGIN_EXEC);
    CHECK(harness.images_seen()[i].parent_pid == parent);
  }
}

TEST_CASE("an allocation right before the end of a process is recorded, however it ends") {
  for (const char* how : {"exit", "_exit", "abort", "kill"}) {
    for (int i = 0; i < 25; ++i) {
      SegmentHarness harness({});
      const RunResult result = harness.run({fixture("exits"), how}, kShim);
      INFO(how);
      CHECK(WIFSIGNALED(result.wait_status) == (how[0] == 'a' || how[0] == 'k'));
      REQUIRE(result.output.starts_with("0x"));
      const std::uint64_t address = std::stoull(result.output, nullptr, 16);
      bool found = false;
      for (const RingStream& stream : harness.streams()) {
        for (const mt_record& record : stream.slots)
          found = found || (record.kind == MT_MALLOC && record.addr == address);
      }
      CHECK(found);
    }
  }
}

TEST_CASE("threads that come and go share few rings, and what their destructors free is in them") {
  SegmentHarness harness({.ring_count = 12});
  const RunResult result = harness.run({fixture("thread_churn"), "1000", "8", "10"}, kShim);
  check_ok(result);
  check_nothing_lost(harness);
  check_possible(harness);
  CHECK(count_sized(harness, MT_MALLOC, 2002, 2002) == 10'000);
  CHECK(count_sized(harness, MT_MALLOC, 2003, 2003) == 1'000);
  CHECK(harness.streams().size() >= 1001);  // more where a ring was borrowed meanwhile
}

TEST_CASE("threads that end by the bare system call leave their rings to be found") {
  SegmentHarness harness({.ring_count = 12});
  check_ok(harness.run({fixture("raw_exits"), "500"}, kShim));
  check_nothing_lost(harness);
  CHECK(count_sized(harness, MT_MALLOC, 2002, 2002) == 500);
}

TEST_CASE("more live threads than rings that wait for each other all get on, and all is recorded") {
  SegmentHarness harness({.ring_count = 16});
  check_ok(harness.run({fixture("many_threads"), "100"}, kShim));
  check_nothing_lost(harness);
  check_possible(harness);
  CHECK(count_sized(harness, MT_MALLOC, 2002, 2002) == 100);
  CHECK(count_sized(harness, MT_MALLOC, 2003, 2003) == 100);
}

TEST_CASE("a thread that a library's constructor starts during dlopen allocates at once, and nothing hangs (F4)") {
  SegmentHarness harness({});
  for (int i = 0; i < 100; ++i) check_ok(harness.run({fixture("dlopen_library"), fixture("eager_library.so")}, kShim));
  check_nothing_lost(harness);
  CHECK(count_sized(harness, MT_MALLOC, 6006, 6006) == 100 * 3 * 11);
}

TEST_CASE("the loader's tracing passes through the shim") {
  SegmentHarness harness({});
  const RunResult traced = harness.run({"env", "LD_TRACE_LOADED_OBJECTS=1", fixture("plain_heap")}, kShim);
  check_ok(traced);
  CHECK(traced.output.find("libc.so.6 => ") != std::string::npos);
  const RunResult listed = harness.run({"ldd", fixture("plain_heap")}, kShim);
  check_ok(listed);
  CHECK(listed.output.find("libc.so.6 => ") != std::string::npos);
}

TEST_CASE("loading the shim as a library changes nothing (F3)") {
  SegmentHarness harness({});
  const RunResult result = harness.run({fixture("dlopen_library"), kShim}, kShim);
  check_ok(result);
  check_nothing_lost(harness);
  CHECK(count_sized(harness, MT_MALLOC, 6006, 6006) == 3);

  SegmentHarness unused({});
  const RunResult plain = unused.run({fixture("dlopen_library"), kShim}, "");
  check_ok(plain);
}

TEST_CASE("the executable mappings of a program are the first records of its image") {
  SegmentHarness harness({});
  check_ok(harness.run({fixture("exits"), "exit"}, kShim));
  REQUIRE(harness.streams().size() == 1);
  std::set<std::string> paths;
  bool allocated = false;
  for (const ParsedRecord& record : parse_records(harness.streams()[0].slots)) {
    allocated = allocated || record.first.kind != MT_MAPPING;
    if (record.first.kind != MT_MAPPING) continue;
    CHECK_FALSE(allocated);
    paths.insert(record.path);
    CHECK(record.path.front() == '/');
    CHECK(record.first.addr % 4096 == 0);
    CHECK(record.first.value > 0);
    CHECK(record.mapping.ino != 0);
  }
  CHECK(paths.contains(fixture("exits")));
  CHECK(paths.contains(kShim));
  CHECK(paths.size() >= 4);  // and the C library and the loader
}

TEST_CASE("while recording is switched off there are process events and mappings only") {
  SegmentHarness harness({.enabled = false});
  check_ok(harness.run({fixture("fork_tree"), "1", "5", "100"}, kShim));
  check_nothing_lost(harness);
  CHECK(harness.images_seen().size() == 6);
  for (const RingStream& stream : harness.streams()) {
    for (const ParsedRecord& record : parse_records(stream.slots)) CHECK(record.first.kind == MT_MAPPING);
  }
}
