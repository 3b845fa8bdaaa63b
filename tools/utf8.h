// Whether bytes are UTF-8, for outputs (TOML, JSON) that can hold nothing else.
#pragma once

#include <string_view>

namespace memtrack::tools {

/// Well-formed UTF-8 without overlong forms and surrogates.
[[nodiscard]] bool is_utf8(std::string_view bytes);

}  // namespace memtrack::tools
