// The control plane's vocabulary. Data never travels in messages: it flows through the bounded queues.
#pragma once

#include <caf/all.hpp>

#include "codec/error.h"
#include "pipeline/counters.h"

namespace memtrack::actors {

using start_atom = caf::atom_constant<caf::atom("start")>;        // poller: begin polling; replies a Reply
using drain_atom = caf::atom_constant<caf::atom("drain")>;        // poller, passed down with a ticket
using shutdown_atom = caf::atom_constant<caf::atom("shutdown")>;  // poller: stop the source; the rest is passed down
using tick_atom = caf::atom_constant<caf::atom("tick")>;          // batcher: look at the age of the partial batch
using work_atom = caf::atom_constant<caf::atom("work")>;          // doorbell of a consumer
using room_atom = caf::atom_constant<caf::atom("room")>;          // doorbell of a producer
using failed_atom = caf::atom_constant<caf::atom("failed")>;      // supervisor: a stage failed
using enable_atom = caf::atom_constant<caf::atom("enable")>;      // poller; replies a Reply when the cut is made
using disable_atom = caf::atom_constant<caf::atom("disable")>;    // likewise
using stats_atom = caf::atom_constant<caf::atom("stats")>;        // supervisor: replies the counters
using ping_atom = caf::atom_constant<caf::atom("ping")>;          // supervisor: replies itself

/// Outcome of a request, as a message.
struct Reply {
  Result<void> result = {};
};

}  // namespace memtrack::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(memtrack::actors::Reply)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(memtrack::pipeline::CaptureCounters)
