// Reading an artifact in the caller's thread: splitter and decoder in one loop.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "codec/error.h"
#include "codec/event_batch.h"
#include "pipeline/read_parts.h"
#include "pipeline/splitter.h"

namespace memtrack::pipeline {

/// Gives the selected events to the consumer, in file order; what a reader with many workers gives, too.
[[nodiscard]] ReadOutcome read_serially(const ArtifactView& artifact, const ReadOptions& options,
                                        const PartConsumer& consumer);
/// The same with a splitter that was made before.
[[nodiscard]] ReadOutcome read_serially(Splitter& splitter, const ArtifactView& artifact, const ReadOptions& options,
                                        const PartConsumer& consumer);

/// The Mapping, Fork and Exec events of an artifact, in file order.
struct ModuleEvents {
  std::vector<EventBatch> batches = {};
  bool truncated = false;  ///< the last frame is cut; these are the events before the cut
  DecodeCounters counters = {};
};

/// A consumer that appends to `batches`: few events a part, so they are put together.
[[nodiscard]] PartConsumer collect_into(std::vector<EventBatch>& batches);

/// The module events of an artifact in memory; from its index where that can be trusted.
[[nodiscard]] Result<ModuleEvents> module_events(std::span<const std::byte> artifact);

}  // namespace memtrack::pipeline
