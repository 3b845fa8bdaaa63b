// Children that the preload source can't see, or learns of late.
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "tests/support/temporary_directory.h"
#include "tests/system/recording.h"

namespace {

using namespace memtrack;
using namespace memtrack::test;

TEST_CASE("a static child is named with the reason, and the rest of the tree is recorded (F7, F8)") {
  const TemporaryDirectory folder;
  const std::string child = fixture("static_child");
  const Recording recording = record(folder.path(), {"/bin/sh", "-c", child + "; " + child + "; exit 3"});
  CHECK(recording.outcome.code == 3);
  check_recording(recording);
  CHECK(recording.outcome.err.find("2 processes of " + child + " were not tracked: it is statically linked") !=
        std::string::npos);
}

TEST_CASE("a static target, or a script for a static interpreter, is refused before it starts (F8)") {
  const TemporaryDirectory folder;
  const auto script = folder.path() / "script";
  std::ofstream(script) << "#!" << fixture("static_child") << "\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  for (const std::string& command : {fixture("static_child"), script.string()}) {
    const Outcome outcome = run({program(), "record", "-o", folder.path().string(), "--", command});
    CHECK(outcome.code == 125);
    CHECK(outcome.err.find("is statically linked") != std::string::npos);
    CHECK(outcome.err.find("source.kind = \"bpf\"") != std::string::npos);
  }
}

TEST_CASE("a capture of a tree waits for an orphan that only a static program leads to (F7)") {
  const TemporaryDirectory folder;
  // The root ends, and only the static program is left, which then runs one that can be tracked.
  const std::string child = fixture("static_child");
  const Recording recording = record(folder.path(), {"/bin/sh", "-c", child + " $$ & exit 4"}, {"--wait", "tree"});
  CHECK(recording.outcome.code == 4);
  CHECK(count_events(recording.events, EventKind::kExec) == 2);
  CHECK(recording.outcome.err.find("outlived") == std::string::npos);
}

}  // namespace
