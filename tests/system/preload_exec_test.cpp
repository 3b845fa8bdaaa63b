// Programs that are started from a cleaned environment stay in the recording.
#include <doctest/doctest.h>

#include "tests/support/temporary_directory.h"
#include "tests/system/recording.h"

namespace {

using namespace memtrack;
using namespace memtrack::test;

TEST_CASE("what env -i starts is recorded, and sees an environment with nothing but ours (F7)") {
  const TemporaryDirectory folder;
  const Recording recording = record(folder.path(), {"env", "-i", fixture("exec_ways"), "child"});
  CHECK(recording.outcome.code == 0);
  check_recording(recording);
  CHECK(count_events(recording.events, EventKind::kMalloc, 7007) == 1);
  CHECK(count_events(recording.events, EventKind::kExec) == 2);
  for (const std::string& line : lines_of(recording.outcome.out)) {
    INFO(line);
    CHECK((line.starts_with("LD_PRELOAD=") || line.starts_with("MEMTRACK_SEGMENT=") || line == "end"));
  }
}

TEST_CASE(
    "children that come by system, popen, vfork and posix_spawn from a cleaned environment are recorded (F6, F7)") {
  for (const char* way : {"system", "popen", "vfork_big", "posix_spawn", "execl", "execve"}) {
    INFO(way);
    const TemporaryDirectory folder;
    const Recording recording = record(folder.path(), {fixture("exec_ways"), way, "30"});
    CHECK(recording.outcome.code == 0);
    check_recording(recording);
    CHECK(count_events(recording.events, EventKind::kMalloc, 7007) == 30);
  }
}

TEST_CASE("a tracker inside a tracked shell records its own target, the outer one all the rest (F20)") {
  const TemporaryDirectory outer_folder;
  const TemporaryDirectory inner_folder;
  const Recording outer =
      record(outer_folder.path(), {"sh", "-c", "\"$@\"; exit $?", "sh", program(), "record", "-o",
                                   inner_folder.path().string(), "--", fixture("exec_ways"), "child"});
  INFO(outer.outcome.err);
  CHECK(outer.outcome.code == 0);
  check_recording(outer);
  CHECK(count_events(outer.events, EventKind::kMalloc, 7007) == 0);
  const auto inner = artifacts_in(inner_folder.path());
  REQUIRE(inner.size() == 1);
  CHECK(count_events(read_events(inner.front()), EventKind::kMalloc, 7007) == 1);
}

}  // namespace
