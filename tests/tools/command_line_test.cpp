#include "tools/command_line.h"

#include <doctest/doctest.h>

namespace {

using namespace memtrack;
using namespace memtrack::tools;
using Arguments = std::vector<std::string>;

Call parsed(const Arguments& arguments) {
  auto call = parse_command_line(arguments);
  INFO((call ? std::string() : call.error().message));
  REQUIRE(call.has_value());
  return *std::move(call);
}

UsageError refused(const Arguments& arguments) {
  auto call = parse_command_line(arguments);
  REQUIRE_FALSE(call.has_value());
  CHECK_FALSE(call.error().message.empty());
  CHECK(call.error().message.find('\n') == std::string::npos);
  return call.error();
}

Config capture(const Arguments& arguments) {
  return std::get<CaptureCall>(parsed(arguments)).config;
}

TEST_CASE("record takes its command from behind the dashes, whatever it looks like") {
  const Config config = capture({"record", "-o", "/tmp", "--", "ls", "-o", "--", "--version", ""});
  CHECK(config.source == SourceKind::kPreload);
  CHECK(config.capture.write.directory == "/tmp");
  CHECK(config.preload.command == Arguments{"ls", "-o", "--", "--version", ""});
}

TEST_CASE("record maps its flags to keys, and --set comes last") {
  const Config config = capture({"record", "--source=preload", "--output", "a", "--on-full", "drop", "--wait", "tree",
                                 "--allow-loss", "--set", "batch.events=7", "--set=write.directory=b", "--", "true"});
  CHECK(config.preload.on_full == preload::OnFull::kDrop);
  CHECK(config.preload.wait == preload::WaitFor::kTree);
  CHECK(config.allow_loss);
  CHECK(config.capture.batch.events == 7);
  CHECK(config.capture.write.directory == "b");
}

TEST_CASE("a synthetic source needs no command, and refuses one") {
  CHECK(capture({"record", "--source", "synthetic", "--set", "source.synthetic.events=10"}).synthetic.events == 10);
  CHECK(refused({"record", "--source", "synthetic", "--", "true"}).message ==
        "a command behind -- needs source.kind = \"preload\"");
}

TEST_CASE("a capture that is called wrongly ends with 125") {
  CHECK(refused({"record", "--bogus", "--", "true"}).exit_code == 125);
  CHECK(refused({"record", "--bogus", "--", "true"}).message.find("--bogus") != std::string::npos);
  CHECK(refused({"record", "ls", "-l"}).message.find("behind --") != std::string::npos);
  CHECK(refused({"record", "--source", "bpf", "--", "true"}).message ==
        "--source: source.kind: \"bpf\" is not in this version; use \"preload\"");
  CHECK(refused({"record", "--on-full", "wait", "--", "true"}).exit_code == 125);
  CHECK(refused({"record", "-o"}).exit_code == 125);
  CHECK(refused({"record", "--allow-loss=yes", "--", "true"}).exit_code == 125);
  CHECK(refused({"record", "--set", "batch.evnts=1", "--", "true"}).message.find("batch.events") != std::string::npos);
  CHECK(refused({"--config", "/nonexistent.toml", "--", "true"}).exit_code == 125);
  CHECK(refused({"--confg", "x", "--", "true"}).exit_code == 125);
  CHECK(refused({"--config", "/nonexistent.toml", "record", "--", "true"}).exit_code == 125);
  CHECK(refused({"-o", "/tmp", "--", "true"}).exit_code == 125);
}

TEST_CASE("a missing command is left to the check before a capture, as the configuration may bring it") {
  CHECK(capture({"record"}).preload.command.empty());
  CHECK(capture({"record", "--"}).preload.command.empty());
}

TEST_CASE("readers take files before and behind the dashes and end with 2 when called wrongly") {
  const auto dump = std::get<DumpCall>(parsed({"dump", "a", "b", "--json", "--", "-c"}));
  CHECK(dump.options.files == Arguments{"a", "b", "-c"});
  CHECK(dump.options.json);
  const auto stat = std::get<StatCall>(parsed({"stat", "a"}));
  CHECK(stat.options.files == Arguments{"a"});
  CHECK_FALSE(stat.options.json);
  CHECK(refused({"dump"}).exit_code == 2);
  CHECK(refused({"stat", "--bogus", "a"}).exit_code == 2);
  CHECK(refused({"dump", "--json=maybe", "a"}).exit_code == 2);
  CHECK(refused({"frobnicate", "a"}).exit_code == 2);
  CHECK(refused({}).exit_code == 2);
}

TEST_CASE("dump and modules take a selection") {
  const auto dump = std::get<DumpCall>(parsed({"dump", "a", "--kinds", "Malloc,Fork", "--pid", "7", "--pid=8",
                                               "--since", "10", "--until", "20", "--workers", "2", "--no-index"}));
  const ReaderOptions& options = dump.options;
  CHECK(options.files == Arguments{"a"});
  CHECK(options.selection.kinds == (kind_bit(EventKind::kMalloc) | kind_bit(EventKind::kFork)));
  CHECK(options.selection.pids == std::vector<std::int32_t>{7, 8});
  CHECK(options.selection.since_ns == 10);
  CHECK(options.selection.until_ns == 20);
  CHECK(options.workers == 2);
  CHECK_FALSE(options.use_index);
  CHECK(std::get<DumpCall>(parsed({"dump", "--modules", "a"})).options.selection.kinds == kModuleKinds);
  const auto modules = std::get<ModulesCall>(parsed({"modules", "a", "--maps", "7", "--at", "99"}));
  CHECK(modules.options.selection.only_modules());
  CHECK(modules.options.maps_pid == 7);
  CHECK(modules.options.maps_at_ns == 99);
  CHECK(std::get<StatCall>(parsed({"stat", "a", "--full"})).options.full);
  CHECK(refused({"dump", "a", "--kinds", "Mallok"}).message.find("Mallok") != std::string::npos);
  CHECK(refused({"dump", "a", "--kinds", "Free", "--modules"}).exit_code == 2);
  CHECK(refused({"dump", "a", "--workers", "65"}).exit_code == 2);
  CHECK(refused({"modules", "a", "--at", "99"}).exit_code == 2);
  CHECK(refused({"modules", "a", "--maps", "1", "--since", "99"}).exit_code == 2);
  CHECK(refused({"stat", "a", "--pid", "1"}).exit_code == 2);
}

TEST_CASE("a configuration with read.files reads") {
  const std::string file = MEMTRACK_CONFIGS_DIR "/read.toml";
  const auto call = std::get<DumpCall>(parsed({"--config", file, "--set", "read.workers=3"}));
  CHECK(call.options.files == Arguments{"tests/golden/realistic_3frames.memtrack"});
  CHECK(call.options.selection.kinds == kModuleKinds);
  CHECK(call.options.workers == 3);
  CHECK(refused({"--config", file, "--", "ls"}).message.find("exclude") != std::string::npos);
}

TEST_CASE("--print-config wants the effective settings, not a capture") {
  const auto call =
      std::get<PrintConfigCall>(parsed({"record", "--print-config", "--set", "batch.events=9", "--", "ls"}));
  CHECK(call.config.capture.batch.events == 9);
  CHECK(call.config.preload.command == Arguments{"ls"});
  CHECK(std::get<PrintConfigCall>(parsed({"--print-config"})).config.capture.batch.events == 65'536);
}

TEST_CASE("a file and flags on top of it: flags win") {
  const std::string file = MEMTRACK_CONFIGS_DIR "/replay.toml";
  const Config config = capture({"--config", file, "--set", "compress.workers=5", "-o", "elsewhere"});
  CHECK(config.source == SourceKind::kReplay);
  CHECK(config.capture.compress.workers == 5);
  CHECK(config.capture.write.directory == "elsewhere");
  CHECK(refused({"--config", file, "--", "ls"}).exit_code == 125);
}

TEST_CASE("help and version are text for standard output") {
  CHECK(std::get<TextCall>(parsed({"--version"})).text.starts_with("memtrack-pipeline 1."));
  CHECK(std::get<TextCall>(parsed({"--help"})).text.find("record") != std::string::npos);
  CHECK(std::get<TextCall>(parsed({"record", "--help"})).text.find("--on-full") != std::string::npos);
}

}  // namespace
