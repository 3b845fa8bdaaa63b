#include "tools/nearest_key.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace memtrack::tools {
namespace {

std::string_view last_part(std::string_view dotted) {
  const std::size_t dot = dotted.rfind('.');
  return dot == std::string_view::npos ? dotted : dotted.substr(dot + 1);
}

std::string_view first_parts(std::string_view dotted) {
  return dotted.substr(0, dotted.rfind('.'));
}

// A name that is right but for its section costs as much as two typing errors.
constexpr std::size_t kOtherSectionCost = 2;

}  // namespace

std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t replaced = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string_view nearest_key(std::string_view wrong, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_cost = std::numeric_limits<std::size_t>::max();
  for (const std::string_view candidate : candidates) {
    const std::size_t whole = edit_distance(wrong, candidate);
    const std::size_t name_only = edit_distance(last_part(wrong), last_part(candidate)) + kOtherSectionCost;
    // A lone word may have been meant as a section.
    const bool lone = wrong.find('.') == std::string_view::npos;
    const std::size_t section_only = lone ? edit_distance(wrong, first_parts(candidate)) + kOtherSectionCost : whole;
    const std::size_t cost = std::min({whole, name_only, section_only});
    if (cost < best_cost) {
      best_cost = cost;
      best = candidate;
    }
  }
  return best;
}

}  // namespace memtrack::tools
