#include "pipeline/process/proc_maps.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

namespace memtrack::pipeline {
namespace {

struct DirectoryEnd {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

std::optional<std::string> read_proc_file(std::int32_t pid, const char* name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  std::array<char, 16384> piece;
  for (;;) {
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {  // ESRCH: it ended while we read
      ::close(fd);
      return std::nullopt;
    }
    if (count == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
  ::close(fd);
  return text;
}

/// Takes a number off the front of `text`; nothing where there is none.
std::optional<std::uint64_t> take_number(std::string_view& text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take_char(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

void skip_spaces(std::string_view& text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
}

/// The kernel writes a newline in a path as \012, and nothing else in octal.
std::string unescape_newlines(std::string_view path) {
  constexpr std::string_view kEscape = "\\012";
  std::string out;
  out.reserve(path.size());
  while (!path.empty()) {
    const std::size_t at = path.find(kEscape);
    out.append(path.substr(0, at));
    if (at == std::string_view::npos) break;
    out.push_back('\n');
    path.remove_prefix(at + kEscape.size());
  }
  return out;
}

/// start-end perms offset major:minor inode   path
std::optional<FileMapping> parse_line(std::string_view line) {
  const auto start = take_number(line, 16);
  if (!start || !take_char(line, '-')) return std::nullopt;
  const auto end = take_number(line, 16);
  if (!end || *end < *start || !take_char(line, ' ') || line.size() < 5 || line[2] != 'x') return std::nullopt;
  line.remove_prefix(4);
  skip_spaces(line);
  const auto offset = take_number(line, 16);
  skip_spaces(line);
  const auto major = take_number(line, 16);
  if (!offset || !major || !take_char(line, ':')) return std::nullopt;
  const auto minor = take_number(line, 16);
  skip_spaces(line);
  const auto inode = take_number(line, 10);
  if (!minor || !inode || *inode == 0) return std::nullopt;
  skip_spaces(line);
  if (line.empty() || line.front() != '/') return std::nullopt;
  return FileMapping{.start = *start,
                     .len = *end - *start,
                     .file_offset = *offset,
                     .dev = (*major << 20) | *minor,
                     .ino = *inode,
                     .path = unescape_newlines(line)};
}

std::optional<std::uint64_t> kilobytes(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + label.size());
  skip_spaces(text);
  const auto value = take_number(text, 10);
  if (!value) return std::nullopt;
  return *value * 1024;
}

}  // namespace

std::vector<FileMapping> parse_executable_mappings(std::string_view maps_text) {
  std::vector<FileMapping> mappings;
  while (!maps_text.empty()) {
    const std::size_t end = maps_text.find('\n');
    if (auto mapping = parse_line(maps_text.substr(0, end))) mappings.push_back(std::move(*mapping));
    if (end == std::string_view::npos) break;
    maps_text.remove_prefix(end + 1);
  }
  return mappings;
}

std::optional<std::vector<FileMapping>> read_executable_mappings(std::int32_t pid) {
  const auto text = read_proc_file(pid, "maps");
  if (!text) return std::nullopt;
  return parse_executable_mappings(*text);
}

std::vector<std::int32_t> find_processes_with(std::string_view variable) {
  std::vector<std::int32_t> found;
  const std::unique_ptr<DIR, DirectoryEnd> entries(::opendir("/proc"));
  if (!entries) return found;
  const std::string entry_text = std::string(variable) + '\0';
  while (const dirent* entry = ::readdir(entries.get())) {
    std::string_view name = entry->d_name;
    const auto pid = take_number(name, 10);
    if (!pid || !name.empty()) continue;
    const auto environment = read_proc_file(static_cast<std::int32_t>(*pid), "environ");
    if (!environment) continue;
    const std::size_t at = environment->find(entry_text);
    const bool whole = at == 0 || (at != std::string::npos && (*environment)[at - 1] == '\0');
    if (whole) found.push_back(static_cast<std::int32_t>(*pid));
  }
  return found;
}

std::optional<ResidentMemory> parse_resident_memory(std::string_view status_text) {
  // The newline in front keeps a command name that looks like a label from being taken for one.
  const auto anon = kilobytes(status_text, "\nRssAnon:");
  const auto file = kilobytes(status_text, "\nRssFile:");
  const auto shmem = kilobytes(status_text, "\nRssShmem:");
  if (!anon || !file || !shmem) return std::nullopt;
  return ResidentMemory{.file_bytes = *file, .anon_bytes = *anon, .shmem_bytes = *shmem};
}

std::optional<ResidentMemory> read_resident_memory(std::int32_t pid) {
  const auto text = read_proc_file(pid, "status");
  if (!text) return std::nullopt;
  return parse_resident_memory(*text);
}

std::optional<ProcessStatus> parse_process_status(std::string_view stat_text) {
  const std::size_t open = stat_text.find('(');
  const std::size_t close = stat_text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  ProcessStatus status;
  status.name = stat_text.substr(open + 1, close - open - 1);
  std::string_view fields = stat_text.substr(close + 1);
  skip_spaces(fields);
  if (fields.empty()) return std::nullopt;
  const char state = fields.front();
  std::uint64_t thread_count = 0;
  for (int field = 4; field <= 22; ++field) {  // the state was field 3
    const std::size_t space = fields.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    fields.remove_prefix(space + 1);
    if (field != 20 && field != 22) continue;
    std::string_view number = fields;
    const auto value = take_number(number, 10);
    if (!value) return std::nullopt;
    (field == 20 ? thread_count : status.start_time) = *value;
  }
  // A leader that called pthread_exit is a zombie too, but its process lives on in the other threads.
  status.ended = state == 'X' || (state == 'Z' && thread_count <= 1);
  return status;
}

std::optional<ProcessStatus> read_process_status(std::int32_t pid) {
  const auto text = read_proc_file(pid, "stat");
  if (!text) return std::nullopt;
  return parse_process_status(*text);
}

std::optional<std::uint64_t> read_start_time(std::int32_t pid) {
  const auto status = read_process_status(pid);
  if (!status) return std::nullopt;
  return status->start_time;
}

}  // namespace memtrack::pipeline
