// Notices: what is in them, and that the table never blocks.
#include "preload/shim_notice.h"

#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "preload/shim_session.h"
#include "tests/preload/segment_harness.h"

namespace {

using memtrack::test::SeenNotice;
using memtrack::test::SegmentHarness;

class Session {
 public:
  Session() : harness({.image_count = 2, .ring_count = 2, .ring_slots = 128}) {
    REQUIRE(shim_session_bind(&harness.segment(), harness.bytes()));
  }
  std::string path_noticed(const shim_program& program) {
    shim_notice_publish(MT_NOTICE_EXEC, 7, 70, 0, &program);
    harness.drain();
    const SeenNotice notice = harness.notices_seen().back();
    CHECK(notice.kind == MT_NOTICE_EXEC);
    CHECK(notice.pid == 7);
    CHECK(notice.ticks == 70);
    CHECK(notice.writer == getpid());
    return notice.path;
  }
  SegmentHarness harness;
};

const shim_program kProgram{.path = "/bin/true", .directory_fd = AT_FDCWD, .search = false};

std::string working_directory() {
  char* const path = getcwd(nullptr, 0);
  std::string copy = path;
  std::free(path);
  return copy;
}

}  // namespace

TEST_CASE("a notice has the absolute path of the program, however it was named") {
  Session session;
  const std::string here = working_directory();
  CHECK(session.path_noticed(kProgram) == "/bin/true");
  CHECK(session.path_noticed({.path = "./x/y", .directory_fd = AT_FDCWD, .search = false}) == here + "/./x/y");
  CHECK(session.path_noticed({.path = "./x", .directory_fd = AT_FDCWD, .search = true}) == here + "/./x");
  const int directory = open("/usr", O_RDONLY | O_DIRECTORY);
  CHECK(session.path_noticed({.path = "x", .directory_fd = directory, .search = false}) == "/usr/x");
  CHECK(session.path_noticed({.path = "", .directory_fd = directory, .search = false}) == "/usr");
  close(directory);
  CHECK(session.path_noticed({.path = "x", .directory_fd = -1, .search = false}) == "x");
}

TEST_CASE("a name is searched for as execvp does") {
  Session session;
  const std::string kept = std::getenv("PATH");
  const auto found = [&](const char* path, const char* name) {
    setenv("PATH", path, 1);
    std::string result = session.path_noticed({.path = name, .directory_fd = AT_FDCWD, .search = true});
    setenv("PATH", kept.c_str(), 1);
    return result;
  };
  CHECK(found("/nonexistent:/bin:/usr/bin", "sh") == "/bin/sh");
  CHECK(found("/bin", "no-such-program") == "no-such-program");
  CHECK(found("", "no-such-program") == "no-such-program");
  CHECK(found(("/" + std::string(4000, 'd') + ":/bin").c_str(), "sh") == "/bin/sh");
}

TEST_CASE("a path that is too long is cut, and its length tells") {
  Session session;
  const std::string path = "/" + std::string(5000, 'x');
  CHECK(session.path_noticed({.path = path.c_str(), .directory_fd = AT_FDCWD, .search = false}) ==
        path.substr(0, MT_NOTICE_PATH_BYTES));
  CHECK(session.harness.segment().notices[0].path_bytes == path.size());
}

TEST_CASE("a full table counts what it could not take, and takes again after the tracker came") {
  Session session;
  for (std::uint32_t i = 0; i < MT_NOTICE_COUNT; ++i) {
    CHECK(shim_notice_publish(MT_NOTICE_SPAWN, 1, i, 0, &kProgram) != nullptr);
  }
  CHECK(shim_notice_publish(MT_NOTICE_SPAWN, 1, 99, 0, &kProgram) == nullptr);
  CHECK(session.harness.segment().notices_lost == 1);
  session.harness.drain();
  CHECK(session.harness.notices_seen().size() == MT_NOTICE_COUNT);
  CHECK(shim_notice_publish(MT_NOTICE_SPAWN, 1, 99, 0, &kProgram) != nullptr);
}

TEST_CASE("a notice that is withdrawn was never there, or is taken back where the tracker has it already") {
  Session session;
  shim_notice_withdraw(shim_notice_publish(MT_NOTICE_EXEC, getpid(), 5, 0, &kProgram), 5);
  session.harness.drain();
  CHECK(session.harness.notices_seen().empty());

  mt_notice* const late = shim_notice_publish(MT_NOTICE_EXEC, getpid(), 6, 0, &kProgram);
  session.harness.drain();
  // Its place has another's notice by now.
  while (late->state == MT_STATE_FREE) shim_notice_publish(MT_NOTICE_EXEC, 1, 7, 0, &kProgram);
  (late == session.harness.segment().notices ? late + 1 : late - 1)->state = MT_STATE_FREE;
  shim_notice_withdraw(late, 6);
  CHECK(MT_NOTICE_STATE(late->state) == MT_STATE_LIVE);
  session.harness.drain();
  const auto& seen = session.harness.notices_seen();
  CHECK(seen.front().kind == MT_NOTICE_EXEC);
  bool taken_back = false;
  for (const SeenNotice& notice : seen) {
    taken_back = taken_back || (notice.kind == MT_NOTICE_EXEC_FAILED && notice.pid == getpid() && notice.ticks == 6);
  }
  CHECK(taken_back);
}

TEST_CASE("threads that publish and withdraw all the time lose nothing that is not counted") {
  Session session;
  constexpr int kThreads = 4;
  constexpr int kEach = 20'000;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < kEach; ++i) {
        const std::uint64_t ticks = static_cast<std::uint64_t>(i * kThreads + thread);
        mt_notice* const notice = shim_notice_publish(MT_NOTICE_EXEC, thread + 1, ticks, 0, &kProgram);
        if (i % 2 == 0) shim_notice_withdraw(notice, ticks);
      }
    });
  }
  std::atomic<bool> done{false};
  std::thread tracker([&] {
    while (!done.load()) session.harness.drain();
    session.harness.drain();
  });
  for (std::thread& thread : threads) thread.join();
  done.store(true);
  tracker.join();
  // Each was taken, counted as lost, or withdrawn: in its place, or by a second notice (which may be lost as well).
  std::size_t stayed = 0;
  for (const SeenNotice& notice : session.harness.notices_seen()) {
    if (notice.kind != MT_NOTICE_EXEC) continue;
    CHECK(notice.path == "/bin/true");
    if ((notice.ticks / kThreads) % 2 == 1) ++stayed;
  }
  CHECK(stayed + session.harness.segment().notices_lost >= kThreads * kEach / 2);
  CHECK(stayed <= kThreads * kEach / 2);
}
