// ModuleMaps: from module events to which file was mapped where, in which process, from when to when.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "codec/event_batch.h"

namespace memtrack::tools {

struct ModuleMap {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
  std::string path = {};
  std::uint64_t from_ns = 0;                                           ///< it is there from here
  std::uint64_t until_ns = std::numeric_limits<std::uint64_t>::max();  ///< and gone here; the largest number: never

  [[nodiscard]] bool is_there(std::uint64_t time_ns) const { return from_ns <= time_ns && time_ns < until_ns; }
};

/// How to use: add() all batches of module events, then of() for each process wanted.
/// Rules: events count in the order of their time stamps, whatever order they came in; at one time Exec before Mapping
/// before Fork, else file order. A Fork gives the child what the parent has, and takes what an earlier process of that
/// number had; an Exec clears; a Mapping takes the place of what it overlaps.
/// Memory: with module events. One thread.
class ModuleMaps {
 public:
  void add(const EventBatch& batch);
  /// All maps that the process ever had, by the time they came, then by address.
  [[nodiscard]] std::vector<ModuleMap> of(std::int32_t pid) const;

 private:
  struct Change {
    std::uint64_t time_ns;
    EventKind kind;
    std::int32_t pid;
    std::int32_t parent_pid;
    ModuleMap map;
  };
  std::vector<Change> changes_;
};

}  // namespace memtrack::tools
