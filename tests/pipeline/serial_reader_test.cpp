#include "pipeline/serial_reader.h"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "tests/pipeline/read_support.h"
#include "tests/support/seed.h"

namespace memtrack::pipeline {
namespace {

Reading read(std::span<const std::byte> artifact, const ReadSelection& selection = {}, bool use_index = true) {
  return gather([&](const PartConsumer& consumer) {
    return read_serially({.bytes = artifact}, {.selection = selection, .use_index = use_index}, consumer);
  });
}

std::string golden_path(const std::string& name) {
  return std::string(MEMTRACK_GOLDEN_DIR) + "/" + name + ".memtrack";
}

const ReadSelection kModules = ReadSelection::modules();

// Selections that keep little, much and nothing.
std::vector<ReadSelection> selections(const EventBatch& events) {
  const Event& one = events[events.size() / 3];
  return {kModules,
          {.kinds = kind_bit(EventKind::kStack) | kind_bit(EventKind::kMalloc)},
          {.pids = {one.pid, 77}},
          {.since_ns = one.timestamp_ns, .until_ns = one.timestamp_ns + (1ull << 40)},
          {.kinds = kModuleKinds, .pids = {one.pid}, .until_ns = one.timestamp_ns},
          {.kinds = 0}};
}

void write(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

TEST_CASE("the module events of the golden files are the rows Mapping, Fork and Exec of their text (A18)") {
  for (const std::string name : {"kinds", "realistic_3frames", "stacks_2frames", "empty", "old_realloc"}) {
    INFO(name);
    const Bytes artifact = read_file(golden_path(name));
    check_same(read(artifact, kModules), oracle(artifact, kModules));
    const auto found = module_events(artifact);
    REQUIRE(found);
    std::string text;
    for (const EventBatch& batch : found->batches) append_lines(batch, text);
    CHECK((text == oracle(artifact, kModules).text));
    CHECK_FALSE(found->truncated);
  }
}

TEST_CASE("a selected reading is the full one, filtered, whatever is in the file (A18, A5, A13)") {
  const auto seed = test::test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 40; ++round) {
    Bytes artifact = random_artifact(random);
    if (round % 2 == 1) artifact.resize(random() % artifact.size());
    if (artifact.empty()) continue;
    const EventBatch events = uniform_events(30, random());
    check_same(read(artifact), oracle(artifact));
    for (const ReadSelection& selection : selections(events)) {
      const Reading selected = read(artifact, selection);
      check_same(selected, oracle(artifact, selection));
      CHECK(selected.outcome.counters.unknown_kinds == oracle(artifact).outcome.counters.unknown_kinds);
    }
  }
}

TEST_CASE("with index, without, and with a damaged one the same events are selected") {
  const SyntheticOptions synthetic{.seed = 3, .events = 30'000, .mix = SyntheticMix::kUniform};
  const EventBatch events = uniform_events(30'000, 3);
  const Bytes artifact = indexed_artifact(synthetic, 1000);
  REQUIRE(parse_index(artifact).value());
  Bytes damaged = artifact;
  damaged[damaged.size() - 300] ^= std::byte{1};
  for (const ReadSelection& selection : selections(events)) {
    const Reading wanted = oracle(artifact, selection);
    check_same(read(artifact, selection), wanted);
    check_same(read(artifact, selection, /*use_index=*/false), wanted);
    check_same(read(damaged, selection), wanted);
  }
  check_same(read(artifact), oracle(artifact));
  CHECK(read(artifact, kModules).outcome.from_index);
  CHECK_FALSE(read(artifact, kModules, /*use_index=*/false).outcome.from_index);
}

TEST_CASE("what the index rules out is not touched") {
  const SyntheticOptions synthetic{.seed = 5, .events = 20'000};
  Bytes artifact = indexed_artifact(synthetic, 1000);
  const auto index = parse_index(artifact);
  REQUIRE(index.value());
  const auto& frames = (*index)->digest.frames;
  REQUIRE(frames.size() == 20);
  const ReadSelection last_frame{.since_ns = frames[19].summary.first_timestamp_ns};
  const std::string wanted = oracle(artifact, last_frame).text;
  const std::string modules = oracle(artifact, kModules).text;
  // Damage in all frames but the last: who reads them fails.
  for (std::size_t i = 0; i < 19; ++i) artifact[frames[i].offset + frames[i].compressed_bytes / 2] ^= std::byte{0xFF};
  CHECK((read(artifact, last_frame).text == wanted));
  CHECK((read(artifact, kModules).text == modules));
  CHECK(read(artifact, last_frame).outcome.frames == 1);
  CHECK(read(artifact).outcome.error);
}

TEST_CASE("a module section that can't be decoded is not believed; the data frames are read") {
  const SyntheticOptions synthetic{.seed = 5, .events = 20'000};
  const Bytes artifact = indexed_artifact(synthetic, 1000);
  const auto index = parse_index(artifact);
  REQUIRE(index.value());
  const auto at = static_cast<std::size_t>((*index)->modules.data() - artifact.data());
  REQUIRE((*index)->modules.size() > 100);
  const Reading wanted = oracle(artifact, kModules);
  for (std::size_t i = 0; i < (*index)->modules.size(); i += 7) {
    Bytes damaged = artifact;
    damaged[at + i] ^= std::byte{0x10};
    check_same(read(damaged, kModules), wanted);
  }
}

TEST_CASE("files that were joined are read whole, whatever index the last one has") {
  const Bytes first = indexed_artifact({.seed = 1, .events = 3000}, 1000);
  const Bytes second = indexed_artifact({.seed = 2, .events = 3000}, 1000);
  Bytes both = first;
  append(both, second);
  check_same(read(both, kModules), oracle(both, kModules));
  CHECK_FALSE(read(both, kModules).outcome.from_index);
  CHECK((read(both).text == read(first).text + read(second).text));
}

TEST_CASE("a cut at every byte of the last frame gives all events before it and says so (A1, A10)") {
  const PlainArtifact whole = plain_artifact(uniform_events(60, 11), 5);
  const std::string all = oracle(whole.bytes).text;
  for (std::size_t cut = whole.starts[4]; cut < whole.bytes.size(); ++cut) {
    const std::span bytes(whole.bytes.data(), cut);
    const Reading full = read(bytes);
    CHECK_FALSE(full.outcome.error);
    CHECK(full.outcome.truncated == (cut > whole.starts[4]));
    CHECK(all.starts_with(full.text));
    check_same(read(bytes, kModules), oracle(bytes, kModules));
  }
}

TEST_CASE("a cut anywhere is never a wrong event (A1)") {
  const auto seed = test::test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  const PlainArtifact whole = plain_artifact(uniform_events(100, 12), 5);
  const std::string all = oracle(whole.bytes).text;
  for (int round = 0; round < 1000; ++round) {
    const std::span bytes(whole.bytes.data(), 1 + random() % whole.bytes.size());
    const Reading full = read(bytes);
    CHECK_FALSE(full.outcome.error);
    CHECK(all.starts_with(full.text));
    check_same(read(bytes, kModules), oracle(bytes, kModules));
  }
}

TEST_CASE("a flipped bit is an error or changes nothing where frames have checksums (A2, A3)") {
  const auto seed = test::test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  const PlainArtifact whole = plain_artifact(uniform_events(60, 13), 5);
  const std::string all = oracle(whole.bytes).text;
  const std::string modules = oracle(whole.bytes, kModules).text;
  const auto check_flip = [&](std::size_t at, unsigned bit) {
    CAPTURE(at);
    CAPTURE(bit);
    Bytes damaged = whole.bytes;
    damaged[at] ^= static_cast<std::byte>(1u << bit);
    for (const ReadSelection& selection : {ReadSelection{}, kModules}) {
      const Reading got = read(damaged, selection);
      const std::string& wanted = selection.selects_by_kind() ? modules : all;
      CHECK(wanted.starts_with(got.text));
      if (!got.outcome.error && !got.outcome.truncated) CHECK((got.text == wanted));
      // A last frame that runs over the end looks cut; any other one is damaged.
      if (at < whole.starts[4]) CHECK_FALSE(got.outcome.truncated);
    }
  };
  for (std::size_t frame = 0; frame < 5; ++frame) {
    for (std::size_t at = 0; at < 18; ++at) {
      for (unsigned bit = 0; bit < 8; ++bit) check_flip(whole.starts[frame] + at, bit);
    }
  }
  for (int round = 0; round < 10'000; ++round) {
    check_flip(random() % whole.bytes.size(), static_cast<unsigned>(random() % 8));
  }
}

TEST_CASE("a file that shrinks while it is read is an error, not a signal") {
  const TemporaryFolder folder;
  const std::string path = folder / "artifact";
  const Bytes artifact = indexed_artifact({.seed = 7, .events = 60'000}, 5000);
  for (const std::size_t left : {std::size_t{0}, std::size_t{4000}, artifact.size() / 2, artifact.size() - 1}) {
    CAPTURE(left);
    write(path, artifact);
    const auto file = MappedFile::open(path);
    REQUIRE(file);
    std::string text;
    const ReadOutcome outcome = read_serially(ArtifactView::of(*file), {}, [&](const PartView& part) {
      append_lines(part.events, text);
      std::filesystem::resize_file(path, left);
      return true;
    });
    REQUIRE(outcome.error);
    CHECK(outcome.error->code == ErrorCode::kFileShrank);
    CHECK(outcome.error->path == path);
    CHECK(oracle(artifact).text.starts_with(text));
  }
}

TEST_CASE("a consumer that wants no more ends the reading") {
  const PlainArtifact whole = plain_artifact(uniform_events(1000, 14), 5);
  int parts = 0;
  const auto outcome = read_serially({.bytes = whole.bytes}, {}, [&](const PartView&) { return ++parts < 2; });
  CHECK(outcome.stopped);
  CHECK(parts == 2);
  CHECK_FALSE(outcome.error);
}

TEST_CASE("text is made where it is asked for") {
  const PlainArtifact whole = plain_artifact(uniform_events(20'000, 15), 2);
  const Reading rendered = gather([&](const PartConsumer& consumer) {
    return read_serially({.bytes = whole.bytes}, {.render = append_lines}, consumer);
  });
  check_same(rendered, oracle(whole.bytes));
  CHECK(rendered.outcome.events == 20'000);
  CHECK(rendered.outcome.frames == 2);
}

}  // namespace memtrack::pipeline
