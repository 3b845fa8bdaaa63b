// Programs with an allocator of their own: chained where the hooks see it, named where they don't, never mixed.
#include <algorithm>
#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <vector>

#include <doctest/doctest.h>

#include "tests/preload/run_checks.h"

namespace {

using namespace memtrack::test;

const std::string kLibraries = "/usr/lib/x86_64-linux-gnu/";

/// Of Debian's packages libjemalloc2, libmimalloc2.0 and libtcmalloc-minimal4, what is installed.
std::vector<std::string> installed_allocators() {
  std::vector<std::string> found;
  for (const char* name : {"libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"}) {
    if (std::filesystem::exists(kLibraries + name)) {
      found.push_back(kLibraries + name);
    } else {
      MESSAGE("skipped: ", name, " is not installed");
    }
  }
  return found;
}

std::vector<SeenNotice> bypasses(const SegmentHarness& harness) {
  std::vector<SeenNotice> found;
  for (const SeenNotice& notice : harness.notices_seen()) {
    if (notice.kind == MT_NOTICE_ALLOCATOR) found.push_back(notice);
  }
  return found;
}

}  // namespace

TEST_CASE("an allocator that is preloaded is chained to, and each of the program's calls is one event (F12)") {
  for (const std::string& allocator : installed_allocators()) {
    INFO(allocator);
    check_expected_events("plain_heap", {}, kShim + ":" + allocator);
    check_expected_events("early_heap", {}, kShim + ":" + allocator);
  }
}

TEST_CASE("with two allocators preloaded no block gets to the wrong one (F12)") {
  const auto allocators = installed_allocators();
  for (const std::string& first : allocators) {
    for (const std::string& second : allocators) {
      INFO(first, " ", second);
      if (first != second) check_expected_events("plain_heap", {}, kShim + ":" + first + ":" + second);
    }
  }
}

TEST_CASE("an allocator with an operator new of its own is named, as that does not come by the hooks (F12)") {
  for (const std::string& allocator : installed_allocators()) {
    INFO(allocator);
    SegmentHarness harness({});
    check_ok(harness.run({fixture("new_forms")}, kShim + ":" + allocator));
    REQUIRE(bypasses(harness).size() == 1);
    CHECK(bypasses(harness)[0].flags == MT_BYPASS_NEW);
    CHECK(bypasses(harness)[0].path == allocator);
  }
}

TEST_CASE("a program that brings its own malloc works, and is named (F12)") {
  SegmentHarness harness({});
  const RunResult result = harness.run({fixture("own_malloc")}, kShim);
  check_ok(result);
  CHECK(result.output == "own\n");
  check_nothing_lost(harness);
  REQUIRE(bypasses(harness).size() == 1);
  CHECK(bypasses(harness)[0].flags == MT_BYPASS_MALLOC);
  CHECK(bypasses(harness)[0].path == fixture("own_malloc"));
  CHECK(bypasses(harness)[0].pid == harness.images_seen()[0].pid);
}

TEST_CASE("an allocator in front of the shim wins, and is named (F12)") {
  for (const std::string& allocator : installed_allocators()) {
    SegmentHarness harness({});
    check_ok(harness.run({fixture("plain_heap")}, allocator + ":" + kShim));
    REQUIRE(bypasses(harness).size() == 1);
    CHECK(bypasses(harness)[0].flags == MT_BYPASS_MALLOC);
    CHECK(bypasses(harness)[0].path == allocator);
  }
}

TEST_CASE("an ordinary program has no bypass to tell of") {
  SegmentHarness harness({});
  check_ok(harness.run({fixture("new_forms")}, kShim));
  CHECK(bypasses(harness).empty());
}

TEST_CASE("a program with AddressSanitizer works, is recorded, and still finds its bug (F14)") {
  SegmentHarness harness({});
  const RunResult clean = harness.run({fixture("sanitized")}, kShim);
  check_ok(clean);
  CHECK(clean.output == "x\n");
  std::size_t found = 0;
  for (const RingStream& stream : harness.streams()) {
    for (const ParsedRecord& record : parse_records(stream.slots)) {
      if (record.first.kind == MT_MALLOC && record.first.value == 7007) ++found;
      if (record.first.kind == MT_REALLOC_BEGIN && record.first.value == 8008) ++found;
    }
  }
  // clang links its runtime into the program, in front of the shim.
  REQUIRE(bypasses(harness).size() == 1);
  CHECK(found == (bypasses(harness)[0].flags == MT_BYPASS_MALLOC ? 0 : 2));
  const RunResult buggy = harness.run({"sh", "-c", "\"$1\" bug 2>&1; exit $?", "sh", fixture("sanitized")}, kShim);
  CHECK(WEXITSTATUS(buggy.wait_status) == 1);
  CHECK(buggy.output.find("heap-use-after-free") != std::string::npos);
}

TEST_CASE("blocks from before anything was initialised are moved and freed later (F2)") {
  check_expected_events("early_heap", {});
}
