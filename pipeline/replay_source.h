// ReplaySource: an artifact as a source of events.
#pragma once

#include <memory>
#include <string>

#include "pipeline/event_source.h"

namespace memtrack::pipeline {

/// Gives the events of an artifact in file order, as fast as they are asked for, in bounded memory. A truncated
/// artifact ends the source normally with a note; damage is an error. Losses that its
/// index tells are this source's losses, too. root_pid() is the pid of the first event (1 for
/// an artifact without events).
[[nodiscard]] std::unique_ptr<EventSource> make_replay_source(std::string path);

}  // namespace memtrack::pipeline
