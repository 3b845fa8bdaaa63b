// Programs that are started in every way there is, from a cleaned environment, under the built shim.
#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <vector>

#include <doctest/doctest.h>

#include "tests/preload/segment_harness.h"

namespace {

using memtrack::test::parse_records;
using memtrack::test::RingStream;
using memtrack::test::RunResult;
using memtrack::test::SeenNotice;
using memtrack::test::SegmentHarness;

const std::string kShim = MEMTRACK_SHIM_PATH;
const std::string kFixture = std::string(MEMTRACK_FIXTURE_DIR) + "/fixture_exec_ways";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t children_recorded(const SegmentHarness& harness) {
  std::size_t count = 0;
  for (const RingStream& stream : harness.streams()) {
    for (const auto& record : parse_records(stream.slots)) {
      count += record.first.kind == MT_MALLOC && record.first.value == 7007 ? 1 : 0;
    }
  }
  return count;
}

/// Runs one way; the lines that the child printed, without the session's own.
std::vector<std::string> check_way(SegmentHarness& harness, const std::string& way, const std::string& count = "1") {
  INFO("way ", way);
  const RunResult result = harness.run({kFixture, way, count}, kShim);
  INFO("output: ", result.output);
  CHECK(result.wait_status == 0);
  for (const std::uint64_t lost : harness.lost()) CHECK(lost == 0);
  CHECK(harness.segment().notices_lost == 0);
  std::vector<std::string> lines = lines_of(result.output);
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("MEMTRACK_SEGMENT=/dev/shm/"); });
  return lines;
}

void check_noticed(const SegmentHarness& harness, mt_notice_kind kind) {
  const auto& notices = harness.notices_seen();
  const auto found = std::find_if(notices.begin(), notices.end(), [&](const SeenNotice& notice) {
    return notice.kind == kind && notice.path == kFixture && notice.flags == 0;
  });
  REQUIRE(found != notices.end());
  const auto& images = harness.images_seen();
  CHECK(std::any_of(images.begin(), images.end(), [&](const mt_image& image) {
    return image.origin == MT_ORIGIN_EXEC && image.pid == found->pid && image.ticks >= found->ticks;
  }));
}

}  // namespace

TEST_CASE("a child that its parent starts with a cleaned environment is recorded, and has that plus ours (F7, F6)") {
  const std::string preload = "LD_PRELOAD=" + kShim;
  const std::string path = "PATH=" + std::string(MEMTRACK_FIXTURE_DIR);
  using Lines = std::vector<std::string>;
  const std::map<std::string, Lines> ways{
      {"execve", {"OWN=1", preload, "end"}},       {"execve_null", {preload, "end"}},
      {"vfork", {"OWN=1", preload, "end"}},        {"execv", {path, preload, "end"}},
      {"execvp", {path, preload, "end"}},          {"execvpe", {"OWN=1", preload, "end"}},
      {"execl", {path, preload, "end"}},           {"execlp", {path, preload, "end"}},
      {"execle", {"OWN=1", preload, "end"}},       {"fexecve", {"OWN=1", preload, "end"}},
      {"execveat", {"OWN=1", preload, "end"}},     {"posix_spawn", {"OWN=1", preload, "end"}},
      {"posix_spawnp", {"OWN=1", preload, "end"}}, {"execve_preload", {"OWN=1", preload + ":libm.so.6", "end"}},
  };
  for (const auto& [way, expected] : ways) {
    SegmentHarness harness({});
    CHECK(check_way(harness, way) == expected);
    CHECK(children_recorded(harness) == 1);
    check_noticed(harness, way.starts_with("posix") ? MT_NOTICE_SPAWN : MT_NOTICE_EXEC);
  }
}

TEST_CASE("an environment of 20,000 variables is completed in fork and vfork children, time and again (F7)") {
  for (const char* way : {"big", "vfork_big"}) {
    SegmentHarness harness({});
    CHECK(check_way(harness, way, "10").size() == 20);
    CHECK(children_recorded(harness) == 10);
  }
}

TEST_CASE("what system and popen run from a cleaned environment is recorded, their shell as well (F7)") {
  for (const char* way : {"system", "popen"}) {
    SegmentHarness harness({});
    const auto lines = check_way(harness, way, "3");
    CHECK(std::count(lines.begin(), lines.end(), "end") == 3);
    CHECK(children_recorded(harness) == 3);
    CHECK(harness.images_seen().size() >= 1 + 3 * 2);
    const auto& notices = harness.notices_seen();
    CHECK(std::count_if(notices.begin(), notices.end(), [](const SeenNotice& notice) {
            return notice.kind == MT_NOTICE_SHELL && notice.path == "/bin/sh" && notice.pid == 0;
          }) == 3);
  }
}

TEST_CASE("a child with an empty session in its environment is left out, and the notice says so (F20)") {
  SegmentHarness harness({});
  CHECK(check_way(harness, "execve_out") == std::vector<std::string>{"OWN=1", "MEMTRACK_SEGMENT=", "end"});
  CHECK(children_recorded(harness) == 0);
  REQUIRE(harness.notices_seen().size() == 1);
  CHECK(harness.notices_seen()[0].flags == MT_NOTICE_OTHER_SESSION);
}

TEST_CASE("a program that can't be started fails with the real errno, and leaves no notice (F7)") {
  SegmentHarness harness({});
  CHECK(harness.run({kFixture, "failures"}, kShim).wait_status == 0);
  int open = 0;
  for (const SeenNotice& notice : harness.notices_seen()) {
    open += notice.kind == MT_NOTICE_EXEC ? 1 : notice.kind == MT_NOTICE_EXEC_FAILED ? -1 : 0;
  }
  CHECK(open == 0);
  CHECK(harness.run({kFixture, "failures"}, "").wait_status == 0);  // the same without the shim
}
