// The control plane: every message that actors of a capture exchange. docs/actors.md has the table.
#pragma once

#include <cstdint>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>

#include "actors/capture_board.h"
#include "actors/capture_pipeline.h"
#include "pipeline/artifact_writer.h"
#include "pipeline/counters.h"

namespace memtrack::actors {

/// caller -> supervisor -> poller
using start_atom = caf::atom_constant<caf::atom("start")>;
/// caller -> supervisor (ticket) -> poller -> batcher (chunk number) -> writer (batch number) => Answer
using drain_atom = caf::atom_constant<caf::atom("drain")>;
/// caller -> supervisor -> poller; at the end writer -> supervisor (Totals)
using shutdown_atom = caf::atom_constant<caf::atom("shutdown")>;
/// batcher -> itself, later
using tick_atom = caf::atom_constant<caf::atom("tick")>;
/// a consumer's doorbell; with own_step: a stage -> itself, to go on
using work_atom = caf::atom_constant<caf::atom("work")>;
/// a producer's doorbell
using room_atom = caf::atom_constant<caf::atom("room")>;
/// stage -> supervisor (StageId)
using failed_atom = caf::atom_constant<caf::atom("failed")>;
/// caller -> supervisor (ticket) -> poller => Answer
using enable_atom = caf::atom_constant<caf::atom("enable")>;
/// the same
using disable_atom = caf::atom_constant<caf::atom("disable")>;
/// anybody -> any => CaptureCounters
using stats_atom = caf::atom_constant<caf::atom("stats")>;
/// anybody -> any => ping; caller -> supervisor (ticket)
using ping_atom = caf::atom_constant<caf::atom("ping")>;
/// Second part of a stage's `work` to itself.
using own_step = caf::atom_constant<caf::atom("own")>;

}  // namespace memtrack::actors

// They never leave the process, so there is nothing to serialise.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(memtrack::actors::StageId)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(memtrack::actors::Answer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(memtrack::pipeline::CaptureCounters)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(memtrack::pipeline::ArtifactWriter::Totals)
