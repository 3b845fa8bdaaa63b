#include "actors/read_pipeline.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <doctest/doctest.h>

#include "tests/pipeline/read_support.h"
#include "tests/support/seed.h"

namespace memtrack::actors {
namespace {

using namespace pipeline;

const ReadSelection kModules = ReadSelection::modules();

ReadOptions options_of(const ReadSelection& selection, std::uint32_t workers, bool use_index = true) {
  return {.selection = selection, .use_index = use_index, .workers = workers, .parallel_bytes = 0};
}

Reading read(std::span<const std::byte> artifact, const ReadOptions& options) {
  return gather(
      [&](const PartConsumer& consumer) { return ReadPipeline({.bytes = artifact}, options, consumer).run(); });
}

}  // namespace

TEST_CASE("any number of decoders gives the same events in the same order, with and without index (A16)") {
  const Bytes artifact = indexed_artifact({.seed = 21, .events = 100'000, .stack_hashes = true}, 4096);
  const std::string all = oracle(artifact).text;
  const std::string modules = oracle(artifact, kModules).text;
  REQUIRE(!modules.empty());
  for (const std::uint32_t workers : {1u, 2u, 8u, 64u}) {
    for (const bool use_index : {true, false}) {
      CAPTURE(workers);
      const Reading full = read(artifact, options_of({}, workers, use_index));
      CHECK_FALSE(full.outcome.error);
      CHECK((full.text == all));
      CHECK(full.outcome.frames == 25);
      CHECK((read(artifact, options_of(kModules, workers, use_index)).text == modules));
      ReadOptions rendered = options_of({}, workers, use_index);
      rendered.render = append_lines;
      CHECK((read(artifact, rendered).text == all));
    }
    const auto found = module_events(artifact, workers);
    REQUIRE(found);
    std::string text;
    for (const EventBatch& batch : found->batches) append_lines(batch, text);
    CHECK((text == modules));
  }
}

TEST_CASE("what the graph gives is what the serial reader gives, however the file ends (A18, A1, A2, A5)") {
  const auto seed = test::test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    Bytes artifact = random_artifact(random);
    if (round % 3 == 1) artifact.resize(1 + random() % artifact.size());
    if (round % 3 == 2) artifact[random() % artifact.size()] ^= std::byte{0x40};
    for (const ReadSelection& selection : {ReadSelection{}, kModules}) {
      const ReadOptions options = options_of(selection, 1 + static_cast<std::uint32_t>(random() % 4));
      const Reading serial =
          gather([&](const PartConsumer& consumer) { return read_serially({.bytes = artifact}, options, consumer); });
      const Reading parallel = read(artifact, options);
      check_same(parallel, serial);
      CHECK(parallel.outcome.counters.events == serial.outcome.counters.events);
      CHECK(parallel.outcome.frames == serial.outcome.frames);
    }
  }
}

TEST_CASE("damage is told with the frame's number and offset, after all events before it (A2)") {
  const PlainArtifact whole = plain_artifact(uniform_events(20'000, 22), 5);
  const std::size_t offset = whole.starts[2];
  const std::size_t middle = offset + (whole.starts[3] - offset) / 2;
  std::string before;
  append_lines(uniform_events(20'000, 22), before);
  const auto check_damage = [&](std::size_t from, std::size_t count) {
    Bytes damaged = whole.bytes;
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(from), count, std::byte{0xA5});
    for (const ReadSelection& selection : {ReadSelection{}, kModules}) {
      const Reading got = read(damaged, options_of(selection, 2));
      REQUIRE(got.outcome.error);
      CHECK(got.outcome.error->frame == 2);
      CHECK(got.outcome.error->offset == offset);
      CHECK_FALSE(got.outcome.truncated);
      if (!selection.selects_by_kind()) CHECK(got.outcome.events >= 8000);
      CHECK(oracle(whole.bytes, selection).text.starts_with(got.text));
    }
  };
  SUBCASE("in the middle") {
    check_damage(middle, 32);
  }
  SUBCASE("its magic") {
    check_damage(offset, 4);
  }
  SUBCASE("a block header") {
    check_damage(offset + 9, 3);
  }
}

TEST_CASE("a consumer that wants no more ends the reading, in whatever state the decoders are") {
  const PlainArtifact whole = plain_artifact(uniform_events(50'000, 23), 50);
  for (int wanted = 1; wanted < 20; ++wanted) {
    int parts = 0;
    const auto outcome = ReadPipeline({.bytes = whole.bytes}, options_of({}, 3), [&](const PartView&) {
                           return ++parts < wanted;
                         }).run();
    CHECK(outcome.stopped);
    CHECK_FALSE(outcome.error);
    CHECK(parts == wanted);
  }
}

TEST_CASE("what a consumer or a render function throws is an error that names the stage") {
  const PlainArtifact whole = plain_artifact(uniform_events(50'000, 24), 50);
  SUBCASE("consumer") {
    int parts = 0;
    const auto outcome = ReadPipeline({.bytes = whole.bytes}, options_of({}, 2), [&](const PartView&) -> bool {
                           if (++parts == 5) throw std::runtime_error("no more paper");
                           return true;
                         }).run();
    REQUIRE(outcome.error);
    CHECK(outcome.error->code == ErrorCode::kStageFailed);
    CHECK(to_string(*outcome.error) == "the reassembler failed: no more paper");
  }
  SUBCASE("render") {
    std::atomic<int> parts{0};
    ReadOptions options = options_of({}, 2);
    options.render = [&](const EventBatch&, std::string&) {
      if (++parts == 5) throw std::runtime_error("no ink");
    };
    const auto outcome = ReadPipeline({.bytes = whole.bytes}, options, [](const PartView&) { return true; }).run();
    REQUIRE(outcome.error);
    CHECK(to_string(*outcome.error) == "the decoder failed: no ink");
  }
}

TEST_CASE("a slow consumer holds the decoders back; they are never far ahead of it") {
  const PlainArtifact whole = plain_artifact(uniform_events(60'000, 25), 60);
  std::atomic<std::uint64_t> rendered{0};
  ReadOptions options = options_of({}, 2);
  options.render = [&](const EventBatch& events, std::string& text) {
    append_lines(events, text);
    rendered += events.size();
  };
  std::uint64_t consumed = 0;
  std::uint64_t ahead = 0;
  std::string text;
  const auto outcome = ReadPipeline({.bytes = whole.bytes}, options, [&](const PartView& part) {
                         ahead = std::max(ahead, rendered.load() - consumed);
                         text += part.text;
                         consumed += static_cast<std::uint64_t>(std::ranges::count(part.text, '\n'));
                         return true;
                       }).run();
  CHECK(outcome.events == 60'000);
  CHECK((text == oracle(whole.bytes).text));
  // Two frames a decoder and two in reserve, of 1,000 events each.
  CHECK(ahead <= 6 * 1000);
}

TEST_CASE("one large frame is streamed in parts, in order (A15)") {
  const EventBatch events = uniform_events(300'000, 26, SyntheticMix::kRealistic);
  const PlainArtifact whole = plain_artifact(events, 1);
  const Reading got = read(whole.bytes, options_of({}, 4));
  CHECK_FALSE(got.outcome.error);
  CHECK((got.text == oracle(whole.bytes).text));
  CHECK(got.outcome.frames == 1);
  CHECK((read(whole.bytes, options_of(kModules, 4)).text == oracle(whole.bytes, kModules).text));
}

TEST_CASE("frames that hold nothing, and files that are none, are read like by one thread (A7)") {
  Bytes artifact;
  for (int i = 0; i < 200; ++i) append(artifact, frame_of({}));
  const Reading nothing = read(artifact, options_of({}, 3));
  CHECK(nothing.text.empty());
  CHECK(nothing.outcome.frames == 200);
  CHECK(read({}, options_of({}, 2)).outcome.error->code == ErrorCode::kEmptyFile);
  CHECK(read(bytes_of("no artifact at all"), options_of({}, 2)).outcome.error->code == ErrorCode::kNotAnArtifact);
}

TEST_CASE("a file that shrinks under many decoders is an error, not a signal") {
  const TemporaryFolder folder;
  const std::string path = folder / "artifact";
  const Bytes artifact = indexed_artifact({.seed = 27, .events = 100'000}, 2000);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(artifact.data()), static_cast<std::streamsize>(artifact.size()));
  const auto file = MappedFile::open(path);
  REQUIRE(file);
  std::string text;
  const auto outcome =
      ReadPipeline(ArtifactView::of(*file), options_of({}, 4, /*use_index=*/false), [&](const PartView& part) {
        append_lines(part.events, text);
        std::filesystem::resize_file(path, artifact.size() / 3);
        return true;
      }).run();
  REQUIRE(outcome.error);
  CHECK(outcome.error->code == ErrorCode::kFileShrank);
  CHECK(oracle(artifact).text.starts_with(text));
}

}  // namespace memtrack::actors
