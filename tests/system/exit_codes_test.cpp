// Exit codes of a capture, and what a wrong call is answered with.
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <doctest/doctest.h>

#include "tests/support/temporary_directory.h"
#include "tests/system/recording.h"

namespace {

using namespace memtrack::test;

void check_one_sentence(const Outcome& outcome, int code, std::string_view part) {
  INFO("stderr: ", outcome.err);
  CHECK(outcome.code == code);
  CHECK(lines_of(outcome.err).size() == 1);
  CHECK(outcome.err.starts_with("memtrack-pipeline: "));
  CHECK(outcome.err.find(part) != std::string::npos);
  CHECK(outcome.out.empty());
}

Outcome call(std::vector<std::string> arguments, const ChildOptions& options = {}) {
  arguments.insert(arguments.begin(), program());
  return run(arguments, options);
}

std::string written(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path) << text;
  return path.string();
}

TEST_CASE("the target's exit status is the program's, 128+N after signal N (G1)") {
  const std::vector<std::pair<std::vector<std::string>, int>> cases{
      {{"sh", "-c", "exit 0"}, 0},        {{"sh", "-c", "exit 3"}, 3},          {{"sh", "-c", "exit 255"}, 255},
      {{fixture("exits"), "abort"}, 134}, {{"sh", "-c", "kill -KILL $$"}, 137}, {{fixture("exits"), "_exit"}, 0},
      {{fixture("exits"), "kill"}, 137},
  };
  for (const auto& [command, code] : cases) {
    INFO(command.front(), " ", command.back());
    const TemporaryDirectory folder;
    const Recording recording = record(folder.path(), command);
    CHECK(recording.outcome.code == code);
    check_recording(recording);
  }
}

TEST_CASE("a command that does not exist ends with 127, one that can't be executed with 126 (G1)") {
  const TemporaryDirectory folder;
  const std::string plain = written(folder.path() / "plain", "no program\n");
  const std::string out = folder.path().string();
  check_one_sentence(call({"record", "-o", out, "--", "memtrack-no-such-command"}), 127, "memtrack-no-such-command");
  check_one_sentence(call({"record", "-o", out, "--", "./no/such/command"}), 127, "./no/such/command");
  check_one_sentence(call({"record", "-o", out, "--", plain}), 126, plain);
  check_one_sentence(call({"record", "-o", out, "--", out}), 126, out);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    CHECK(entry.path().filename() == "plain");
  }
}

TEST_CASE("a wrong call is answered with one sentence and 125, and runs nothing") {
  const TemporaryDirectory folder;
  const std::string out = folder.path().string();
  const std::filesystem::path mark = folder.path() / "mark";
  const std::vector<std::string> command{"--", "touch", mark.string()};
  const auto refused = [&](std::vector<std::string> arguments, std::string_view part) {
    arguments.insert(arguments.end(), command.begin(), command.end());
    check_one_sentence(call(arguments), 125, part);
    CHECK_FALSE(std::filesystem::exists(mark));
  };
  refused({"record", "-o", out + "/missing"}, "does not exist");
  refused({"record", "-o", written(folder.path() / "file", "")}, "is not a folder");
  refused({"record", "--bogus"}, "--bogus");
  refused({"record", "--source", "bpf"}, "bpf");
  refused({"record", "--set", "batch.evnts=1"}, "batch.events");
  refused({"record", "--set", "source.preload.ring_size=100ms"}, "KiB");
  refused({"record", "--set", "source.preload.shim=/no/such/shim.so"}, "/no/such/shim.so");
  check_one_sentence(call({"record"}), 125, "no command");
  check_one_sentence(call({"record", "--"}), 125, "no command");
  check_one_sentence(call({"record", "ls", "-l"}), 125, "behind --");
}

TEST_CASE("a wrong configuration file is answered with its place and what would be right") {
  const TemporaryDirectory folder;
  const auto config = [&](std::string_view text) { return written(folder.path() / "c.toml", text); };
  const auto refused = [&](const std::string& file, const std::string& part) {
    check_one_sentence(call({"--config", file, "--", "true"}), 125, part);
  };
  const std::string place = (folder.path() / "c.toml").string();
  refused((folder.path() / "missing.toml").string(), "No such file");
  refused(folder.path().string(), "directory");
  refused(config("[batch]\nevnts = 1\n"),
          place + ":2:1: unknown key batch.evnts; the nearest valid key is batch.events");
  refused(config("[batch]\nflush_interval = \"1KiB\"\n"), place + ":2:18: ");
  refused(config("[batch]\nevents = \"1\"\n"), place + ":2:10: ");
  refused(config("[batch]\nevents = 0\n"), place + ":2:10: ");
  refused(config("[batch\n"), place + ":1:");
  check_one_sentence(call({"--config", config("[source]\nkind = \"replay\"\n")}), 125, "source.replay.file");
  check_one_sentence(call({"--config", config("[batch]\nevents = 1\n")}), 125, "no command");
}

TEST_CASE("a configuration file that may not be read says so") {
  if (::geteuid() == 0) {
    MESSAGE("skipped: root may read every file");
    return;
  }
  const TemporaryDirectory folder;
  const std::string file = written(folder.path() / "c.toml", "");
  std::filesystem::permissions(file, std::filesystem::perms::none);
  check_one_sentence(call({"--config", file, "--", "true"}), 125, "Permission denied");
}

TEST_CASE("--version, --help and --print-config print to standard output") {
  const Outcome version = call({"--version"});
  CHECK(version.code == 0);
  CHECK(version.out == "memtrack-pipeline " MEMTRACK_VERSION "\n");
  CHECK(call({"--help"}).out.find("record") != std::string::npos);
  const TemporaryDirectory folder;
  const Outcome printed = call({"record", "--print-config", "--set", "batch.events=17", "--", "ls", "a b"});
  CHECK(printed.code == 0);
  CHECK(printed.err.empty());
  CHECK(printed.out.find("events = 17\n") != std::string::npos);
  CHECK(printed.out.find("command = [\"ls\", \"a b\"]\n") != std::string::npos);
  const std::string file = written(folder.path() / "c.toml", printed.out);
  CHECK(call({"--config", file, "--print-config"}).out == printed.out);
}

}  // namespace
