// Programs that never attach, by what the shim and the kernel tell.
#include "preload/untracked_programs.h"

#include <filesystem>
#include <unistd.h>

#include <doctest/doctest.h>

#include "pipeline/process/proc_maps.h"
#include "tests/preload/fake_capture.h"

using namespace memtrack;
using namespace memtrack::test;
using preload::UntrackedPrograms;

namespace {

const std::string kOtherUser = "it ran as another user, who must not open the segment";

struct Board {
  FakeSegment segment{4, 4, 128};
  UntrackedPrograms untracked{segment.view()};

  mt_notice& put(mt_notice_kind kind, std::int32_t pid, std::uint64_t ticks, const std::string& path,
                 std::uint32_t uid = ::geteuid() + 1, std::uint32_t flags = 0) {
    std::size_t at = 0;
    while (segment.view().header->notices[at].state != MT_STATE_FREE) ++at;
    mt_notice& notice = segment.view().header->notices[at];
    notice.kind = kind;
    notice.writer = 1;
    notice.pid = pid;
    notice.ticks = ticks;
    notice.uid = uid;
    notice.flags = flags;
    notice.path_bytes = static_cast<std::uint32_t>(path.size());
    path.copy(notice.path, MT_NOTICE_PATH_BYTES);
    notice.state = MT_STATE_LIVE | static_cast<std::uint32_t>(ticks) << 8;
    return notice;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Board, "a program that attaches is not named, whichever of notice and image comes first (F7)") {
  const mt_notice& before = put(MT_NOTICE_EXEC, 10, 100, "/bin/true");
  CHECK(untracked.has_news());
  untracked.collect(0);
  CHECK(before.state == MT_STATE_FREE);
  CHECK_FALSE(untracked.has_news());
  untracked.answer(10, 110);
  untracked.answer(11, 210);
  put(MT_NOTICE_SPAWN, 11, 200, "/bin/true");
  untracked.collect(1);
  CHECK(untracked.notes().empty());
}

TEST_CASE_FIXTURE(Board, "programs that never attach are named once each, those with most processes first (F7, F9)") {
  put(MT_NOTICE_EXEC, 10, 100, "/bin/true");
  for (std::int32_t pid = 20; pid < 23; ++pid) put(MT_NOTICE_SPAWN, pid, 200, "/bin/sh");
  put(MT_NOTICE_EXEC, 30, 300, "/bin/ls", ::geteuid(), MT_NOTICE_UNREACHABLE);
  untracked.answer(10, 99);  // the program before
  CHECK(untracked.notes() ==
        Lines{"3 processes of /bin/sh were not tracked: " + kOtherUser,
              "a process of /bin/ls was not tracked: it can't read the shim from where it runs (chroot or rights)",
              "a process of /bin/true was not tracked: " + kOtherUser});
}

TEST_CASE_FIXTURE(Board, "an exec that failed, or was withdrawn while it was read, never was") {
  put(MT_NOTICE_EXEC, 10, 100, "/bin/true");
  untracked.collect(0);
  put(MT_NOTICE_EXEC_FAILED, 10, 100, "");
  put(MT_NOTICE_EXEC, 11, 100, "/bin/true").state = MT_STATE_FREE;
  CHECK(untracked.notes().empty());
}

TEST_CASE_FIXTURE(Board, "a start for which no reason shows is named only after long patience") {
  put(MT_NOTICE_EXEC, 10, 100, "/bin/true", ::geteuid());
  untracked.collect(0);
  SUBCASE("the capture ends at once") {
    CHECK(untracked.notes().empty());
  }
  SUBCASE("the capture goes on") {
    untracked.collect(UntrackedPrograms::kPatienceNs + 1);
    CHECK(untracked.notes() == Lines{"a process of /bin/true was not tracked: it ended before it had loaded the shim"});
  }
}

TEST_CASE_FIXTURE(Board,
                  "however many programs there are, the notes are few and nothing in them is a control character") {
  for (std::int32_t i = 0; i < 10'000; ++i) {
    put(MT_NOTICE_EXEC, i + 10, 100, "/x\n\x1b" + std::to_string(i));
    untracked.collect(0);
  }
  segment.view().header->notices_lost = 7;
  const auto notes = untracked.notes();
  REQUIRE(notes.size() == UntrackedPrograms::kMaxNotes + 2);
  CHECK(notes[0].find("/x??") != std::string::npos);
  CHECK(notes[UntrackedPrograms::kMaxNotes] == "9988 processes of other programs were not tracked either");
}

TEST_CASE_FIXTURE(Board, "an allocator that bypasses the shim is named with its processes (F12)") {
  put(MT_NOTICE_ALLOCATOR, 10, 100, "/opt/server", ::geteuid(), MT_BYPASS_MALLOC);
  put(MT_NOTICE_ALLOCATOR, 11, 100, "/opt/server", ::geteuid(), MT_BYPASS_MALLOC);
  put(MT_NOTICE_ALLOCATOR, 12, 100, "/opt/libnew.so", ::geteuid(), MT_BYPASS_NEW);
  const auto notes = untracked.notes();
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].starts_with("a process allocates by functions in /opt/libnew.so that bypass the shim: its operator"));
  CHECK(notes[1].starts_with("2 processes allocate by functions in /opt/server that bypass the shim: of its malloc"));
}

TEST_CASE_FIXTURE(Board, "however many allocators bypass the shim, none is left out of the count") {
  for (std::int32_t i = 0; i < 20; ++i) {
    put(MT_NOTICE_ALLOCATOR, i + 10, 100, "/opt/" + std::to_string(i), ::geteuid(), MT_BYPASS_MALLOC);
    untracked.collect(0);
  }
  const auto notes = untracked.notes();
  REQUIRE(notes.size() == UntrackedPrograms::kMaxNotes + 1);
  CHECK(notes.back() == "8 times more a process allocates by functions in other files that bypass the shim");
}

TEST_CASE_FIXTURE(Board, "nonsense in a notice names nothing and harms nothing") {
  put(MT_NOTICE_EXEC, 10, 100, "/bin/true").kind = 77;
  put(MT_NOTICE_EXEC, 11, 100, std::string(200, 'a')).path_bytes = UINT32_MAX;
  const auto notes = untracked.notes();
  REQUIRE(notes.size() == 1);
  CHECK(notes.front().find("...") != std::string::npos);
}

TEST_CASE("processes are found by what their environment says, whole entries only") {
  const auto self = pipeline::read_process_status(::getpid());
  REQUIRE(self);
  std::string path = "PATH=";
  path += ::getenv("PATH");
  const auto found = pipeline::find_processes_with(path);
  CHECK(std::find(found.begin(), found.end(), ::getpid()) != found.end());
  path.pop_back();
  const auto cut = pipeline::find_processes_with(path);
  CHECK(std::find(cut.begin(), cut.end(), ::getpid()) == cut.end());
  CHECK(pipeline::find_processes_with("NO_SUCH_VARIABLE=x").empty());
}
