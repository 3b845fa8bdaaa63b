// The environment that makes a target load the shim and find the segment.
#pragma once

#include <string>
#include <vector>

#include "codec/error.h"

namespace memtrack::preload {

/// `environment` with the shim in front of what LD_PRELOAD holds already, and the segment's path. kInvalidArgument
/// where the shim's path can't be put into LD_PRELOAD (spaces and colons separate entries there) or is no file.
[[nodiscard]] Result<std::vector<std::string>> make_target_environment(const std::vector<std::string>& environment,
                                                                       const std::string& shim_path,
                                                                       const std::string& segment_path);

}  // namespace memtrack::preload
