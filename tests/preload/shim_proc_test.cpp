#include "preload/shim_proc.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

namespace {

bool stat_is(std::string_view text, std::uint64_t start_time) {
  return shim_proc_stat_is(text.data(), text.size(), start_time);
}

std::string stat_line(std::string_view name, char state) {
  std::string line = "17 (" + std::string(name) + ") " + state;
  for (int field = 4; field < 22; ++field) line += " 1";
  return line + " 987654 0 0\n";
}

bool parse(std::string_view line, shim_mapping& mapping) {
  return shim_proc_parse_mapping(line.data(), line.size(), &mapping);
}

std::vector<std::string> paths_found;

}  // namespace

TEST_CASE("a stat file names the process by its start time, whatever its command is called") {
  for (const char* name : {"x", "a b", "a) R 1", ")", "((", ""}) {
    CHECK(stat_is(stat_line(name, 'S'), 987654));
    CHECK(stat_is(stat_line(name, 'T'), 987654));  // stopped is not gone
    CHECK_FALSE(stat_is(stat_line(name, 'S'), 987655));
    CHECK_FALSE(stat_is(stat_line(name, 'Z'), 987654));
  }
}

TEST_CASE("a stat file that can't be read gives the process the benefit of the doubt") {
  CHECK(stat_is("", 1));
  CHECK(stat_is("17 (x) S 1 2", 1));
  CHECK(stat_is("nonsense", 1));
}

TEST_CASE("a process that ended is not alive, this one is") {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  std::size_t at = text.rfind(')');
  for (int field = 2; field < 22; ++field) at = text.find(' ', at + 1);
  const std::uint64_t started = std::strtoull(text.c_str() + at, nullptr, 10);
  CHECK(shim_proc_alive(getpid(), started));
  CHECK_FALSE(shim_proc_alive(getpid(), started + 1));

  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK_FALSE(shim_proc_alive(child, started));
}

TEST_CASE("a line of maps is a mapping if it is executable and of a file") {
  shim_mapping mapping{};
  REQUIRE(parse("7f0000001000-7f0000003000 r-xp 0002a000 fe:1f 42                         /usr/lib/a b.so (deleted)",
                mapping));
  CHECK(mapping.start == 0x7f0000001000);
  CHECK(mapping.length == 0x2000);
  CHECK(mapping.file_offset == 0x2a000);
  CHECK(mapping.dev == (std::uint64_t{0xfe} << 20 | 0x1f));
  CHECK(mapping.ino == 42);
  CHECK(std::string_view(mapping.path, mapping.path_bytes) == "/usr/lib/a b.so (deleted)");
  CHECK_FALSE(parse("7f0000001000-7f0000003000 r--p 0002a000 fe:1f 42      /usr/lib/a.so", mapping));
  CHECK_FALSE(parse("7f0000001000-7f0000003000 r-xp 00000000 00:00 0       [vdso]", mapping));
  CHECK_FALSE(parse("7f0000001000-7f0000003000 rwxp 00000000 00:00 0", mapping));
}

TEST_CASE("a line of maps that is cut anywhere is refused or has a shorter path, and is never read past its end") {
  const std::string line = "7f0000001000-7f0000003000 r-xp 0002a000 fe:1f 42    /lib/x.so";
  for (std::size_t length = 0; length <= line.size(); ++length) {
    const std::vector<char> exact(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(length));
    shim_mapping mapping{};
    const bool parsed = shim_proc_parse_mapping(exact.data(), exact.size(), &mapping);
    CHECK(parsed == (length > line.find('/')));
  }
}

TEST_CASE("the mappings of this process hold its own program") {
  paths_found.clear();
  shim_proc_each_mapping(
      [](const shim_mapping* mapping) { paths_found.emplace_back(mapping->path, mapping->path_bytes); });
  char program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  REQUIRE(length > 0);
  const std::string_view own(program, static_cast<std::size_t>(length));
  CHECK(std::count(paths_found.begin(), paths_found.end(), own) >= 1);
}

TEST_CASE("a variable of the initial environment is found whole or not at all") {
  const char* path = std::getenv("PATH");
  REQUIRE(path != nullptr);
  char value[8192];
  REQUIRE(shim_proc_environment("PATH", value, sizeof value));
  CHECK(std::string(value) == path);
  CHECK_FALSE(shim_proc_environment("PAT", value, sizeof value));
  CHECK_FALSE(shim_proc_environment("PATH", value, std::string_view(path).size()));
  CHECK(shim_proc_environment("PATH", value, std::string_view(path).size() + 1));
}
