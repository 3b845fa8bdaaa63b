// dump: the selected events of artifacts, as text or as JSON lines.
#pragma once

#include "tools/reader_options.h"

namespace memtrack::tools {

/// Prints to standard output; the worst exit code of the files. Several files are set apart by a line with the name.
[[nodiscard]] int run_dump(const ReaderOptions& options);

}  // namespace memtrack::tools
