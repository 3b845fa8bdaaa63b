// The valid key that a mistyped one most likely meant.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace memtrack::tools {

/// Levenshtein distance: inserted, removed and replaced bytes.
[[nodiscard]] std::size_t edit_distance(std::string_view left, std::string_view right);

/// The candidate nearest to `wrong`. Both are dotted ("batch.events"); a right name in a wrong section is near, too.
/// Empty only where there are no candidates.
[[nodiscard]] std::string_view nearest_key(std::string_view wrong, std::span<const std::string_view> candidates);

}  // namespace memtrack::tools
