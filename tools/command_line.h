// Command lines to what they ask for.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tools/config.h"
#include "tools/reader_options.h"

namespace memtrack::tools {

struct CaptureCall {
  Config config = {};
};
struct PrintConfigCall {
  Config config = {};
};
struct DumpCall {
  ReaderOptions options = {};
};
struct ModulesCall {
  ReaderOptions options = {};
};
struct StatCall {
  ReaderOptions options = {};
};
/// --help and --version: text for standard output.
struct TextCall {
  std::string text = {};
};
using Call = std::variant<CaptureCall, PrintConfigCall, DumpCall, ModulesCall, StatCall, TextCall>;

struct UsageError {
  std::string message = {};
  int exit_code = 0;
};

/// Reads arguments (without the program's name) and the configuration file that they name. What stands behind the
/// first "--" is the target's command, or, for readers, files.
[[nodiscard]] std::expected<Call, UsageError> parse_command_line(std::span<const std::string> arguments);

}  // namespace memtrack::tools
