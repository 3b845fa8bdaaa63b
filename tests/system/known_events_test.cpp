// Programs that know what they do: the artifact holds exactly that.
#include <algorithm>
#include <map>
#include <sstream>

#include <doctest/doctest.h>

#include "tests/support/temporary_directory.h"
#include "tests/system/recording.h"

namespace {

using namespace memtrack;
using namespace memtrack::test;

bool is_known(EventKind kind) {
  return is_allocation(kind) || kind == EventKind::kFree || kind == EventKind::kMmap || kind == EventKind::kMunmap ||
         kind == EventKind::kBrk;
}

// In the form of tests/system/fixtures/expected_events.h.
std::string line_of(const Event& event) {
  std::ostringstream line;
  line << to_string(event.kind) << "\t0x" << std::hex << event.addr << std::dec << '\t';
  if (event.kind == EventKind::kFree) {
    line << '-';
  } else {
    line << event.alloc.size;
  }
  if (event.has(Event::kHasOldAddr)) line << "\t0x" << std::hex << event.alloc.old_addr;
  return line.str();
}

std::vector<std::string> known_lines(const Recording& recording) {
  std::vector<std::string> lines;
  for (const Event& event : recording.events.events()) {
    if (event.tid == recording.root_pid && is_known(event.kind)) lines.push_back(line_of(event));
  }
  return lines;
}

// The recorded lines from the first that is expected up to as many as are expected.
void check_exactly(const Recording& recording) {
  const std::vector<std::string> expected = lines_of(recording.outcome.out);
  REQUIRE_FALSE(expected.empty());
  const std::vector<std::string> recorded = known_lines(recording);
  const auto begin = std::ranges::find(recorded, expected.front());
  REQUIRE(begin != recorded.end());
  REQUIRE(static_cast<std::size_t>(recorded.end() - begin) >= expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("expected event ", i);
    CHECK(begin[static_cast<std::ptrdiff_t>(i)] == expected[i]);
  }
}

TEST_CASE(
    "every entry point, failing calls, realloc's cases, mappings and the break give exactly their events (F13, E13, "
    "E14)") {
  const TemporaryDirectory folder;
  const Recording recording = record(folder.path(), {fixture("known_calls")});
  INFO(recording.outcome.err);
  REQUIRE(recording.outcome.code == 0);
  check_recording(recording);
  check_exactly(recording);
}

TEST_CASE("every form of operator new and delete gives one allocation and one free (F15)") {
  const TemporaryDirectory folder;
  const Recording recording = record(folder.path(), {fixture("new_forms")});
  REQUIRE(recording.outcome.code == 0);
  check_recording(recording);
  check_exactly(recording);
}

TEST_CASE("the last allocation of a program that ends in any way is in the artifact (D9)") {
  for (const char* how : {"exit", "_exit", "abort", "kill"}) {
    INFO(how);
    const TemporaryDirectory folder;
    const Recording recording = record(folder.path(), {fixture("exits"), how});
    check_recording(recording);
    CHECK(count_events(recording.events, EventKind::kMalloc, 4242) == 1);
  }
}

TEST_CASE("threads that race for the same addresses leave a possible history and every event (E12)") {
  const TemporaryDirectory folder;
  const Recording recording = record(folder.path(), {fixture("threads_race"), "8", "20000"});
  REQUIRE(recording.outcome.code == 0);
  check_recording(recording);
  for (const std::string& line : lines_of(recording.outcome.out)) {
    const std::size_t tab = line.find('\t');
    const EventKind kind = event_kind(line.substr(0, tab)).value();
    if (kind == EventKind::kFree) continue;  // by address, not by size: the history check has them
    std::uint64_t count = 0;
    for (std::uint64_t i = 1; i <= 16; ++i) {
      count += count_events(recording.events, kind, 2000 + i) + count_events(recording.events, kind, 4000 + i);
    }
    INFO(line);
    CHECK(count == std::stoull(line.substr(tab + 1)));
  }
}

TEST_CASE("short-lived threads are all recorded to their last destructor") {
  const TemporaryDirectory folder;
  const Recording recording = record(folder.path(), {fixture("thread_churn"), "500", "8", "10"});
  REQUIRE(recording.outcome.code == 0);
  check_recording(recording);
  CHECK(count_events(recording.events, EventKind::kMalloc, 2002) == 5000);
  CHECK(count_events(recording.events, EventKind::kMalloc, 2003) == 500);
}

TEST_CASE("every process of a tree has its own events under its own number (E1)") {
  const TemporaryDirectory folder;
  const Recording recording = record(folder.path(), {fixture("fork_tree"), "3", "12", "100"});
  REQUIRE(recording.outcome.code == 0);
  check_recording(recording);
  std::map<std::int64_t, std::uint64_t> allocations;
  std::map<std::int64_t, std::int64_t> parents;
  for (const Event& event : recording.events.events()) {
    if (event.kind == EventKind::kMalloc && event.alloc.size == 3003) ++allocations[event.pid];
    if (event.kind == EventKind::kFork) parents[event.pid] = event.fork.parent_pid;
  }
  const auto reports = lines_of(recording.outcome.out);
  CHECK(reports.size() == 37);
  CHECK(parents.size() == 36);
  for (const std::string& report : reports) {
    INFO(report);
    std::int64_t pid = 0, parent = 0;
    std::uint64_t count = 0;
    std::istringstream(report) >> pid >> parent >> count;
    CHECK(allocations[pid] == count);
    if (pid != recording.root_pid) CHECK(parents[pid] == parent);
  }
}

TEST_CASE("children of posix_spawn and vfork are recorded, and their parent is unharmed (F6)") {
  const TemporaryDirectory folder;
  const Recording recording = record(folder.path(), {fixture("spawn_children"), "/bin/true", "20"});
  REQUIRE(recording.outcome.code == 0);
  check_recording(recording);
  CHECK(count_events(recording.events, EventKind::kMalloc, 5005) == 20);
  CHECK(count_events(recording.events, EventKind::kFork) == 20);
  CHECK(count_events(recording.events, EventKind::kExec) == 21);
}

TEST_CASE("forks out of a program whose other threads allocate do no harm (F5)") {
  const TemporaryDirectory folder;
  const Recording recording = record(folder.path(), {fixture("fork_storm"), "4", "100"});
  REQUIRE(recording.outcome.code == 0);
  check_recording(recording);
  CHECK(count_events(recording.events, EventKind::kMalloc, 4004) == 100);
}

TEST_CASE("resident memory and executable mappings are in the artifact") {
  const TemporaryDirectory folder;
  const Recording recording =
      record(folder.path(), {"ls", "-lR", "/usr/share"}, {"--set", "source.preload.rss_interval=1ms"});
  check_recording(recording);
  CHECK(count_events(recording.events, EventKind::kRss) > 0);
  bool libc_mapped = false;
  for (const Event& event : recording.events.events()) {
    if (event.kind != EventKind::kMapping) continue;
    CHECK(event.mapping.len > 0);
    libc_mapped = libc_mapped || recording.events.path(event).find("libc") != std::string_view::npos;
  }
  CHECK(libc_mapped);
}

TEST_CASE("with tracking off there are process events only (G4)") {
  const TemporaryDirectory folder;
  const Recording recording = record(folder.path(), {"ls", "/"}, {"--set", "source.preload.start_enabled=false"});
  CHECK(recording.outcome.code == 0);
  check_recording(recording);
  for (const Event& event : recording.events.events())
    CHECK_FALSE((is_allocation(event.kind) || event.kind == EventKind::kFree));
}

}  // namespace
