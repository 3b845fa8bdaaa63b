#include "tests/system/recording.h"

#include <map>

#include <doctest/doctest.h>

#include "codec/artifact_cursor.h"
#include "codec/index.h"
#include "pipeline/mapped_file.h"
#include "tests/support/history.h"

namespace memtrack::test {
namespace {

// What a test may record: memory is reserved for so many, not touched.
constexpr std::size_t kMostEvents = 4'000'000;

struct ProcessMarks {
  int forks = 0;
  int execs = 0;
  int exits = 0;
  bool fork_is_first = false;
  bool quiet_after_exit = true;
};

std::map<std::int32_t, ProcessMarks> process_marks(const EventBatch& events) {
  std::map<std::int32_t, ProcessMarks> all;
  for (const Event& event : events.events()) {
    const bool first = !all.contains(event.pid);
    ProcessMarks& marks = all[event.pid];
    if (event.kind == EventKind::kFork) {
      ++marks.forks;
      marks.fork_is_first = first;
    }
    if (event.kind == EventKind::kExec) ++marks.execs;
    if (marks.exits > 0) marks.quiet_after_exit = false;
    if (event.kind == EventKind::kExit) ++marks.exits;
  }
  return all;
}

void check_processes(const Recording& recording) {
  const auto all = process_marks(recording.events);
  REQUIRE(all.contains(recording.root_pid));
  for (const auto& [pid, marks] : all) {
    INFO("pid ", pid, " of root ", recording.root_pid);
    const bool root = pid == recording.root_pid;
    CHECK(marks.forks == (root ? 0 : 1));
    if (root) CHECK(marks.execs >= 1);
    if (!root) CHECK(marks.fork_is_first);
    CHECK(marks.exits == 1);
    CHECK(marks.quiet_after_exit);
  }
  for (const Event& event : recording.events.events()) {
    if (event.kind == EventKind::kFork) CHECK(all.contains(static_cast<std::int32_t>(event.fork.parent_pid)));
  }
}

}  // namespace

std::string program() {
  return MEMTRACK_PROGRAM;
}
std::string fixture(const std::string& name) {
  return std::string(MEMTRACK_FIXTURE_DIR) + "/fixture_" + name;
}

EventBatch read_events(const std::filesystem::path& artifact) {
  const auto file = pipeline::MappedFile::open(artifact.string());
  REQUIRE(file.has_value());
  ArtifactCursor cursor(file->bytes());
  EventBatch all(kMostEvents);
  EventBatch some(4096);
  for (bool more = true; more; some.clear()) {
    const auto status = cursor.next(some);
    INFO((status ? std::string() : to_string(status.error())));
    REQUIRE(status.has_value());
    REQUIRE(all.room() >= some.size());
    for (std::size_t i = 0; i < some.size(); ++i) all.append_from(some, i);
    more = *status == ArtifactCursor::Status::kMore;
  }
  CHECK_FALSE(cursor.truncated());
  CHECK(cursor.counters().unknown_kinds == 0);
  CHECK(cursor.counters().unknown_keys == 0);
  return all;
}

std::optional<LossCounters> read_losses(const std::filesystem::path& artifact) {
  const auto file = pipeline::MappedFile::open(artifact.string());
  REQUIRE(file.has_value());
  const auto index = parse_index(file->bytes());
  REQUIRE(index.has_value());
  if (!*index) return std::nullopt;
  return (*index)->digest.losses;
}

std::vector<std::filesystem::path> artifacts_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    CHECK_FALSE(name.ends_with(".part"));
    if (name.ends_with(".MemtrackArtifact.msgpack")) all.push_back(entry.path());
  }
  return all;
}

Recording record_with(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
                      const ChildOptions& options) {
  std::vector<std::string> all{program()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  Recording recording;
  recording.outcome = run(all, options);
  INFO("stderr: ", recording.outcome.err);
  const auto artifacts = artifacts_in(folder);
  REQUIRE(artifacts.size() == 1);
  recording.artifact = artifacts.front();
  recording.root_pid = std::stoi(recording.artifact.filename().string());
  recording.events = read_events(recording.artifact);
  return recording;
}

Recording record(const std::filesystem::path& folder, const std::vector<std::string>& command,
                 const std::vector<std::string>& flags, const ChildOptions& options) {
  std::vector<std::string> arguments{"record", "-o", folder.string()};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), command.begin(), command.end());
  return record_with(folder, arguments, options);
}

void check_recording(const Recording& recording) {
  const Outcome tested = run({"zstd", "-t", "-q", recording.artifact.string()});
  INFO("zstd -t: ", tested.err);
  CHECK(tested.code == 0);
  const auto losses = read_losses(recording.artifact);
  REQUIRE(losses.has_value());
  CHECK(losses->total() == 0);
  check_processes(recording);
  HistoryChecker history({.check_mappings = false});
  for (const Event& event : recording.events.events()) history.add(event);
  INFO(history.report());
  CHECK(history.violation_count() == 0);
  CHECK(history.without_exit().empty());
}

std::uint64_t count_events(const EventBatch& events, EventKind kind, std::optional<std::uint64_t> size) {
  std::uint64_t count = 0;
  for (const Event& event : events.events()) {
    if (event.kind == kind && (!size || event.alloc.size == *size)) ++count;
  }
  return count;
}

}  // namespace memtrack::test
