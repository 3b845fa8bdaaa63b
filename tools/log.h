// What people read: one line a message on stderr, nothing on stdout.
#pragma once

#include <string>
#include <string_view>

#include "tools/config.h"

namespace memtrack::tools {

/// Messages below this level are not shown. kInfo before the first call.
void set_log_level(LogLevel level);

/// Each prints "memtrack-pipeline: TEXT" as one line, control characters made visible. Any thread.
void say_error(std::string_view text);
void say_warning(std::string_view text);
void say_info(std::string_view text);
void say_debug(std::string_view text);

/// `text` with control characters as \n, \t, \x1b: a file name can't forge a second line or move the cursor.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace memtrack::tools
