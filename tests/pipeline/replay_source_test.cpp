#include "pipeline/replay_source.h"

#include <fstream>

#include <doctest/doctest.h>

#include "pipeline/batch.h"
#include "pipeline/synthetic_source.h"
#include "tests/pipeline/artifact_support.h"

namespace memtrack::pipeline {
namespace {

const std::string kGolden = MEMTRACK_GOLDEN_DIR "/";

std::string recorded(const TemporaryFolder& folder, const SyntheticOptions& synthetic, std::uint32_t batch_events) {
  StageLoop loop;
  loop.options.write.directory = folder.path();
  loop.options.batch.events = batch_events;
  return loop.record(*make_synthetic_source(synthetic)).path;
}

void copy_cut(const std::string& from, const std::string& to, std::size_t cut) {
  const auto bytes = read_file(from);
  std::ofstream(to, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size() - cut));
}

}  // namespace

TEST_CASE("each golden file, replayed through the stages, equals its input") {
  for (const char* name : {"kinds", "realistic_3frames", "stacks_2frames", "empty", "old_realloc"}) {
    CAPTURE(name);
    const Decoded before = decode_file(kGolden + name + ".memtrack");
    for (const std::uint32_t batch_events : {1000u, 65'536u}) {
      const TemporaryFolder folder;
      StageLoop loop;
      loop.options.write.directory = folder.path();
      loop.options.batch.events = batch_events;
      loop.window = 7;
      const auto source = make_replay_source(kGolden + name + ".memtrack");
      const auto totals = loop.record(*source);
      const Decoded after = decode_file(totals.path);
      CHECK(same_events(before.events, after.events));
      CHECK(totals.events == before.events.size());
      CHECK(source->notes().empty());
    }
  }
}

TEST_CASE("a replay has the pid of the first event, 1 without events") {
  auto source = make_replay_source(kGolden + "realistic_3frames.memtrack");
  REQUIRE(source->open());
  CHECK(source->root_pid() == 4242);
  source = make_replay_source(kGolden + "empty.memtrack");
  REQUIRE(source->open());
  CHECK(source->root_pid() == 1);
  EventBatch events(10);
  const auto poll = source->poll(events, 10, {});
  REQUIRE(poll);
  CHECK(poll->ended);
}

TEST_CASE("a poll of a replay gives no more than asked for, nor than there is room") {
  const auto source = make_replay_source(kGolden + "realistic_3frames.memtrack");
  REQUIRE(source->open());
  EventBatch events(100);
  REQUIRE(source->poll(events, 7, {}));
  CHECK(events.size() == 7);
  REQUIRE(source->poll(events, 1000, {}));
  CHECK(events.size() == 100);
}

TEST_CASE("a poll of a replay stops where paths and stacks pass 1 MiB") {
  const TemporaryFolder folder;
  const std::string path = recorded(folder, {.events = 50'000, .mix = SyntheticMix::kUniform}, 10'000);
  const auto source = make_replay_source(path);
  REQUIRE(source->open());
  EventBatch events(50'000);
  REQUIRE(source->poll(events, 50'000, {}));
  CHECK(events.payload_bytes() >= kChunkPayloadBytes);
  CHECK(events.payload_bytes() < kChunkPayloadBytes + 10'000);
}

TEST_CASE("a cut artifact ends a replay normally, with a note") {
  const TemporaryFolder folder;
  copy_cut(kGolden + "realistic_3frames.memtrack", folder / "cut", 1000);
  StageLoop loop;
  loop.options.write.directory = folder.path();
  const auto source = make_replay_source(folder / "cut");
  const auto totals = loop.record(*source);
  CHECK(totals.events > 120'000);
  CHECK(totals.events < 140'000);
  REQUIRE(source->notes().size() == 1);
  CHECK(source->notes()[0].find("is cut") != std::string::npos);
}

TEST_CASE("losses of the recording are losses of its replay, with a note") {
  const TemporaryFolder folder;
  StageLoop loop;
  loop.options.write.directory = folder.path();
  LossCounters losses;
  losses[LossCause::kRingFull] = 17;
  const std::string path = loop.record(*make_synthetic_source({.events = 1000}), losses).path;
  const auto source = make_replay_source(path);
  REQUIRE(source->open());
  CHECK(source->losses() == losses);
  REQUIRE(source->notes().size() == 1);
  CHECK(source->notes()[0].find("losses") != std::string::npos);
}

TEST_CASE("damage is an error that names file and frame, after the events before it") {
  const TemporaryFolder folder;
  const std::string path = recorded(folder, {.events = 50'000}, 10'000);
  auto bytes = read_file(path);
  for (std::size_t i = 0; i < 32; ++i) bytes[bytes.size() / 2 + i] = std::byte{0x55};
  std::ofstream(folder / "bad", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const auto source = make_replay_source(folder / "bad");
  REQUIRE(source->open());
  EventBatch events(100'000);
  auto poll = source->poll(events, 100'000, {});
  REQUIRE_FALSE(poll);
  CHECK(poll.error().path == folder / "bad");
  CHECK(poll.error().frame.has_value());
  CHECK(events.size() >= 10'000);
  CHECK_FALSE(source->poll(events, 100'000, {}));
}

TEST_CASE("what is no artifact is refused at open") {
  const TemporaryFolder folder;
  std::ofstream(folder / "empty").flush();
  std::ofstream(folder / "text") << "this is no artifact";
  CHECK(make_replay_source(folder / "empty")->open().error().code == ErrorCode::kEmptyFile);
  CHECK(make_replay_source(folder / "text")->open().error().code == ErrorCode::kNotAnArtifact);
  CHECK(make_replay_source(folder / "none")->open().error().code == ErrorCode::kIo);
  CHECK(make_replay_source(folder / "text")->open().error().path == folder / "text");
}

TEST_CASE("drain, stop and switching of a replay take effect with the next poll") {
  const auto source = make_replay_source(kGolden + "realistic_3frames.memtrack");
  REQUIRE(source->open());
  EventBatch events(200'000);
  source->begin_drain();
  CHECK(source->poll(events, 10, {})->drain_reached);
  CHECK_FALSE(source->poll(events, 10, {})->drain_reached);
  REQUIRE(source->set_enabled(false));
  events.clear();
  const auto rest = source->poll(events, 200'000, {});
  REQUIRE(rest);
  CHECK(rest->ended);
  CHECK(events.size() == 42);
  for (const Event& event : events.events()) CHECK(is_module_event(event.kind));
  const auto stopped = make_replay_source(kGolden + "realistic_3frames.memtrack");
  REQUIRE(stopped->open());
  stopped->request_stop();
  CHECK(stopped->poll(events, 10, {})->ended);
}

}  // namespace memtrack::pipeline
