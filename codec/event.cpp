#include "codec/event.h"

#include <algorithm>
#include <array>

namespace memtrack {
namespace {

// In the order of EventKind.
constexpr std::array<std::string_view, kEventKindCount> kNames = {
    "Malloc", "Free", "Realloc", "Calloc", "AlignedAlloc", "Mmap",    "Munmap", "Brk",
    "Rss",    "Rmap", "Fork",    "Exec",   "Exit",         "Mapping", "Stack"};

}  // namespace

std::string_view to_string(EventKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<EventKind> event_kind(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<EventKind>(found - kNames.begin());
}

}  // namespace memtrack
