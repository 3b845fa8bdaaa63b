// What happens to an artifact where the disk, the folder or the caller does not play along.
#include <cerrno>
#include <csignal>
#include <fstream>
#include <sys/resource.h>

#include <doctest/doctest.h>

#include "pipeline/artifact_writer.h"
#include "pipeline/synthetic_source.h"
#include "tests/pipeline/artifact_support.h"

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
  Result<ArtifactWriter> create() { return ArtifactWriter::create(loop.options.write, loop.options.compress, 4242); }
  std::vector<Frame> frames(std::uint64_t events) {
    return loop.frames_of(*make_synthetic_source({.events = events, .mix = SyntheticMix::kUniform}));
  }
};

/// While it lives, no file of this process grows over `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_ = {};
};

Error failure_of(const Result<ArtifactWriter>& writer) {
  REQUIRE_FALSE(writer);
  return writer.error();
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a write that fails ends the artifact, and what was written stays readable (B12)") {
  auto all = frames(20'000);
  auto writer = create();
  REQUIRE(writer);
  std::vector<Result<void>> added;
  std::uint64_t written = 0;
  {
    const FileSizeLimit limit(300'000);
    for (Frame& frame : all) added.push_back(writer->add(std::move(frame)));
    written = writer->written_seq();
    CHECK_FALSE(writer->finish({}));
  }
  std::size_t good = 0;
  while (good < added.size() && added[good]) ++good;
  REQUIRE(good > 0);
  REQUIRE(good < added.size());
  CHECK(written <= good + 1);
  for (std::size_t i = good; i < added.size(); ++i) {
    REQUIRE_FALSE(added[i]);
    CHECK(added[i].error().code == ErrorCode::kIo);
    CHECK(added[i].error().system_errno == EFBIG);
    CHECK(added[i].error().path == folder / (kName + ".part"));
    CHECK(added[i].error().message.find("ulimit -f") != std::string::npos);
  }
  CHECK(folder.entries() == 1);
  const Decoded decoded = decode_file(folder / (kName + ".part"));
  CHECK(decoded.events.size() == good * 1000);
  CHECK_FALSE(decoded.truncated);
  CHECK(writer->totals().events == good * 1000);
}

TEST_CASE_FIXTURE(Fixture, "a failure while the index is written leaves all events in the .part") {
  auto all = frames(2000);
  auto writer = create();
  REQUIRE(writer);
  for (Frame& frame : all) REQUIRE(writer->add(std::move(frame)));
  Result<ArtifactWriter::Totals> totals = std::unexpected(Error{});
  {
    const FileSizeLimit limit(writer->totals().file_bytes + 100);
    totals = writer->finish({});
  }
  REQUIRE_FALSE(totals);
  CHECK(totals.error().system_errno == EFBIG);
  CHECK(decode_file(folder / (kName + ".part")).events.size() == 2000);
}

TEST_CASE_FIXTURE(Fixture, "an output folder that is missing, a file, or read-only is told with what to do") {
  SUBCASE("missing") {
    loop.options.write.directory = folder / "none";
    const Error error = failure_of(create());
    CHECK(error.code == ErrorCode::kIo);
    CHECK(error.system_errno == ENOENT);
    CHECK(to_string(error).starts_with(folder / "none: the output folder does not exist; create it or set"));
  }
  SUBCASE("a file") {
    std::ofstream(folder / "file").flush();
    loop.options.write.directory = folder / "file";
    const Error error = failure_of(create());
    CHECK(error.system_errno == ENOTDIR);
    CHECK(error.message.find("write.directory") != std::string::npos);
  }
  SUBCASE("not for us (nobody, root neither, makes files in /sys)") {
    loop.options.write.directory = "/sys";
    const Error error = failure_of(create());
    CHECK(error.code == ErrorCode::kIo);
    CHECK((error.system_errno == EACCES || error.system_errno == EROFS || error.system_errno == EPERM));
    CHECK(error.path == "/sys/" + kName + ".part");
    CHECK(error.message.find("write.directory") != std::string::npos);
  }
}

TEST_CASE_FIXTURE(Fixture, "names that are taken by folders are told") {
  SUBCASE("the .part") {
    std::filesystem::create_directory(folder / (kName + ".part"));
    const Error error = failure_of(create());
    CHECK(error.path == folder / (kName + ".part"));
    CHECK(error.message.find("in the way") != std::string::npos);
  }
  SUBCASE("the artifact") {
    std::filesystem::create_directory(folder / kName);
    auto writer = create();
    REQUIRE(writer);
    for (Frame& frame : frames(100)) REQUIRE(writer->add(std::move(frame)));
    const auto totals = writer->finish({});
    REQUIRE_FALSE(totals);
    CHECK(totals.error().system_errno == EISDIR);
    CHECK(decode_file(folder / (kName + ".part")).events.size() == 100);
  }
}

TEST_CASE_FIXTURE(Fixture, "another capture's file is not given our name") {
  auto first = create();
  REQUIRE(first);
  auto second = create();
  REQUIRE(second);
  const auto totals = first->finish({});
  REQUIRE_FALSE(totals);
  CHECK(totals.error().message.find("replaced") != std::string::npos);
  CHECK(second->finish({}));
}

TEST_CASE_FIXTURE(Fixture, "a frame that comes twice, too far ahead or never is an error, not a hole") {
  auto all = frames(3000);
  auto writer = create();
  REQUIRE(writer);
  SUBCASE("twice") {
    Frame again = all[0];
    REQUIRE(writer->add(std::move(all[0])));
    const auto added = writer->add(std::move(again));
    REQUIRE_FALSE(added);
    CHECK(added.error().code == ErrorCode::kStageFailed);
    CHECK_FALSE(writer->add(std::move(all[1])));
  }
  SUBCASE("too far ahead") {
    all[1].seq = 5000;
    CHECK_FALSE(writer->add(std::move(all[1])));
  }
  SUBCASE("never") {
    REQUIRE(writer->add(std::move(all[0])));
    REQUIRE(writer->add(std::move(all[2])));
    const auto totals = writer->finish({});
    REQUIRE_FALSE(totals);
    CHECK(totals.error().message == "frame 1 never came to the writer");
    CHECK(decode_file(folder / (kName + ".part")).events.size() == 1000);
  }
}

TEST_CASE_FIXTURE(Fixture, "a complete artifact takes nothing more") {
  auto writer = create();
  REQUIRE(writer);
  REQUIRE(writer->finish({}));
  const auto added = writer->add(std::move(frames(10)[0]));
  REQUIRE_FALSE(added);
  CHECK(added.error().code == ErrorCode::kClosed);
}

}  // namespace memtrack::pipeline
