#include "preload/segment.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "pipeline/process/proc_maps.h"
#include "tests/support/temporary_directory.h"

using namespace memtrack;
using namespace memtrack::preload;

namespace {

constexpr std::uint64_t kMiB = 1u << 20;

SegmentSettings own_settings() {
  return {.tracker_pid = ::getpid(), .tracker_start_time = pipeline::read_start_time(::getpid()).value()};
}

/// A segment's file in `directory` as a tracker would leave it.
std::filesystem::path leave_segment(const std::filesystem::path& directory, std::int32_t pid, std::uint64_t start_time,
                                    const std::string& digits = "0123456789abcdef") {
  mt_segment header{};
  header.magic = MT_SEGMENT_MAGIC;
  header.tracker_pid = pid;
  header.tracker_start_time = start_time;
  const auto path = directory / (MT_SEGMENT_PREFIX + std::to_string(pid) + "-" + digits);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(&header), sizeof header);
  return path;
}

std::int32_t dead_pid() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  ::waitpid(pid, nullptr, 0);
  return pid;
}

}  // namespace

TEST_CASE("a plan fills the size with rings and never passes it") {
  for (const std::uint64_t segment : {1 * kMiB, 7 * kMiB + 4097, 256 * kMiB, 5'000 * kMiB}) {
    for (const std::uint64_t ring : {4096ull, 65536ull, 1ull * kMiB}) {
      const auto layout = plan_segment(segment, ring);
      if (!layout) continue;
      INFO(segment, " ", ring);
      CHECK(layout->bytes <= segment);
      const bool capped = layout->ring_count == 65'536;
      CHECK((capped || segment - layout->bytes < ring + 2 * 4096 + sizeof(mt_ring)));
      CHECK(layout->ring_slots == ring / MT_SLOT_BYTES);
      CHECK(layout->images_offset >= sizeof(mt_segment));
      CHECK(layout->rings_offset >= layout->images_offset + layout->image_count * sizeof(mt_image));
      CHECK(layout->data_offset >= layout->rings_offset + layout->ring_count * sizeof(mt_ring));
      CHECK(layout->data_offset % 4096 == 0);
      CHECK(layout->rings_offset % MT_CACHE_LINE == 0);
    }
  }
  CHECK(plan_segment(256 * kMiB, 1 * kMiB)->ring_count == 255);
  CHECK(plan_segment(256 * kMiB, 1 * kMiB)->image_count == 4096);
}

TEST_CASE("sizes that can't work are refused by the name of their setting") {
  const auto small = plan_segment(1 * kMiB, 1 * kMiB);
  REQUIRE_FALSE(small);
  CHECK(small.error().code == ErrorCode::kInvalidArgument);
  CHECK(small.error().message.find("source.preload.segment_size") != std::string::npos);
  for (const std::uint64_t ring : {0ull, 1ull, 2048ull, 4097ull, 3ull * kMiB, 1ull << 40}) {
    const auto refused = plan_segment(256 * kMiB, ring);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("source.preload.ring_size") != std::string::npos);
  }
  CHECK_FALSE(plan_segment(0, 4096));
}

TEST_CASE("a segment is a file for this user alone and goes with its object") {
  const auto layout = plan_segment(4 * kMiB, 65536).value();
  std::string path;
  {
    auto segment = Segment::create(layout, own_settings());
    REQUIRE(segment);
    path = segment->path();
    struct stat info{};
    REQUIRE(::stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    CHECK(static_cast<std::uint64_t>(info.st_size) == layout.bytes);
    const mt_segment& header = *segment->view().header;
    CHECK(header.magic == MT_SEGMENT_MAGIC);
    CHECK(header.version == MT_SEGMENT_VERSION);
    CHECK(header.ring_count == layout.ring_count);
    CHECK(header.enabled == 1);
    CHECK(header.closed == 0);
    CHECK(header.tracker_pid == ::getpid());
    segment->view().slots(layout.ring_count - 1)[(layout.ring_slots - 1) * 4 + 3] = 1;  // the very last word

    Segment moved = std::move(*segment);
    CHECK(moved.path() == path);
    CHECK(std::filesystem::exists(path));
    const auto other = Segment::create(layout, own_settings());
    REQUIRE(other);
    CHECK(other->path() != path);
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a segment that /dev/shm has no room for is refused with advice") {
  const auto layout = plan_segment(1ull << 50, 1ull << 32);
  REQUIRE(layout);
  const auto segment = Segment::create(*layout, own_settings());
  REQUIRE_FALSE(segment);
  CHECK(segment.error().code == ErrorCode::kLimitExceeded);
  CHECK(segment.error().message.find("source.preload.segment_size") != std::string::npos);
}

TEST_CASE("segments whose tracker is gone are removed, all others stay") {
  const test::TemporaryDirectory directory;
  const auto& at = directory.path();
  const std::int32_t self = ::getpid();
  const std::uint64_t start_time = pipeline::read_start_time(self).value();
  const std::int32_t dead = dead_pid();

  const auto stale = leave_segment(at, dead, 5);
  const auto reused = leave_segment(at, self, start_time + 1);  // the number belongs to a later process now
  const auto own = leave_segment(at, self, start_time, "ffffffffffffffff");
  const auto locked = leave_segment(at, dead, 5, "00000000000000aa");  // a tracker of another pid namespace
  const int lock = ::open(locked.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(lock, LOCK_EX | LOCK_NB) == 0);
  const auto making = at / (MT_SEGMENT_PREFIX + std::to_string(self) + "-00000000000000bb");
  std::ofstream(making).flush();  // its tracker has not written the header yet
  std::vector<std::filesystem::path> foreign;
  for (const std::string name :
       {"memtrack-", "memtrack-x-0123456789abcdef", "memtrack-1-0123", "other-1-0123456789abcdef",
        "memtrack-0-0123456789abcdef", "memtrack--1-0123456789abcdef"}) {
    foreign.push_back(at / name);
    std::ofstream(foreign.back()).flush();
  }
  const auto link = at / (MT_SEGMENT_PREFIX + std::to_string(dead) + "-00000000000000cc");
  std::filesystem::create_symlink("/etc/passwd", link);

  CHECK(remove_stale_segments(at) == 2);
  CHECK_FALSE(std::filesystem::exists(stale));
  CHECK_FALSE(std::filesystem::exists(reused));
  CHECK(std::filesystem::exists(own));
  CHECK(std::filesystem::exists(locked));
  CHECK(std::filesystem::exists(making));
  CHECK(std::filesystem::is_symlink(link));
  for (const auto& path : foreign) CHECK(std::filesystem::exists(path));
  ::close(lock);
  CHECK(remove_stale_segments(at) == 1);
  CHECK(remove_stale_segments(at / "absent") == 0);
}

TEST_CASE("the segment of a tracker that was killed goes at the next start") {
  int report[2];
  REQUIRE(::pipe2(report, O_CLOEXEC) == 0);
  const pid_t tracker = ::fork();
  if (tracker == 0) {
    auto segment = Segment::create(plan_segment(1 * kMiB, 4096).value(), own_settings());
    const std::string path = segment ? segment->path() : "?";
    [[maybe_unused]] const ssize_t told = ::write(report[1], path.data(), path.size());
    for (;;) ::pause();
  }
  char path[256] = {};
  REQUIRE(::read(report[0], path, sizeof path - 1) > 1);
  ::close(report[0]);
  ::close(report[1]);
  static_cast<void>(remove_stale_segments());
  CHECK(std::filesystem::exists(path));
  ::kill(tracker, SIGKILL);
  ::waitpid(tracker, nullptr, 0);
  CHECK(remove_stale_segments() >= 1);
  CHECK_FALSE(std::filesystem::exists(path));
}
