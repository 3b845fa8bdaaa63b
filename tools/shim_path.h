// Where the preload shim is.
#pragma once

#include <string>

#include "codec/error.h"

namespace memtrack::tools {

/// The absolute path of the shim: `configured` where it is not empty, else the one beside the program (build tree:
/// ../preload, installed: ../lib/memtrack). Fails where there is none, or where LD_PRELOAD can't express the path.
[[nodiscard]] Result<std::string> find_shim(const std::string& configured);

}  // namespace memtrack::tools
