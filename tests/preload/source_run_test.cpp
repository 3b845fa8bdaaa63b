// The source and the shim together, on real programs.
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "preload/preload_source.h"
#include "tests/support/history.h"
#include "tests/support/temporary_directory.h"

using namespace memtrack;
using namespace memtrack::preload;
using namespace std::chrono_literals;

namespace {

std::string fixture(const std::string& name) {
  return std::string(MEMTRACK_FIXTURE_DIR) + "/fixture_" + name;
}

std::uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

/// A source that runs, and everything that it gave.
class Run {
 public:
  explicit Run(std::vector<std::string> command, const std::function<void(PreloadOptions&)>& change = {}) {
    PreloadOptions options{.command = std::move(command),
                           .environment = {"PATH=/bin:/usr/bin"},
                           .segment_bytes = 32u << 20,
                           .ring_bytes = 256u << 10,
                           .shim_path = MEMTRACK_SHIM_PATH};
    if (change) change(options);
    source = make_preload_source(std::move(options));
    const auto opened = source->open();
    REQUIRE_MESSAGE(opened, to_string(opened.error()));
    REQUIRE(source->start());
  }
  /// One poll. True at the end.
  bool poll() {
    EventBatch batch(4096);
    const auto polled = source->poll(batch, 4096, 10ms);
    REQUIRE(polled);
    drained = drained || polled->drain_reached;
    for (const Event& event : batch.events()) {
      events.push_back(event);
      checker.add(event);
    }
    return polled->ended;
  }
  /// Polls until `done`, or the end, or far too long.
  bool poll_until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline || poll()) return done();
    }
    return true;
  }
  void finish() {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!poll()) REQUIRE(std::chrono::steady_clock::now() < deadline);
  }
  [[nodiscard]] std::ptrdiff_t count(EventKind kind) const {
    return std::count_if(events.begin(), events.end(), [&](const Event& event) { return event.kind == kind; });
  }
  void check_history() const { CHECK_MESSAGE(checker.violation_count() == 0, checker.report()); }

  std::unique_ptr<pipeline::EventSource> source;
  std::vector<Event> events;
  test::HistoryChecker checker;
  bool drained = false;
};

/// A target that goes on until it is killed.
struct EndlessRun : Run {
  EndlessRun() : Run({fixture("threads_race"), "3", "1000000000000"}) {}
  ~EndlessRun() {
    ::kill(source->root_pid(), SIGKILL);
    ::waitpid(source->root_pid(), nullptr, 0);
  }
};

bool is_heap_event(const Event& event) {
  return is_allocation(event.kind) || event.kind == EventKind::kFree;
}

}  // namespace

TEST_CASE("threads that race for the same blocks give a possible history") {
  Run run({fixture("threads_race"), "8", "20000"});
  run.finish();
  run.check_history();
  CHECK(run.count(EventKind::kRealloc) > 1000);
  CHECK(run.count(EventKind::kExec) == 1);
  CHECK(run.count(EventKind::kFork) == 0);
  CHECK(run.count(EventKind::kExit) == 1);
  CHECK(run.count(EventKind::kMapping) > 1);
  CHECK(run.source->losses().total() == 0);
  CHECK(run.source->target_exit()->code == 0);
  CHECK(run.source->notes().empty());
}

TEST_CASE("small rings and few of them make threads wait and lose nothing") {
  Run run({fixture("thread_churn"), "300", "8", "200"}, [](PreloadOptions& options) {
    options.segment_bytes = 64u << 10;
    options.ring_bytes = 4096;
  });
  run.finish();
  run.check_history();
  CHECK(run.source->losses().total() == 0);
  CHECK(std::count_if(run.events.begin(), run.events.end(), [](const Event& event) {
          return event.kind == EventKind::kMalloc && event.alloc.size == 2002;
        }) == 300 * 200);
}

TEST_CASE("what a full ring drops is counted to the last event") {
  const std::vector<std::string> command{fixture("thread_churn"), "1", "1", "50000"};
  Run whole(command);
  whole.finish();
  Run dropping(command, [](PreloadOptions& options) {
    options.ring_bytes = 4096;
    options.on_full = OnFull::kDrop;
  });
  dropping.finish();
  const auto heap_events = [](const Run& run) {
    return static_cast<std::uint64_t>(std::count_if(run.events.begin(), run.events.end(), is_heap_event));
  };
  CHECK(dropping.source->losses()[LossCause::kRingFull] > 0);
  CHECK(heap_events(dropping) + dropping.source->losses().total() == heap_events(whole));
}

TEST_CASE("the last allocation before any kind of end is there, and so is the end") {
  for (const std::string how : {"exit", "_exit", "abort", "kill"}) {
    for (int i = 0; i < 5; ++i) {
      Run run({fixture("exits"), how});
      run.finish();
      INFO(how);
      CHECK(std::any_of(run.events.begin(), run.events.end(), [](const Event& event) {
        return event.kind == EventKind::kMalloc && event.alloc.size == 4242;
      }));
      CHECK(run.events.back().kind == EventKind::kExit);
      const auto exit = run.source->target_exit();
      REQUIRE(exit);
      CHECK(exit->signaled == (how == "abort" || how == "kill"));
      CHECK(exit->code == (how == "abort" ? SIGABRT : how == "kill" ? SIGKILL : 0));
    }
  }
}

TEST_CASE("every process of a tree has its Fork before and its Exit after all else") {
  Run run({fixture("fork_tree"), "2", "12", "100"});
  run.finish();
  run.check_history();
  CHECK(run.count(EventKind::kFork) == 24);
  CHECK(run.count(EventKind::kExit) == 25);
  CHECK(run.checker.without_exit().empty());
  CHECK(run.source->losses().total() == 0);
}

TEST_CASE("children of a process with busy threads have possible histories") {
  Run run({fixture("fork_storm"), "4", "40"});
  run.finish();
  run.check_history();
  CHECK(run.count(EventKind::kFork) == 40);
  CHECK(run.checker.without_exit().empty());
}

TEST_CASE_FIXTURE(EndlessRun, "a drain ends though threads allocate without pause") {
  REQUIRE(poll_until([&] { return events.size() > 10'000; }));
  source->begin_drain();
  REQUIRE(poll_until([&] { return drained; }));
  const std::size_t then = events.size();
  REQUIRE(poll_until([&] { return events.size() > then + 10'000; }));
  check_history();
}

TEST_CASE_FIXTURE(EndlessRun, "after a stop the target runs on untracked") {
  REQUIRE(poll_until([&] { return events.size() > 10'000; }));
  source->request_stop();
  finish();
  check_history();
  CHECK(::kill(source->root_pid(), 0) == 0);
  CHECK_FALSE(source->target_exit());
  CHECK(count(EventKind::kExit) == 0);
  REQUIRE(source->notes().size() == 1);
  CHECK(source->notes().front().find("outlived the capture") != std::string::npos);
}

TEST_CASE_FIXTURE(EndlessRun, "switching off and on cuts where the calls return") {
  REQUIRE(poll_until([&] { return events.size() > 10'000; }));
  REQUIRE(source->set_enabled(false));
  const std::uint64_t off_ns = monotonic_ns();
  source->begin_drain();
  REQUIRE(poll_until([&] { return drained; }));
  const std::size_t before = events.size();
  const std::uint64_t on_ns = monotonic_ns();
  REQUIRE(source->set_enabled(true));
  REQUIRE(poll_until([&] { return events.size() > before + 10'000; }));
  constexpr std::uint64_t kClockErrorNs = 10'000;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!is_heap_event(events[i])) continue;
    const bool in_place =
        i < before ? events[i].timestamp_ns <= off_ns + kClockErrorNs : events[i].timestamp_ns + kClockErrorNs >= on_ns;
    if (!in_place) CHECK_MESSAGE(in_place, "event ", i, " of ", before, " at ", events[i].timestamp_ns);
  }
}

TEST_CASE("a capture waits for the root, or for the last of the tree") {
  const std::vector<std::string> command{"/bin/sh", "-c", "(sleep 0.2; exit 4) & exit 3"};
  Run tree(command, [](PreloadOptions& options) { options.wait = WaitFor::kTree; });
  tree.finish();
  CHECK(tree.source->target_exit()->code == 3);
  CHECK(tree.checker.without_exit().empty());
  CHECK(tree.source->notes().empty());

  const test::TemporaryDirectory directory;
  const auto file = directory.path() / "pid";
  Run root({"/bin/sh", "-c", "sleep 1000 > /dev/null & echo $! > " + file.string() + "; exit 3"});
  root.finish();
  CHECK(root.source->target_exit()->code == 3);
  pid_t sleeper = 0;
  std::ifstream(file) >> sleeper;
  REQUIRE(sleeper > 0);
  CHECK(::kill(sleeper, SIGKILL) == 0);
}

TEST_CASE("nothing is left of a capture in /dev/shm") {
  const auto segments = [] {
    const std::string prefix = "memtrack-" + std::to_string(::getpid()) + "-";
    std::ptrdiff_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      count += entry.path().filename().string().starts_with(prefix) ? 1 : 0;
    }
    return count;
  };
  {
    Run run({"/bin/true"});
    CHECK(segments() == 1);
    run.finish();
  }
  CHECK(segments() == 0);
}
