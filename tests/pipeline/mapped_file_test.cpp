#include "pipeline/mapped_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <doctest/doctest.h>

#include "tests/pipeline/artifact_support.h"

namespace memtrack::pipeline {

TEST_CASE("a mapped file shows the file's bytes") {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << std::string(10'000, 'x') << "end";
  auto file = MappedFile::open(folder / "file");
  REQUIRE(file);
  REQUIRE(file->bytes().size() == 10'003);
  CHECK(file->bytes()[10'002] == std::byte{'d'});
  CHECK(file->path() == folder / "file");
  const MappedFile moved = std::move(*file);
  CHECK(moved.bytes()[0] == std::byte{'x'});
}

TEST_CASE("a file of 0 bytes is an empty span, not an error (A7)") {
  const TemporaryFolder folder;
  std::ofstream(folder / "file").flush();
  const auto file = MappedFile::open(folder / "file");
  REQUIRE(file);
  CHECK(file->bytes().empty());
}

TEST_CASE("a file that shrinks while it is mapped reads as zeros and says so") {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << std::string(100'000, 'x');
  const auto file = MappedFile::open(folder / "file");
  const auto other = MappedFile::open(folder / "file");
  REQUIRE(file);
  CHECK(file->check_whole());
  SUBCASE("by pages, and grows again") {
    std::filesystem::resize_file(folder / "file", 5'000);
    CHECK(file->bytes()[50'000] == std::byte{0});
    CHECK(file->bytes()[99'999] == std::byte{0});
    CHECK(file->bytes()[4'999] == std::byte{'x'});
    std::filesystem::resize_file(folder / "file", 100'000);
    REQUIRE_FALSE(file->check_whole());
    CHECK(file->check_whole().error().code == ErrorCode::kFileShrank);
    CHECK(to_string(file->check_whole().error()) == folder / "file: the file became shorter while it was read");
    CHECK(other->check_whole());  // has read nothing of what was lost
  }
  SUBCASE("by a part of its last page, which no fault tells") {
    std::filesystem::resize_file(folder / "file", 99'990);
    CHECK(file->bytes()[99'995] == std::byte{0});
    REQUIRE_FALSE(file->check_whole());
  }
  SUBCASE("and is released") {
    std::filesystem::resize_file(folder / "file", 5'000);
    CHECK(file->bytes()[50'000] == std::byte{0});
    file->release(0, 100'000);
    CHECK(file->bytes()[50'000] == std::byte{0});
    CHECK(file->bytes()[0] == std::byte{'x'});
  }
}

TEST_CASE("released pages are read from the file again") {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << std::string(100'000, 'x');
  const auto file = MappedFile::open(folder / "file");
  REQUIRE(file);
  for (const std::uint64_t offset : {0u, 1u, 4096u, 50'000u, 99'999u}) {
    file->release(offset, std::min<std::uint64_t>(20'000, 100'000 - offset));
    CHECK(file->bytes()[offset] == std::byte{'x'});
    CHECK(file->bytes()[99'999] == std::byte{'x'});
  }
}

TEST_CASE("what can't be mapped is told in one sentence") {
  const TemporaryFolder folder;
  SUBCASE("nothing there") {
    const auto file = MappedFile::open(folder / "none");
    REQUIRE_FALSE(file);
    CHECK(file.error().code == ErrorCode::kIo);
    CHECK(file.error().system_errno == ENOENT);
    CHECK(to_string(file.error()).starts_with(folder / "none: can't be read: there is no such file"));
  }
  SUBCASE("a folder") {
    const auto file = MappedFile::open(folder.path());
    REQUIRE_FALSE(file);
    CHECK(file.error().code == ErrorCode::kInvalidArgument);
    CHECK(to_string(file.error()) == folder.path() + ": is a folder; name a file in it");
  }
  SUBCASE("a pipe, without waiting for its other end") {
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    const auto file = MappedFile::open(folder / "pipe");
    REQUIRE_FALSE(file);
    CHECK(file.error().code == ErrorCode::kInvalidArgument);
  }
  SUBCASE("a path through a file") {
    std::ofstream(folder / "file").flush();
    const auto file = MappedFile::open(folder / "file/more");
    REQUIRE_FALSE(file);
    CHECK(file.error().system_errno == ENOTDIR);
  }
}

}  // namespace memtrack::pipeline
