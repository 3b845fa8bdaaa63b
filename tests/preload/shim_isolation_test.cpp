// Programs that cut themselves off: without descriptors, in a chroot, in a PID namespace, as another user. The rings
// are small, so that each has to wait for the tracker and must not take it for dead.
#include <string>
#include <sys/wait.h>

#include <doctest/doctest.h>

#include "tests/preload/run_checks.h"

using namespace memtrack::test;

TEST_CASE("a program that closes all, changes its root, its PID namespace or its user goes on being recorded") {
  for (const char* how : {"close", "chroot", "pidns", "both", "uid"}) {
    INFO(how);
    SegmentHarness harness({.ring_slots = 128});
    const RunResult result = harness.run({fixture("isolates"), how, "20000"}, kShim);
    if (WIFEXITED(result.wait_status) && WEXITSTATUS(result.wait_status) == 77) {
      MESSAGE("skipped: ", how, " is not allowed here");
      continue;
    }
    check_ok(result);
    check_nothing_lost(harness);
    std::size_t count = 0;
    for (const RingStream& stream : harness.streams()) {
      for (const ParsedRecord& record : parse_records(stream.slots)) {
        count += record.first.kind == MT_MALLOC && record.first.value == 7007 ? 1 : 0;
      }
    }
    CHECK(count == 20'000);
  }
}
