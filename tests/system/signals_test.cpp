// Signals to the tracker, and captures that fail half-way: the target is not harmed, the artifact is what it can be.
#include <csignal>
#include <filesystem>
#include <sys/resource.h>

#include <doctest/doctest.h>

#include "tests/support/temporary_directory.h"
#include "tests/system/recording.h"

namespace {

using namespace memtrack::test;

// A tracker whose target is known to run: cat has answered.
class RunningCapture {
 public:
  explicit RunningCapture(const std::filesystem::path& folder, std::vector<std::string> command = {"cat"})
      : tracker_(arguments(folder, std::move(command)), {.stdin_path = ""}) {
    tracker_.write_input("ready\n");
    tracker_.read_output_until("ready\n");
  }
  ChildProcess& tracker() { return tracker_; }

 private:
  static std::vector<std::string> arguments(const std::filesystem::path& folder, std::vector<std::string> command) {
    std::vector<std::string> all{program(), "record", "-o", folder.string(), "--set", "batch.events=1000", "--"};
    all.insert(all.end(), command.begin(), command.end());
    return all;
  }
  ChildProcess tracker_;
};

TEST_CASE("SIGTERM and SIGHUP are passed on to the target, whose death is the exit code") {
  for (const int signal : {SIGTERM, SIGHUP}) {
    INFO("signal ", signal);
    const TemporaryDirectory folder;
    RunningCapture capture(folder.path());
    capture.tracker().send(signal);
    CHECK(capture.tracker().wait_with_open_input().code == 128 + signal);
    const auto artifacts = artifacts_in(folder.path());
    REQUIRE(artifacts.size() == 1);
    CHECK(read_events(artifacts.front()).size() > 0);
  }
}

TEST_CASE("SIGINT to the tracker alone leaves the target and the capture running") {
  const TemporaryDirectory folder;
  RunningCapture capture(folder.path());
  capture.tracker().send(SIGINT);
  capture.tracker().write_input("more\n");
  capture.tracker().read_output_until("more\n");
  CHECK(capture.tracker().wait().code == 0);
  CHECK(artifacts_in(folder.path()).size() == 1);
}

TEST_CASE("a second signal ends the capture with a whole artifact, while the target goes on") {
  const TemporaryDirectory folder;
  RunningCapture capture(folder.path(), {"sh", "-c", "trap '' TERM; cat; echo done"});
  capture.tracker().send_until_end(SIGTERM, std::chrono::milliseconds(150));
  const auto artifacts = artifacts_in(folder.path());
  REQUIRE(artifacts.size() == 1);
  CHECK(read_events(artifacts.front()).size() > 0);
  capture.tracker().write_input("still there\n");
  const Outcome outcome = capture.tracker().wait();
  CHECK(outcome.code == 128 + SIGTERM);
  CHECK(outcome.out == "ready\nstill there\ndone\n");
}

TEST_CASE("a full disk ends the capture with one error sentence and 125, and the target runs to its own end (B12)") {
  const TemporaryDirectory folder;
  RunningCapture capture(folder.path(), {"sh", "-c", "read line; echo $line; read line; \"$@\"; echo done", "sh",
                                         fixture("fork_tree"), "0", "0", "300000"});
  // As full as it gets without a file system of its own; the target keeps its limits.
  const rlimit small{.rlim_cur = 65'536, .rlim_max = 65'536};
  REQUIRE(::prlimit(capture.tracker().pid(), RLIMIT_FSIZE, &small, nullptr) == 0);
  capture.tracker().write_input("go\n");
  const Outcome outcome = capture.tracker().wait();
  INFO(outcome.err);
  CHECK(outcome.code == 125);
  CHECK(lines_of(outcome.err).size() == 1);
  CHECK(outcome.err.find("File too large; ") != std::string::npos);
  CHECK(outcome.err.find(" events are in the .part file; the target runs on, untracked") != std::string::npos);
  CHECK(outcome.out.ends_with("\ndone\n"));
  CHECK_FALSE(std::filesystem::is_empty(folder.path()));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    CHECK(entry.path().filename().string().ends_with(".part"));
    const Outcome prefix = run({program(), "dump", entry.path().string()});
    CHECK((prefix.code == 0 || prefix.code == 3));
    CHECK(lines_of(prefix.out).size() >= 1000);
  }
}

}  // namespace
