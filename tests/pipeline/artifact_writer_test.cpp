#include "pipeline/artifact_writer.h"

#include <fstream>
#include <sys/stat.h>

#include <doctest/doctest.h>

#include "codec/frame_splitter.h"
#include "codec/index.h"
#include "pipeline/synthetic_source.h"
#include "tests/pipeline/artifact_support.h"
#include "tests/support/seed.h"

namespace memtrack::pipeline {
namespace {

const std::string kName = "4242.MemtrackArtifact.msgpack";

struct Fixture {
  TemporaryFolder folder;
  StageLoop loop;

  Fixture() {
    loop.options.write.directory = folder.path();
    loop.options.batch.events = 1000;
  }
  static std::unique_ptr<EventSource> source(std::uint64_t events, SyntheticMix mix = SyntheticMix::kRealistic) {
    return make_synthetic_source({.seed = 3, .events = events, .mix = mix, .stack_hashes = true});
  }
  ArtifactWriter writer() {
    auto made = ArtifactWriter::create(loop.options.write, loop.options.compress, 4242);
    REQUIRE_MESSAGE(made, (made ? "" : to_string(made.error())));
    return std::move(*made);
  }
};

EventBatch events_of(EventSource& source, std::size_t count) {
  EventBatch events(count);
  for (;;) {
    EventBatch chunk(4096);
    const auto poll = source.poll(chunk, 4096, {});
    REQUIRE(poll);
    for (std::size_t i = 0; i < chunk.size(); ++i) events.append_from(chunk, i);
    if (poll->ended) return events;
  }
}

/// What a reader would find in the frames, one by one, without the index.
void check_index(const ParsedIndex& index, std::span<const std::byte> artifact) {
  EventBatch modules(100'000);
  for (const IndexedFrame& frame : index.digest.frames) {
    EventBatch events(100'000);
    ArtifactCursor cursor(artifact.subspan(frame.offset, frame.compressed_bytes));
    const auto status = cursor.next(events);
    REQUIRE(status);
    REQUIRE(*status == ArtifactCursor::Status::kEnd);
    FrameSummary summary;
    for (std::size_t i = 0; i < events.size(); ++i) {
      summary.add(events[i]);
      if (is_module_event(events[i].kind)) modules.append_from(events, i);
    }
    CHECK(frame.summary == summary);
  }
  if (!index.digest.has_modules) return;
  EventBatch section(100'000);
  if (!index.modules.empty()) {
    ArtifactCursor cursor(index.modules);
    REQUIRE(cursor.next(section));
  }
  CHECK(same_events(section, modules));
}

ParsedIndex index_of(std::span<const std::byte> artifact) {
  auto index = parse_index(artifact);
  REQUIRE_MESSAGE(index, (index ? "" : to_string(index.error())));
  REQUIRE(*index);
  return **index;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "frames that come in any order are written by number (B1)") {
  const std::uint64_t seed = test::test_seed();
  INFO("seed ", seed);
  loop.seed = seed;
  for (const std::size_t window : {1u, 13u, 1000u}) {
    CAPTURE(window);
    loop.window = window;
    const auto totals = loop.record(*source(50'500, SyntheticMix::kUniform));
    CHECK(totals.events == 50'500);
    CHECK(totals.frames == 51);
    CHECK(totals.path == folder / kName);
    CHECK(totals.file_bytes == std::filesystem::file_size(totals.path));
    const Decoded decoded = decode_file(totals.path);
    CHECK(same_events(decoded.events, events_of(*source(50'500, SyntheticMix::kUniform), 50'500)));
    CHECK(folder.entries() == 1);
  }
}

TEST_CASE_FIXTURE(Fixture, "a frame is in the file as soon as its predecessors are") {
  ArtifactWriter writer = this->writer();
  auto frames = loop.frames_of(*source(3000));
  CHECK(writer.written_seq() == 0);
  REQUIRE(writer.add(std::move(frames[1])));
  REQUIRE(writer.add(std::move(frames[2])));
  CHECK(writer.written_seq() == 0);
  CHECK(writer.totals().frames == 0);
  REQUIRE(writer.add(std::move(frames[0])));
  CHECK(writer.written_seq() == 3);
  CHECK(writer.totals().events == 3000);
  CHECK(std::filesystem::file_size(folder / (kName + ".part")) == writer.totals().file_bytes);
  REQUIRE(writer.sync());
  CHECK(decode_file(folder / (kName + ".part")).events.size() == 3000);
}

TEST_CASE_FIXTURE(Fixture, "the index says what a full decode finds") {
  LossCounters losses;
  losses[LossCause::kRingFull] = 17;
  SyntheticMix mix = SyntheticMix::kRealistic;
  SUBCASE("realistic") {}
  SUBCASE("every kind") {
    mix = SyntheticMix::kUniform;
  }
  const auto totals = loop.record(*source(20'500, mix), losses);
  const auto artifact = read_file(totals.path);
  const ParsedIndex index = index_of(artifact);
  CHECK(index.digest.frames.size() == 21);
  CHECK(index.digest.losses == losses);
  CHECK(index.digest.has_modules);
  check_index(index, artifact);
}

TEST_CASE_FIXTURE(Fixture, "large modules sections are cut at events, and left out over the cap") {
  loop.options.batch.events = 20'000;
  SUBCASE("cut") {
    const auto artifact = read_file(loop.record(*source(100'000, SyntheticMix::kUniform)).path);
    const ParsedIndex index = index_of(artifact);
    CHECK(index.digest.has_modules);
    check_index(index, artifact);
    FrameSplitter splitter(index.modules);
    std::size_t frames = 0;
    for (;;) {
      const auto frame = splitter.next();
      REQUIRE(frame);
      if (!*frame) break;
      ++frames;
      CHECK((*frame)->content_size.value() <= 64u << 10);
    }
    CHECK(frames > 10);
  }
  SUBCASE("left out") {
    loop.options.write.index_modules_bytes = 100'000;
    const auto artifact = read_file(loop.record(*source(100'000, SyntheticMix::kUniform)).path);
    const ParsedIndex index = index_of(artifact);
    CHECK_FALSE(index.digest.has_modules);
    CHECK(index.modules.empty());
    check_index(index, artifact);
  }
}

TEST_CASE_FIXTURE(Fixture, "with mappings = suffix all Mappings come last, and the index agrees (A13)") {
  loop.options.write.mappings = MappingPlacement::kSuffix;
  loop.window = 5;
  const std::uint64_t count = 60'000;
  const auto totals = loop.record(*source(count, SyntheticMix::kUniform));
  CHECK(totals.events == count);
  const EventBatch all = events_of(*source(count, SyntheticMix::kUniform), count);
  EventBatch expected(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (all[i].kind != EventKind::kMapping) expected.append_from(all, i);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (all[i].kind == EventKind::kMapping) expected.append_from(all, i);
  }
  CHECK(same_events(decode_file(totals.path).events, expected));
  const auto artifact = read_file(totals.path);
  const ParsedIndex index = index_of(artifact);
  check_index(index, artifact);
  for (const IndexedFrame& frame : index.digest.frames) CHECK(frame.decompressed_bytes < 2u << 20);
}

TEST_CASE_FIXTURE(Fixture, "a frame whose events all went to the suffix is not written") {
  loop.options.write.mappings = MappingPlacement::kSuffix;
  ArtifactWriter writer = this->writer();
  Compressor compressor = loop.compressor();
  for (std::uint64_t seq = 0; seq < 3; ++seq) {
    Slice slice{.events = loop.chunks.take(), .begin = 0, .end = 1};
    Event event{};
    event.kind = EventKind::kMapping;
    event.addr = seq;
    slice.events->append_mapping(event, std::string(seq == 1 ? 3'000'000 : 10, 'p'));
    auto frame = compressor.compress(Batch{.seq = seq, .event_count = 1, .slices = {slice}});
    REQUIRE(frame);
    REQUIRE(writer.add(std::move(*frame)));
  }
  const auto totals = writer.finish({});
  REQUIRE_MESSAGE(totals, (totals ? "" : to_string(totals.error())));
  CHECK(totals->events == 3);
  const Decoded decoded = decode_file(totals->path);
  REQUIRE(decoded.events.size() == 3);
  for (std::uint64_t i = 0; i < 3; ++i) CHECK(decoded.events[i].addr == i);
  CHECK(decoded.events.path(decoded.events[1]).size() == 3'000'000);
  const auto artifact = read_file(totals->path);
  check_index(index_of(artifact), artifact);
}

TEST_CASE_FIXTURE(Fixture, "without an index the file is data frames only") {
  loop.options.write.index = false;
  const auto totals = loop.record(*source(5000));
  const auto artifact = read_file(totals.path);
  const auto index = parse_index(artifact);
  REQUIRE(index);
  CHECK_FALSE(*index);
  FrameSplitter splitter(artifact);
  for (std::size_t i = 0; i < 5; ++i) {
    const auto frame = splitter.next();
    REQUIRE((frame && *frame));
    CHECK_FALSE((*frame)->skippable);
  }
  const auto end = splitter.next();
  REQUIRE(end);
  CHECK_FALSE(*end);
}

TEST_CASE_FIXTURE(Fixture, "a run without events writes one empty frame (A7)") {
  for (const bool with_index : {true, false}) {
    loop.options.write.index = with_index;
    const auto totals = loop.record(*source(0));
    CHECK(totals.frames == 1);
    CHECK(totals.events == 0);
    const auto artifact = read_file(totals.path);
    FrameSplitter splitter(artifact);
    const auto frame = splitter.next();
    REQUIRE((frame && *frame));
    CHECK_FALSE((*frame)->skippable);
    CHECK((*frame)->content_size == 0);
    CHECK(decode_file(totals.path).events.empty());
    if (with_index) {
      CHECK(index_of(artifact).digest.frames.size() == 1);
      CHECK(index_of(artifact).digest.has_modules);
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "an abandoned writer leaves a readable .part and nothing else (A1)") {
  {
    ArtifactWriter writer = this->writer();
    auto frames = loop.frames_of(*source(5000, SyntheticMix::kUniform));
    std::swap(frames[3], frames[4]);
    for (std::size_t i = 0; i < 4; ++i) REQUIRE(writer.add(std::move(frames[i])));
  }
  CHECK(folder.entries() == 1);
  const Decoded decoded = decode_file(folder / (kName + ".part"));
  CHECK(decoded.events.size() == 3000);
  CHECK_FALSE(decoded.truncated);
}

TEST_CASE_FIXTURE(Fixture, "an old .part is replaced, an old artifact only at the end") {
  std::ofstream(folder / (kName + ".part")) << "old part";
  std::ofstream(folder / kName) << "old";
  ArtifactWriter writer = this->writer();
  CHECK(std::filesystem::file_size(folder / (kName + ".part")) == 0);
  CHECK(std::filesystem::file_size(folder / kName) == 3);
  REQUIRE(writer.finish({}));
  CHECK(decode_file(folder / kName).events.empty());
  CHECK(folder.entries() == 1);
}

TEST_CASE_FIXTURE(Fixture, "files are the owner's alone, whatever the umask says") {
  const mode_t before = ::umask(0777);
  ArtifactWriter writer = this->writer();
  ::umask(before);
  struct stat status = {};
  REQUIRE(::stat((folder / (kName + ".part")).c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  REQUIRE(writer.finish({}));
  REQUIRE(::stat((folder / kName).c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
}

TEST_CASE_FIXTURE(Fixture, "planted symlinks are replaced, not followed") {
  std::ofstream(folder / "victim") << "precious";
  std::filesystem::create_symlink(folder / "victim", folder / (kName + ".part"));
  std::filesystem::create_symlink(folder / "victim", folder / kName);
  const auto totals = loop.record(*source(100));
  CHECK(std::filesystem::file_size(folder / "victim") == 8);
  CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(totals.path)));
  CHECK(decode_file(totals.path).events.size() == 100);
}

TEST_CASE_FIXTURE(Fixture, "synced artifacts are the same") {
  loop.options.write.sync = true;
  const auto totals = loop.record(*source(5000));
  CHECK(decode_file(totals.path).events.size() == 5000);
}

TEST_CASE_FIXTURE(Fixture, "a file that is being read is never replaced, under whatever name") {
  std::ofstream(folder / kName) << "precious";
  loop.options.write.input = folder / kName;
  SUBCASE("as the artifact") {}
  SUBCASE("as the .part") {
    std::filesystem::rename(folder / kName, loop.options.write.input += ".part");
  }
  SUBCASE("through another name") {
    std::filesystem::create_hard_link(folder / kName, folder / "other");
    loop.options.write.input = folder / "other";
  }
  const auto refused = ArtifactWriter::create(loop.options.write, loop.options.compress, 4242);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kInvalidArgument);
  CHECK(std::filesystem::file_size(loop.options.write.input) == 8);
}

TEST_CASE_FIXTURE(Fixture, "over the cap on its frames the index is left out, and the artifact says so") {
  loop.options.write.index_frames = 5;
  const auto five = loop.record(*source(5000));
  CHECK(five.note.empty());
  CHECK(index_of(read_file(five.path)).digest.frames.size() == 5);
  const auto six = loop.record(*source(5001));
  CHECK(six.note.find("too many frames for an index") != std::string::npos);
  const auto parsed = parse_index(read_file(six.path));
  REQUIRE(parsed);
  CHECK_FALSE(*parsed);
  CHECK(decode_file(six.path).events.size() == 5001);
}

TEST_CASE_FIXTURE(Fixture, "a salvaged .part ends with the suffix of what came") {
  loop.options.write.mappings = MappingPlacement::kSuffix;
  const EventBatch expected = events_of(*source(3000, SyntheticMix::kUniform), 3000);
  ArtifactWriter writer = this->writer();
  auto frames = loop.frames_of(*source(5000, SyntheticMix::kUniform));
  for (std::size_t i = 0; i < 3; ++i) REQUIRE(writer.add(std::move(frames[i])));
  REQUIRE(writer.salvage());
  CHECK_FALSE(writer.finish({}));
  const Decoded decoded = decode_file(folder / (kName + ".part"));
  CHECK(decoded.events.size() == expected.size());
  CHECK(decoded.events[decoded.events.size() - 1].kind == EventKind::kMapping);
}

TEST_CASE_FIXTURE(Fixture, "a discarded file is gone, but never somebody else's of that name") {
  this->writer().discard();
  CHECK(folder.entries() == 0);
  ArtifactWriter first = this->writer();
  ArtifactWriter second = this->writer();
  first.discard();
  REQUIRE(second.finish({}));
  CHECK(folder.entries() == 1);
}

TEST_CASE("the name of an artifact is that of its root process") {
  CHECK(artifact_name(1) == "1.MemtrackArtifact.msgpack");
  CHECK(artifact_name(4'194'304) == "4194304.MemtrackArtifact.msgpack");
}

}  // namespace memtrack::pipeline
