// /proc/PID/maps and the memory counters of a process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/error.h"

namespace memtrack::pipeline {

struct FileMapping {
  std::uint64_t start = 0;
  std::uint64_t len = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t dev = 0;  ///< kernel coding: major << 20 | minor
  std::uint64_t ino = 0;
  std::string path;
};

/// The executable file mappings in the text of a maps file.
[[nodiscard]] std::vector<FileMapping> parse_executable_mappings(std::string_view maps_text);
/// Those of a live process; nothing where it is gone.
[[nodiscard]] std::optional<std::vector<FileMapping>> read_executable_mappings(std::int32_t pid);

/// The processes whose environment, as their program was started with it, holds `variable` ("NAME=value"). Processes
/// that this user must not look at, and zombies, are left out.
[[nodiscard]] std::vector<std::int32_t> find_processes_with(std::string_view variable);

struct ResidentMemory {
  std::uint64_t file_bytes = 0;
  std::uint64_t anon_bytes = 0;
  std::uint64_t shmem_bytes = 0;
};
/// RssFile, RssAnon, RssShmem of /proc/PID/status; nothing where the process is gone.
[[nodiscard]] std::optional<ResidentMemory> read_resident_memory(std::int32_t pid);

/// The same from the text of a status file; nothing where it has no such lines (a process that has ended).
[[nodiscard]] std::optional<ResidentMemory> parse_resident_memory(std::string_view status_text);

struct ProcessStatus {
  std::string name;              ///< the command name, 15 bytes at most
  bool ended = false;            ///< all its threads have ended; only its parent has not looked yet
  std::uint64_t start_time = 0;  ///< clock ticks after boot; tells two processes with the same number apart
};
/// The text of /proc/PID/stat, whatever the name holds (spaces, parentheses, newlines); nothing where it makes no
/// sense.
[[nodiscard]] std::optional<ProcessStatus> parse_process_status(std::string_view stat_text);
/// That of a process; nothing where it is gone.
[[nodiscard]] std::optional<ProcessStatus> read_process_status(std::int32_t pid);
/// Field 22 of /proc/PID/stat (clock ticks after boot); nothing where the process is gone.
[[nodiscard]] std::optional<std::uint64_t> read_start_time(std::int32_t pid);

}  // namespace memtrack::pipeline
