#include "tools/config_file.h"

#include <doctest/doctest.h>

#include "tools/config_schema.h"

namespace {

using namespace memtrack;
using namespace memtrack::tools;

std::string error_of(std::string_view document) {
  Config config;
  const Result<void> applied = apply_toml(document, "x.toml", config);
  REQUIRE_FALSE(applied.has_value());
  CHECK(applied.error().code == ErrorCode::kInvalidArgument);
  return to_string(applied.error());
}

TEST_CASE("a document sets what it names and leaves the rest at its default") {
  Config config;
  const Result<void> applied = apply_toml(
      "[source]\nkind = \"synthetic\"\non_full = \"drop\"\nallow_loss = true\n"
      "[source.preload]\nring_size = \"64KiB\"\nrss_interval = \"1s\"\n"
      "[target]\ncommand = [\"ls\", \"-l R\", \"\"]\nwait = \"tree\"\n"
      "[batch]\nevents = 1_000\n[compress]\nlevel = -7\n[write]\nmappings = \"suffix\"\n",
      "x.toml", config);
  REQUIRE(applied.has_value());
  CHECK(config.source == SourceKind::kSynthetic);
  CHECK(config.preload.on_full == preload::OnFull::kDrop);
  CHECK(config.allow_loss);
  CHECK(config.preload.ring_bytes == 64 * 1024);
  CHECK(config.preload.rss_interval == std::chrono::seconds(1));
  CHECK(config.preload.command == std::vector<std::string>{"ls", "-l R", ""});
  CHECK(config.preload.wait == preload::WaitFor::kTree);
  CHECK(config.capture.batch.events == 1000);
  CHECK(config.capture.compress.level == -7);
  CHECK(config.capture.write.mappings == pipeline::MappingPlacement::kSuffix);
  CHECK(config.capture.queue.items == pipeline::QueueOptions{}.items);
}

TEST_CASE("an unknown key is told with file, line, column and the nearest valid key") {
  CHECK(error_of("[batch]\nevnts = 1\n") ==
        "x.toml:2:1: unknown key batch.evnts; the nearest valid key is batch.events");
  CHECK(error_of("[batch]\n  workers = 1\n") ==
        "x.toml:2:3: unknown key batch.workers; the nearest valid key is compress.workers");
  CHECK(error_of("[bach]\nevents = 1\n") ==
        "x.toml:2:1: unknown key bach.events; the nearest valid key is batch.events");
  CHECK(error_of("level = 1\n").starts_with("x.toml:1:1: unknown key level; the nearest valid key is "));
  CHECK(error_of("[bach]\n").starts_with("x.toml:1:2: unknown key bach; the nearest valid key is batch."));
  CHECK(error_of("[[batch]]\nevents = 1\n")
            .starts_with("x.toml:1:3: unknown key batch; the nearest valid key is batch."));
  CHECK(error_of("batch.events.more = 1\n").starts_with("x.toml:1:"));
}

TEST_CASE("a wrong type is told with what is expected and what stands there") {
  CHECK(error_of("[batch]\nevents = \"1000\"\n") == "x.toml:2:10: batch.events: must be an integer, not a string");
  CHECK(error_of("[batch]\nevents = 1.0\n") ==
        "x.toml:2:10: batch.events: must be an integer, not a floating-point number");
  CHECK(error_of("[source]\nallow_loss = \"yes\"\n") ==
        "x.toml:2:14: source.allow_loss: must be true or false, not a string");
  CHECK(error_of("[source]\nallow_loss = 1\n") ==
        "x.toml:2:14: source.allow_loss: must be true or false, not an integer");
  CHECK(error_of("[source.preload]\nring_size = 4096\n") ==
        "x.toml:2:13: source.preload.ring_size: must be a size in quotes, for example \"256KiB\", not an integer");
  CHECK(error_of("[batch]\nflush_interval = 1\n") ==
        "x.toml:2:18: batch.flush_interval: must be a time in quotes, for example \"100ms\", not an integer");
  CHECK(error_of("[target]\ncommand = \"ls -l\"\n") ==
        "x.toml:2:11: target.command: must be an array of strings, not a string");
  CHECK(error_of("[target]\ncommand = [\"ls\", 1]\n").find("must be an array of strings") != std::string::npos);
  CHECK(error_of("[write]\ndirectory = [\"a\"]\n") == "x.toml:2:13: write.directory: must be a string, not an array");
}

TEST_CASE("a wrong unit is told with the right ones") {
  CHECK(error_of("[queue]\nbytes = \"100ms\"\n") ==
        "x.toml:2:9: queue.bytes: \"100ms\" has the unknown unit \"ms\"; a size has one of B, KiB, MiB, GiB, TiB, KB, "
        "MB, GB, TB");
  CHECK(error_of("[batch]\nflush_interval = \"1KiB\"\n").find("a time has one of ns, us, ms, s, min, h") !=
        std::string::npos);
}

TEST_CASE("a value out of range is told with the range") {
  CHECK(error_of("[batch]\nevents = 0\n") == "x.toml:2:10: batch.events: 0 is out of range; allowed is 1 to 1048576");
  CHECK(error_of("[compress]\nlevel = 20\n") == "x.toml:2:9: compress.level: 20 is out of range; allowed is -7 to 19");
  CHECK(error_of("[source.preload]\nring_size = \"5KiB\"\n") ==
        "x.toml:2:13: source.preload.ring_size: 5KiB is out of range; allowed is 4KiB to 1GiB, a power of two");
  CHECK(error_of("[source]\non_full = \"BLOCK\"\n") ==
        "x.toml:2:11: source.on_full: \"BLOCK\" is not one of \"block\", \"drop\"");
  CHECK(error_of("[source]\nkind = \"bpf\"\n") ==
        "x.toml:2:8: source.kind: \"bpf\" is not in this version; use \"preload\"");
  CHECK(error_of("[write]\ndirectory = \"a\\u0000b\"\n") == "x.toml:2:13: write.directory: holds a NUL character");
}

TEST_CASE("the first of several errors is told, whatever the order of names") {
  CHECK(error_of("[write]\nzzz = 1\n[batch]\nevnts = 1\n").starts_with("x.toml:2:1: unknown key write.zzz"));
}

TEST_CASE("text that is no TOML is told with its place") {
  const std::string error = error_of("[batch]\nevents = = 1\n");
  CHECK(error.starts_with("x.toml:2:"));
  CHECK(error.find("not valid TOML") != std::string::npos);
  CHECK(error_of("[batch]\nevents = 1\nevents = 2\n").starts_with("x.toml:3:"));
}

TEST_CASE("flags set keys and are refused by name") {
  Config config;
  CHECK(apply_assignment("batch.events=5", config).has_value());
  CHECK(apply_assignment("write.directory=a=b", config).has_value());
  CHECK(apply_assignment("source.allow_loss=true", config).has_value());
  CHECK(apply_assignment("batch.flush_interval=5ms", config).has_value());
  CHECK(config.capture.batch.events == 5);
  CHECK(config.capture.write.directory == "a=b");
  CHECK(config.allow_loss);
  CHECK(config.capture.batch.flush_interval == std::chrono::milliseconds(5));

  const auto refused = [&](std::string_view assignment) {
    return to_string(apply_assignment(assignment, config).error());
  };
  CHECK(refused("batch.evnts=5") == "--set: unknown key batch.evnts; the nearest valid key is batch.events");
  CHECK(refused("batch.events") == "--set batch.events: write section.key=value, for example batch.events=1000");
  CHECK(refused("batch.events=many") == "--set: batch.events: \"many\" is no integer");
  CHECK(refused("batch.events=") == "--set: batch.events: \"\" is no integer");
  CHECK(refused("batch.events=0") == "--set: batch.events: 0 is out of range; allowed is 1 to 1048576");
  CHECK(refused("source.allow_loss=yes") == "--set: source.allow_loss: \"yes\" is no boolean; write true or false");
  CHECK(refused("source.allow_loss=TRUE") == "--set: source.allow_loss: \"TRUE\" is no boolean; write true or false");
  CHECK(refused("source.allow_loss=") == "--set: source.allow_loss: \"\" is no boolean; write true or false");
  CHECK(refused("target.command=ls") ==
        "--set: target.command: a list can't be set by a flag; put the command behind --");
  CHECK(refused("source.kind=bpf") == "--set: source.kind: \"bpf\" is not in this version; use \"preload\"");
}

TEST_CASE("the printed configuration is read back as the same configuration") {
  Config config;
  REQUIRE(apply_toml("[source]\nkind = \"replay\"\n[source.replay]\nfile = \"a \\\"b\\\" \\\\ \\t\\n\\u0001 \u20AC\"\n"
                     "[target]\ncommand = [\"sh\", \"-c\", \"echo 'x' | cat\"]\n[batch]\nflush_interval = \"1.5s\"\n"
                     "[queue]\nbytes = \"12345B\"\n[compress]\nworkers = 7\n[stats]\ninterval = \"2min\"\n",
                     "x.toml", config)
              .has_value());
  const Result<std::string> printed = print_config(config);
  REQUIRE(printed.has_value());
  Config again;
  const Result<void> applied = apply_toml(*printed, "printed.toml", again);
  REQUIRE(applied.has_value());
  for (const Key& key : config_keys()) {
    INFO(key.dotted());
    CHECK(key.get(again) == key.get(config));
  }
  CHECK(print_config(again).value() == *printed);
}

TEST_CASE("every key can be changed from its default and is printed so") {
  for (const Key& key : config_keys()) {
    INFO(key.dotted());
    Config config;
    KeyValue changed = key.get(config);
    if (key.type == KeyType::kBoolean) changed = !std::get<bool>(changed);
    if (auto* number = std::get_if<std::int64_t>(&changed))
      *number = *number == key.maximum ? key.minimum : key.maximum;
    if (key.type == KeyType::kChoice) changed = std::string(key.choices.back());
    if (key.type == KeyType::kText) changed = std::string("text");
    if (key.type == KeyType::kTextList) changed = std::vector<std::string>{"a", "b"};
    REQUIRE(check_range(key, changed).has_value());
    key.set(config, changed);
    CHECK(key.get(config) == changed);
    Config again;
    REQUIRE(apply_toml(print_config(config).value(), "printed.toml", again).has_value());
    CHECK(key.get(again) == changed);
  }
}

TEST_CASE("a configuration with bytes that are no UTF-8 can't be printed") {
  Config config;
  config.preload.command = {"ls", "\xFF"};
  const Result<std::string> printed = print_config(config);
  REQUIRE_FALSE(printed.has_value());
  CHECK(to_string(printed.error()) == "target.command holds bytes that are no UTF-8, which TOML can't express");
}

TEST_CASE("a missing configuration file, a folder and an endless one are refused") {
  Config config;
  CHECK(to_string(apply_config_file("/nonexistent/x.toml", config).error()) ==
        "/nonexistent/x.toml: can't open the configuration file: No such file or directory");
  CHECK(to_string(apply_config_file("/", config).error()) == "/: can't read the configuration file: Is a directory");
  CHECK(to_string(apply_config_file("/dev/zero", config).error()) ==
        "/dev/zero: a configuration file has at most 1 MiB");
}

}  // namespace
