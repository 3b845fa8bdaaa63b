// The thread that sleeps on processes.
#include "preload/exit_watcher.h"

#include <csignal>
#include <semaphore>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

using memtrack::preload::ExitWatcher;

namespace {

/// A child that lives until it is told, and its pidfd.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ == 0) {
      for (;;) ::pause();
    }
    pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0u));
    REQUIRE(pidfd >= 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::close(pidfd);
    end();
    ::waitpid(pid_, nullptr, 0);
  }
  void end() const { ::kill(pid_, SIGKILL); }
  int pidfd = -1;

 private:
  pid_t pid_;
};

}  // namespace

TEST_CASE("the end of a watched process is told, with its flag set before the call") {
  std::counting_semaphore<> calls(0);
  ExitWatcher watcher([&] { calls.release(); });
  REQUIRE(watcher.works());
  const Child first;
  const Child second;
  const auto one = watcher.watch(first.pidfd);
  const auto two = watcher.watch(second.pidfd);
  REQUIRE(one.ended);
  REQUIRE(two.ended);
  CHECK_FALSE(*one.ended);
  second.end();
  calls.acquire();
  CHECK(*two.ended);
  CHECK_FALSE(*one.ended);
  first.end();
  calls.acquire();
  CHECK(*one.ended);
}

TEST_CASE("a process that has ended before it is watched is told, one that is forgotten is not") {
  std::counting_semaphore<> calls(0);
  ExitWatcher watcher([&] { calls.release(); });
  const Child forgotten;
  const auto none = watcher.watch(forgotten.pidfd);
  watcher.forget(none.id);
  forgotten.end();
  const Child dead;
  dead.end();
  siginfo_t info{};
  REQUIRE(::waitid(P_PIDFD, static_cast<id_t>(dead.pidfd), &info, WEXITED | WNOWAIT) == 0);
  const auto late = watcher.watch(dead.pidfd);
  while (!*late.ended) calls.acquire();
  CHECK_FALSE(*none.ended);
}

TEST_CASE("what is no process is not watched") {
  ExitWatcher watcher([] {});
  CHECK_FALSE(watcher.watch(-1).ended);
  CHECK_FALSE(watcher.watch(1'000'000).ended);
}
