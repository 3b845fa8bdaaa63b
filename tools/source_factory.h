// The source of events that a configuration asks for.
#pragma once

#include <memory>

#include "codec/error.h"
#include "pipeline/event_source.h"
#include "tools/config.h"

namespace memtrack::tools {

/// What the table of keys can't check: settings that need each other, the command, the output folder. Nothing has been
/// started or written when it returns.
[[nodiscard]] Result<void> check_capture(const Config& config);

/// Precondition: check_capture passed.
[[nodiscard]] Result<std::unique_ptr<pipeline::EventSource>> make_source(const Config& config);

}  // namespace memtrack::tools
