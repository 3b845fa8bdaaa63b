// A capture from its configuration to its exit code.
#pragma once

#include "tools/config.h"

namespace memtrack::tools {

/// Records what `config` says, tells people on stderr, gives the program's exit code. Where a stage is stuck after the
/// shutdown deadline it ends the process itself, as that stage's thread can't be joined.
[[nodiscard]] int run_capture(const Config& config);

}  // namespace memtrack::tools
