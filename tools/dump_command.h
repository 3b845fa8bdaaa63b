// dump: every event of artifacts, as text or as JSON lines.
#pragma once

#include <string>
#include <vector>

namespace memtrack::tools {

struct ReadOptions {
  std::vector<std::string> files = {};
  bool json = false;
};

/// Prints to standard output; the worst exit code of the files. Several files are set apart by a line with the name.
[[nodiscard]] int run_dump(const ReadOptions& options);

}  // namespace memtrack::tools
