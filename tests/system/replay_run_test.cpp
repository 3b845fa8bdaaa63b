// The replay and synthetic sources through the whole program.
#include <fstream>

#include <doctest/doctest.h>

#include "tests/support/temporary_directory.h"
#include "tests/system/recording.h"

namespace {

using namespace memtrack;
using namespace memtrack::test;

std::string golden(const std::string& name) {
  return std::string(MEMTRACK_GOLDEN_DIR) + "/" + name + ".memtrack";
}

TEST_CASE("an artifact re-recorded from a configuration equals its input") {
  for (const char* name : {"kinds", "realistic_3frames", "stacks_2frames", "empty", "old_realloc"}) {
    for (const char* workers : {"1", "4"}) {
      INFO(name, " with ", workers, " workers");
      const TemporaryDirectory folder;
      const std::string config = (folder.path() / "replay.toml").string();
      std::ofstream(config) << "[source]\nkind = \"replay\"\n[source.replay]\nfile = \"" << golden(name)
                            << "\"\n[write]\ndirectory = \"" << folder.path().string() << "\"\n[batch]\nevents = 1000\n"
                            << "[queue]\nitems = 1\n[compress]\nworkers = " << workers << "\n";
      const Recording recording = record_with(folder.path(), {"--config", config});
      CHECK(recording.outcome.code == 0);
      CHECK((run({program(), "dump", recording.artifact.string()}).out == run({program(), "dump", golden(name)}).out));
      CHECK(run({"zstd", "-t", "-q", recording.artifact.string()}).code == 0);
      CHECK(read_losses(recording.artifact).value().total() == 0);
    }
  }
}

TEST_CASE("the ready replay configuration runs from the root of the project") {
  const TemporaryDirectory folder;
  const Recording recording =
      record_with(folder.path(), {"--config", "configs/replay.toml", "-o", folder.path().string()},
                  {.directory = MEMTRACK_PROJECT_DIR});
  CHECK(recording.outcome.code == 0);
  CHECK(recording.events.size() == 140'000);
}

TEST_CASE("a replay of what is no artifact, or is damaged, fails with one sentence and 125") {
  const TemporaryDirectory folder;
  const std::string text = (folder.path() / "text").string();
  std::ofstream(text) << "no artifact\n";
  for (const std::string& file : {text, text + "-missing"}) {
    const Outcome outcome = run({program(), "record", "--source", "replay", "--set", "source.replay.file=" + file, "-o",
                                 folder.path().string()});
    INFO(outcome.err);
    CHECK(outcome.code == 125);
    CHECK(lines_of(outcome.err).size() == 1);
    CHECK(outcome.err.find(file) != std::string::npos);
  }
}

TEST_CASE("a synthetic capture holds as many events as asked for, and the same seed gives the same") {
  const auto dump_of = [](const std::string& seed) {
    const TemporaryDirectory folder;
    const Recording recording =
        record_with(folder.path(), {"record", "--source", "synthetic", "-o", folder.path().string(), "--set",
                                    "source.synthetic.events=100001", "--set", "source.synthetic.seed=" + seed});
    CHECK(recording.outcome.code == 0);
    CHECK(recording.events.size() == 100'001);
    return run({program(), "dump", recording.artifact.string()}).out;
  };
  const std::string first = dump_of("7");
  CHECK((dump_of("7") == first));
  CHECK((dump_of("8") != first));
}

}  // namespace
