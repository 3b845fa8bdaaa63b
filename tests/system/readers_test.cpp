// dump and stat: exact text, every state of a file, every exit code.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_directory.h"
#include "tests/system/recording.h"

namespace {

using namespace memtrack;
using namespace memtrack::test;

const std::filesystem::path kGolden = MEMTRACK_GOLDEN_DIR;
const std::vector<std::string> kNames{"kinds", "realistic_3frames", "stacks_2frames", "empty", "old_realloc"};

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string golden(const std::string& name) {
  return (kGolden / (name + ".memtrack")).string();
}

std::string golden_text(const std::string& name) {
  if (name == "empty") return "";
  const std::filesystem::path plain = kGolden / (name + ".tsv");
  if (std::filesystem::exists(plain)) return content_of(plain);
  const Outcome unpacked = run({"zstd", "-dcq", plain.string() + ".zst"});
  REQUIRE(unpacked.code == 0);
  return unpacked.out;
}

std::string written(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path.string();
}

Outcome call(std::vector<std::string> arguments, const ChildOptions& options = {}) {
  arguments.insert(arguments.begin(), program());
  return run(arguments, options);
}

void check_one_sentence(const Outcome& outcome, int code, std::string_view part) {
  INFO("stderr: ", outcome.err);
  CHECK(outcome.code == code);
  CHECK(lines_of(outcome.err).size() == 1);
  CHECK(outcome.err.find(part) != std::string::npos);
}

TEST_CASE("dump prints exactly the text of the golden files") {
  for (const std::string& name : kNames) {
    INFO(name);
    const Outcome dumped = call({"dump", golden(name)});
    CHECK(dumped.code == 0);
    CHECK(dumped.err == "");
    CHECK((dumped.out == golden_text(name)));
  }
}

TEST_CASE("dump --json has one object a line with the artifact's key names") {
  const Outcome dumped = call({"dump", golden("kinds"), "--json"});
  REQUIRE(dumped.code == 0);
  const auto json_lines = lines_of(dumped.out);
  const auto text_lines = lines_of(golden_text("kinds"));
  REQUIRE(json_lines.size() == text_lines.size());
  for (std::size_t i = 0; i < json_lines.size(); ++i) {
    const auto json = nlohmann::ordered_json::parse(json_lines[i]);
    const std::string prefix =
        std::to_string(json["pid"].get<std::int32_t>()) + "\t" + std::to_string(json["tid"].get<std::int32_t>()) +
        "\t" + std::to_string(json["timestamp"].get<std::uint64_t>()) + "\t" +
        std::to_string(json["addr"].get<std::uint64_t>()) + "\t" + json["type"].get<std::string>();
    CHECK(text_lines[i].starts_with(prefix));
    // Every name=value field of the text is a key, and nothing else is there.
    const auto fields = static_cast<std::size_t>(std::ranges::count(text_lines[i], '\t')) - 4;
    CHECK(json.size() == 5 + fields);
  }
}

TEST_CASE("several files are set apart by their names, and the worst exit code is kept") {
  const TemporaryDirectory folder;
  const std::string empty = written(folder.path() / "none", "");
  const Outcome both = call({"dump", golden("old_realloc"), golden("empty")});
  CHECK(both.code == 0);
  CHECK(both.out ==
        "==> " + golden("old_realloc") + " <==\n" + golden_text("old_realloc") + "==> " + golden("empty") + " <==\n");
  const Outcome worst = call({"dump", empty, golden("old_realloc")});
  CHECK(worst.code == 5);
  CHECK(worst.out.find(golden_text("old_realloc")) != std::string::npos);
}

TEST_CASE("what is no artifact is refused with one sentence and 5 (A7)") {
  const TemporaryDirectory folder;
  const std::string empty = written(folder.path() / "empty", "");
  const std::string text = written(folder.path() / "text", "this is no artifact\n");
  for (const char* command : {"dump", "stat"}) {
    INFO(command);
    check_one_sentence(call({command, empty}), 5, "empty");
    check_one_sentence(call({command, text}), 5, text);
    check_one_sentence(call({command, (folder.path() / "missing").string()}), 5, "No such file");
    check_one_sentence(call({command, folder.path().string()}), 5, folder.path().string());
    CHECK(call({command, empty}).out.empty());
  }
}

TEST_CASE("a reader that is called wrongly ends with 2") {
  check_one_sentence(call({"dump"}), 2, "artifact");
  check_one_sentence(call({"dump", "--bogus", golden("empty")}), 2, "--bogus");
  check_one_sentence(call({"stat", "--json=yes", golden("empty")}), 2, "json");
  check_one_sentence(call({"explode", golden("empty")}), 2, "explode");
}

TEST_CASE("a cut artifact prints all events before the cut, says so and ends with 3 (A1)") {
  const TemporaryDirectory folder;
  const std::string whole = content_of(golden("realistic_3frames"));
  const std::string text = golden_text("realistic_3frames");
  for (const std::size_t cut : {std::size_t{1}, std::size_t{64}, whole.size() / 6}) {
    INFO("cut ", cut);
    const std::string file = written(folder.path() / "cut", whole.substr(0, whole.size() - cut));
    const Outcome dumped = call({"dump", file});
    check_one_sentence(dumped, 3, "truncated");
    CHECK(text.starts_with(dumped.out));
    CHECK(lines_of(dumped.out).size() >= 2 * 65'536 - 70'000);
    CHECK(dumped.err.find(" events before the cut were printed") != std::string::npos);
    const Outcome counted = call({"stat", file, "--json"});
    check_one_sentence(counted, 3, "truncated");
    const auto json = nlohmann::json::parse(counted.out);
    CHECK(json["state"] == "truncated");
    CHECK(json["events"] == lines_of(dumped.out).size());
  }
}

TEST_CASE("a corrupt frame in the middle is refused with its number, its offset and 4 (A2)") {
  const TemporaryDirectory folder;
  std::string bytes = content_of(golden("realistic_3frames"));
  for (std::size_t i = 0; i < 32; ++i) bytes[bytes.size() / 2 + i] = static_cast<char>(0xA5);
  const std::string file = written(folder.path() / "corrupt", bytes);
  for (const char* command : {"dump", "stat"}) {
    const Outcome outcome = call({command, file});
    check_one_sentence(outcome, 4, "frame 1");
    CHECK(outcome.err.find("at byte ") != std::string::npos);
  }
  CHECK(golden_text("realistic_3frames").starts_with(call({"dump", file}).out));
}

TEST_CASE("an artifact that can't be written out is an error, one that nobody wants to read is not") {
  const Outcome full = call({"dump", golden("realistic_3frames")}, {.stdout_path = "/dev/full"});
  check_one_sentence(full, 1, "No space left");
  ChildProcess unread({program(), "dump", golden("realistic_3frames")});
  unread.read_output_until("\n");
  unread.close_output();
  const Outcome outcome = unread.wait();
  CHECK(outcome.code == 0);
  CHECK(outcome.err == "");
}

TEST_CASE("stat counts kinds, processes, time and sizes of a golden file") {
  const Outcome outcome = call({"stat", golden("realistic_3frames"), golden("empty"), "--json"});
  REQUIRE(outcome.code == 0);
  const auto reports = lines_of(outcome.out);
  REQUIRE(reports.size() == 2);
  const auto json = nlohmann::json::parse(reports[0]);
  CHECK(json["file"] == golden("realistic_3frames"));
  CHECK(json["state"] == "whole");
  CHECK(json["events"] == 140'000);
  CHECK(json["frames"] == 3);
  CHECK(json["lost"].is_null());
  CHECK(json["file_bytes"] == std::filesystem::file_size(golden("realistic_3frames")));
  const Outcome unpacked = run({"zstd", "-dcq"}, {.stdin_path = golden("realistic_3frames")});
  CHECK(json["raw_bytes"] == unpacked.out.size());
  std::uint64_t sum = 0;
  for (const auto& [kind, count] : json["kinds"].items()) sum += count.get<std::uint64_t>();
  CHECK(sum == 140'000);
  CHECK(nlohmann::json::parse(reports[1])["events"] == 0);
  const Outcome text = call({"stat", golden("realistic_3frames")});
  CHECK(text.code == 0);
  CHECK(text.out.find("unknown (no index)") != std::string::npos);
  CHECK(text.out.find("140,000") != std::string::npos);
}

}  // namespace
