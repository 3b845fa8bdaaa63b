// Events as JSON: one object a line with the artifact's own key names, in the artifact's order.
#pragma once

#include <string>

#include "codec/event_batch.h"

namespace memtrack::tools {

/// Appends event `i` and '\n' to `out`. A Stack's bytes are hex digits; bytes of a path that are no UTF-8 become
/// U+FFFD, as JSON can hold nothing else (the text form keeps them).
void append_json(const EventBatch& batch, std::size_t i, std::string& out);

}  // namespace memtrack::tools
