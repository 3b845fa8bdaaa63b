// stat: the numbers of artifacts.
#pragma once

#include "tools/reader_options.h"

namespace memtrack::tools {

/// Answers from the index where there is a trusted one and options.full is not set: at once, without counts a process.
/// Prints to standard output; the worst exit code of the files.
[[nodiscard]] int run_stat(const ReaderOptions& options);

}  // namespace memtrack::tools
