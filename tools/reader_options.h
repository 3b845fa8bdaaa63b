// ReaderOptions: what a reading command is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/read_parts.h"

namespace memtrack::tools {

struct ReaderOptions {
  std::vector<std::string> files = {};
  bool json = false;
  pipeline::ReadSelection selection = {};
  std::uint32_t workers = 0;  ///< 0: one a processor
  bool use_index = true;
  bool full = false;                             ///< stat: decode, even where the index answers
  std::optional<std::int32_t> maps_pid = {};     ///< modules: the maps of this process
  std::optional<std::uint64_t> maps_at_ns = {};  ///< at this time only
};

}  // namespace memtrack::tools
