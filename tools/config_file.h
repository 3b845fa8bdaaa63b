// Configuration files and overriding flags to a Config, and back to TOML.
#pragma once

#include <string>
#include <string_view>

#include "codec/error.h"
#include "tools/config.h"

namespace memtrack::tools {

/// Applies a TOML document to `config`. `file` is for messages only. The error (kInvalidArgument) is the first one of
/// the document, as "FILE:LINE:COLUMN: sentence", with the nearest valid key where a key is unknown; `config` is then
/// partly changed.
[[nodiscard]] Result<void> apply_toml(std::string_view document, const std::string& file, Config& config);

/// Reads a file of at most 1 MiB and applies it.
[[nodiscard]] Result<void> apply_config_file(const std::string& path, Config& config);

/// Applies one flag: `dotted` is a key, `text` its value without TOML's quotes; `flag` names it in messages.
[[nodiscard]] Result<void> apply_flag(std::string_view flag, std::string_view dotted, std::string_view text,
                                      Config& config);
/// The value of --set: "section.key=value".
[[nodiscard]] Result<void> apply_assignment(std::string_view assignment, Config& config);

/// All keys with their effective values; apply_toml reads it back. Fails where a value is no UTF-8, which TOML can't
/// hold.
[[nodiscard]] Result<std::string> print_config(const Config& config);

}  // namespace memtrack::tools
