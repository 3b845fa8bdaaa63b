// stat: the numbers of artifacts.
#pragma once

#include "tools/dump_command.h"

namespace memtrack::tools {

/// Prints to standard output; the worst exit code of the files.
[[nodiscard]] int run_stat(const ReadOptions& options);

}  // namespace memtrack::tools
