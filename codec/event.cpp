#include "codec/event.h"

#include <algorithm>

#include "codec/event_schema.h"

namespace memtrack {
std::string_view to_string(EventKind kind) {
  return schema::kKindNames[static_cast<std::size_t>(kind)];
}

std::optional<EventKind> event_kind(std::string_view name) {
  const auto* found = std::ranges::find(schema::kKindNames, name);
  if (found == schema::kKindNames.end()) return std::nullopt;
  return static_cast<EventKind>(found - schema::kKindNames.begin());
}

}  // namespace memtrack
