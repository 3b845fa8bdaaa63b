// modules, selections, workers and index of the reading commands, on real artifacts.
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_directory.h"
#include "tests/system/recording.h"

namespace {

using namespace memtrack;
using namespace memtrack::test;

std::string golden(const std::string& name) {
  return std::string(MEMTRACK_GOLDEN_DIR) + "/" + name + ".memtrack";
}

Outcome call(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program());
  return run(arguments);
}

// Lines whose fifth column is one of the three kinds.
std::string module_lines(const std::string& text) {
  std::string kept;
  for (const std::string& line : lines_of(text)) {
    for (const char* kind : {"Mapping", "Fork", "Exec"}) {
      if (line.find(std::string("\t") + kind) != std::string::npos) kept += line + "\n";
    }
  }
  return kept;
}

std::string synthetic(const TemporaryDirectory& folder, const std::string& events) {
  const Outcome made = call(
      {"record", "--source", "synthetic", "--set", "source.synthetic.events=" + events, "-o", folder.path().string()});
  REQUIRE(made.code == 0);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) return entry.path().string();
  FAIL("no artifact");
  return {};
}

// The largest resident set of `arguments`, in KiB, with their output thrown away.
long peak_kib(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program());
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_WRONLY);
    if (::dup2(null, STDOUT_FILENO) < 0) ::_exit(126);
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  int status = 0;
  struct rusage usage{};
  REQUIRE(::wait4(child, &status, 0, &usage) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  return usage.ru_maxrss;
}

TEST_CASE("modules of the golden files are the rows Mapping, Fork and Exec of dump (A18)") {
  for (const std::string name : {"kinds", "realistic_3frames", "stacks_2frames", "empty", "old_realloc"}) {
    INFO(name);
    const std::string wanted = module_lines(call({"dump", golden(name)}).out);
    CHECK((call({"dump", "--modules", golden(name)}).out == wanted));
    CHECK((call({"dump", "--kinds", "Mapping,Fork,Exec", golden(name)}).out == wanted));
    const auto rows = lines_of(call({"modules", golden(name)}).out);
    CHECK(rows.size() == 1 + lines_of(wanted).size());
    CHECK((call({"modules", "--json", golden(name)}).out == call({"dump", "--modules", "--json", golden(name)}).out));
  }
}

TEST_CASE("every number of workers prints the same bytes, with and without index (A16)") {
  const TemporaryDirectory folder;
  const std::string artifact = synthetic(folder, "400000");
  for (const std::vector<std::string>& command : {std::vector<std::string>{"dump"},
                                                  {"dump", "--json"},
                                                  {"modules"},
                                                  {"dump", "--since", "1", "--kinds", "Free"}}) {
    std::vector<std::string> arguments = command;
    arguments.push_back(artifact);
    const Outcome first = call(arguments);
    REQUIRE(first.code == 0);
    REQUIRE(!first.out.empty());
    for (const char* workers : {"1", "2", "8", "64"}) {
      std::vector<std::string> more = arguments;
      more.insert(more.end(), {"--workers", workers});
      CHECK((call(more).out == first.out));
      more.push_back("--no-index");
      CHECK((call(more).out == first.out));
    }
  }
}

TEST_CASE("dump by pid and time prints the lines that have them") {
  const std::string file = golden("realistic_3frames");
  const auto lines = lines_of(call({"dump", file}).out);
  const std::string line = lines[lines.size() / 2];
  const std::string pid = line.substr(0, line.find('\t'));
  std::string wanted;
  for (const std::string& one : lines) {
    if (one.starts_with(pid + "\t")) wanted += one + "\n";
  }
  CHECK((call({"dump", "--pid", pid, file}).out == wanted));
  const auto column = [](const std::string& text, int n) {
    std::size_t at = 0;
    for (; n > 0; --n) at = text.find('\t', at) + 1;
    return std::stoull(text.substr(at));
  };
  const std::uint64_t since = column(line, 2);
  wanted.clear();
  for (const std::string& one : lines) {
    if (column(one, 2) >= since && column(one, 2) <= since + 1'000'000) wanted += one + "\n";
  }
  const Outcome timed =
      call({"dump", "--since", std::to_string(since), "--until", std::to_string(since + 1'000'000), file});
  CHECK((timed.out == wanted));
}

TEST_CASE("stat answers from the index; --full agrees with it") {
  const TemporaryDirectory folder;
  const std::string artifact = synthetic(folder, "300000");
  const auto quick = nlohmann::json::parse(call({"stat", "--json", artifact}).out);
  const auto full = nlohmann::json::parse(call({"stat", "--json", "--full", artifact}).out);
  CHECK(quick["decoded"] == false);
  CHECK(full["decoded"] == true);
  CHECK(full["state"] == "whole");
  for (const char* key : {"events", "frames", "raw_bytes", "first_timestamp", "last_timestamp", "lost", "file_bytes"}) {
    INFO(key);
    CHECK(quick[key] == full[key]);
  }
  CHECK(quick["kinds_present"].size() == full["kinds"].size());
}

TEST_CASE("the maps of a process are printed at a time and over time (E2)") {
  const std::string file = golden("realistic_3frames");
  const auto events = lines_of(call({"dump", "--kinds", "Mapping", "--json", file}).out);
  REQUIRE(!events.empty());
  const auto last = nlohmann::json::parse(events.back());
  const std::string pid = std::to_string(last["pid"].get<std::int32_t>());
  const Outcome at =
      call({"modules", "--maps", pid, "--at", std::to_string(last["timestamp"].get<std::uint64_t>()), "--json", file});
  REQUIRE(at.code == 0);
  const auto found = nlohmann::json::parse(lines_of(at.out).back());
  CHECK(at.out.find(last["path"].get<std::string>()) != std::string::npos);
  CHECK(found["until"].is_null());
  CHECK(lines_of(call({"modules", "--maps", pid, file}).out).size() >= lines_of(at.out).size());
  CHECK(call({"modules", "--maps", "999999", file}).out.empty());
}

TEST_CASE("a configuration reads the artifacts that it names") {
  const TemporaryDirectory folder;
  const std::string config = (folder.path() / "read.toml").string();
  std::ofstream(config) << "[read]\nfiles = [\"" << golden("realistic_3frames") << "\"]\nselect = \"modules\"\n";
  const Outcome read = call({"--config", config});
  CHECK(read.code == 0);
  CHECK((read.out == call({"dump", "--modules", golden("realistic_3frames")}).out));
}

TEST_CASE("the memory of dump and modules does not grow with the artifact (A15)") {
  const TemporaryDirectory small_folder;
  const TemporaryDirectory large_folder;
  const std::string small = synthetic(small_folder, "1000000");
  const std::string large = synthetic(large_folder, "4000000");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"dump", "--workers", "2"}, {"modules", "--no-index", "--workers", "2"}}) {
    std::vector<std::string> of_small = command;
    std::vector<std::string> of_large = command;
    of_small.push_back(small);
    of_large.push_back(large);
    // The larger file is 30 MiB larger.
    CHECK(peak_kib(of_large) <= peak_kib(of_small) + 12 * 1024);
    CHECK(peak_kib(of_large) <= 96 * 1024);
  }
}

TEST_CASE("windows of hundreds of megabytes are refused before they cost memory (A6)") {
  const TemporaryDirectory folder;
  const std::string path = (folder.path() / "bomb").string();
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < 20; ++i) {
    // Magic, descriptor, window of 512 MiB, an RLE block of 128 KiB that is the last.
    file.write("\x28\xB5\x2F\xFD\x00\x98\x03\x00\x10\x00", 10);
  }
  file.close();
  const Outcome outcome = call({"dump", path, "--workers", "8"});
  CHECK(outcome.code == 4);
  CHECK(outcome.err.find("window") != std::string::npos);
}

}  // namespace
