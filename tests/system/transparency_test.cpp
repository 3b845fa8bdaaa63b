// Recorded programs behave as without the tracker, and their artifacts are whole.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <doctest/doctest.h>

#include "tests/support/temporary_directory.h"
#include "tests/system/recording.h"

namespace {

using namespace memtrack;
using namespace memtrack::test;
using Command = std::vector<std::string>;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string toml_list(const Command& command) {
  std::string list;
  for (const std::string& word : command) {
    list += list.empty() ? "\"" : ", \"";
    for (const char c : word) {
      if (c == '"' || c == '\\') list += '\\';
      list += c;
    }
    list += '"';
  }
  return "[" + list + "]";
}

// The same command bare, by `record` and by a configuration file: same output, same exit code, whole artifacts.
std::vector<Recording> check_same_as_bare(const Command& command, const ChildOptions& options = {}) {
  INFO("command: ", command.front());
  const Outcome bare = run(command, options);
  const TemporaryDirectory by_flags;
  const TemporaryDirectory by_file;
  const std::string config = (by_file.path() / "capture.toml").string();
  std::ofstream(config) << "[target]\ncommand = " << toml_list(command) << "\n[write]\ndirectory = \""
                        << by_file.path().string() << "\"\n";
  std::vector<Recording> recordings;
  recordings.push_back(record(by_flags.path(), command, {"--set", "log.level=error"}, options));
  recordings.push_back(record_with(by_file.path(), {"--config", config, "--set", "log.level=error"}, options));
  for (const Recording& recording : recordings) {
    CHECK(recording.outcome.code == bare.code);
    CHECK((recording.outcome.out == bare.out));
    CHECK(recording.outcome.err == bare.err);
    CHECK(count_events(recording.events, EventKind::kMalloc) > 0);
    check_recording(recording);
  }
  return recordings;
}

std::size_t process_count(const Recording& recording) {
  std::set<std::int32_t> pids;
  for (const Event& event : recording.events.events()) pids.insert(event.pid);
  return pids.size();
}

bool installed(const std::string& name) {
  if (find_program(name)) return true;
  MESSAGE("skipped: ", name, " is not installed");
  return false;
}

TEST_CASE("ls -lR /usr/share prints the same under the tracker") {
  check_same_as_bare({"ls", "-lR", "/usr/share"});
}

TEST_CASE("gcc compiles the same object file, and its whole process tree is recorded") {
  if (!installed("gcc")) return;
  const TemporaryDirectory work;
  std::ofstream(work.path() / "unit.c")
      << "#include <stdio.h>\nint main(void) { return printf(\"hello\\n\") == 6 ? 0 : 1; }\n";
  const ChildOptions options{.directory = work.path().string()};
  REQUIRE(run({"gcc", "-O2", "-c", "unit.c", "-o", "unit.o"}, options).code == 0);
  const std::string bare_object = content_of(work.path() / "unit.o");
  for (const Recording& recording : check_same_as_bare({"gcc", "-O2", "-c", "unit.c", "-o", "unit.o"}, options)) {
    CHECK((content_of(work.path() / "unit.o") == bare_object));
    CHECK(process_count(recording) >= 3);  // gcc, cc1, as
    CHECK(count_events(recording.events, EventKind::kExec) >= 3);
  }
}

TEST_CASE("gcc links the same program") {
  if (!installed("gcc")) return;
  const TemporaryDirectory work;
  std::ofstream(work.path() / "unit.c") << "int main(void) { return 7; }\n";
  const ChildOptions options{.directory = work.path().string()};
  for (const Recording& recording : check_same_as_bare({"gcc", "unit.c", "-o", "unit"}, options)) {
    CHECK(process_count(recording) >= 5);  // gcc, cc1, as, collect2, ld
  }
  CHECK(run({(work.path() / "unit").string()}).code == 7);
}

TEST_CASE("gcc that finds an error fails in the same way") {
  if (!installed("gcc")) return;
  const TemporaryDirectory work;
  std::ofstream(work.path() / "unit.c") << "int main(void) { return nothing; }\n";
  check_same_as_bare({"gcc", "-c", "unit.c"}, {.directory = work.path().string()});
}

TEST_CASE("python3 computes the same") {
  if (!installed("python3")) return;
  check_same_as_bare({"python3", "-c", "import json; print(json.dumps({str(i): [i] * 3 for i in range(2000)}))"});
  check_same_as_bare({"python3", "-c", "import sys; sys.stderr.write('no\\n'); sys.exit(41)"});
}

TEST_CASE("git status says the same") {
  if (!installed("git")) return;
  const TemporaryDirectory work;
  const ChildOptions options{.directory = work.path().string(),
                             .environment = {"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"}};
  REQUIRE(run({"git", "init", "-q", "."}, options).code == 0);
  for (int i = 0; i < 50; ++i) std::ofstream(work.path() / ("file" + std::to_string(i))) << i;
  REQUIRE(run({"git", "add", "file1", "file2"}, options).code == 0);
  check_same_as_bare({"git", "status"}, options);
}

TEST_CASE("a C++ program with many threads ends the same") {
  check_same_as_bare({fixture("thread_churn"), "300", "8", "20"});
}

TEST_CASE("the target has the tracker's descriptors and signal dispositions, nothing more") {
  check_same_as_bare({"ls", "/proc/self/fd"});
  check_same_as_bare({"grep", "-E", "^(SigIgn|SigBlk|SigCgt):", "/proc/self/status"});
}

TEST_CASE("the target reads the tracker's standard input") {
  const TemporaryDirectory folder;
  ChildProcess tracker({program(), "record", "-o", folder.path().string(), "--", "cat"}, {.stdin_path = ""});
  tracker.write_input("first\n");
  tracker.read_output_until("first\n");
  tracker.write_input("second\n");
  const Outcome outcome = tracker.wait();
  CHECK(outcome.code == 0);
  CHECK(outcome.out == "first\nsecond\n");
}

TEST_CASE("the summary on stderr says what was recorded, where, and what to type next") {
  const TemporaryDirectory folder;
  const Recording recording = record(folder.path(), {"sh", "-c", "exit 3"});
  const std::string& text = recording.outcome.err;
  CHECK(text.find("recorded ") != std::string::npos);
  CHECK(text.find(", 0 lost") != std::string::npos);
  CHECK(text.find("the target exited with 3") != std::string::npos);
  CHECK(text.find("next: memtrack-pipeline stat " + recording.artifact.string()) != std::string::npos);
  CHECK(run({program(), "stat", recording.artifact.string()}).code == 0);
}

TEST_CASE("progress is shown in place and erased at the end") {
  const TemporaryDirectory folder;
  ChildProcess tracker({program(), "record", "-o", folder.path().string(), "--set", "log.progress=always", "--set",
                        "log.level=error", "--", "cat"},
                       {.stdin_path = ""});
  tracker.read_error_until("\r\x1b[Krecording: ");
  const Outcome outcome = tracker.wait();
  CHECK(outcome.code == 0);
  CHECK(outcome.err.ends_with("\r\x1b[K"));
  CHECK(outcome.err.find('\n') == std::string::npos);
}

}  // namespace
