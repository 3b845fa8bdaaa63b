// remove_stale_segments(): tidies up after trackers that were killed.
#include <algorithm>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/process/proc_maps.h"
#include "preload/segment.h"

namespace memtrack::preload {
namespace {

struct DirectoryEnd {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

/// The tracker's pid in a segment's name; nothing for any other name.
std::optional<std::int32_t> tracker_of(std::string_view name) {
  constexpr std::string_view kPrefix = MT_SEGMENT_PREFIX;
  constexpr std::string_view kHex = "0123456789abcdef";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::int32_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc{} || pid <= 0) return std::nullopt;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  if (name.size() != 17 || name.front() != '-') return std::nullopt;
  if (name.find_first_not_of(kHex, 1) != std::string_view::npos) return std::nullopt;
  return pid;
}

/// True where the header names a tracker that still lives.
bool tracker_lives(int fd, std::int32_t pid) {
  const auto start_time = pipeline::read_start_time(pid);
  if (!start_time) return false;
  mt_segment header{};
  const ssize_t count = ::pread(fd, &header, sizeof header, 0);
  if (count != static_cast<ssize_t>(sizeof header) || header.magic != MT_SEGMENT_MAGIC) return true;  // being made
  return header.tracker_pid != pid || header.tracker_start_time == *start_time;
}

bool remove_if_stale(int directory, const char* name) {
  const auto pid = tracker_of(name);
  if (!pid) return false;
  const int fd = ::openat(directory, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  struct stat info{};
  const bool ours = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid();
  // The lock is the last word: in another pid namespace the tracker may live though no such process is seen here.
  const bool stale = ours && !tracker_lives(fd, *pid) && ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  const bool removed = stale && ::unlinkat(directory, name, 0) == 0;
  ::close(fd);
  return removed;
}

}  // namespace

std::size_t remove_stale_segments(const std::string& directory) {
  const std::unique_ptr<DIR, DirectoryEnd> entries(::opendir(directory.c_str()));
  if (!entries) return 0;
  std::size_t removed = 0;
  while (const dirent* entry = ::readdir(entries.get())) {
    if (remove_if_stale(::dirfd(entries.get()), entry->d_name)) ++removed;
  }
  return removed;
}

}  // namespace memtrack::preload
