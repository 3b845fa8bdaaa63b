// Events as text: one line an event, tab-separated, as tests/golden/README.md describes.
#pragma once

#include <string>

#include "codec/event_batch.h"

namespace memtrack {

/// Appends event `i` as a line (with '\n') to `out`: pid, tid, timestamp, addr, type, then name=value fields; bytes in
/// hex, lists comma-separated, `\\ \t \n \r` escaped in paths, stack_hash= last.
void append_text(const EventBatch& batch, std::size_t i, std::string& out);

}  // namespace memtrack
