// What the reading commands share: an artifact from its path to batches of events, with its state at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "codec/error.h"
#include "codec/event_batch.h"
#include "codec/event_decoder.h"

namespace memtrack::tools {

struct ReadOutcome {
  bool truncated = false;           ///< the last frame is cut; the events before the cut were given
  std::optional<Error> error = {};  ///< damage, or no artifact; the events before it were given
  bool stopped = false;             ///< the sink wanted no more
  DecodeCounters counters = {};
  std::uint64_t frames = 0;  ///< data frames
};

/// Takes a batch; false ends the reading.
using BatchSink = std::function<bool(const EventBatch&)>;

/// Gives all events of `artifact` to `sink`, in file order, in bounded memory. `path` completes the error. Progress is
/// shown where `show_progress` is set.
[[nodiscard]] ReadOutcome read_artifact(std::span<const std::byte> artifact, const std::string& path,
                                        bool show_progress, const BatchSink& sink);

/// Tells what there is to tell of an outcome; `verb` says what was done with the events ("printed").
void say_outcome(const ReadOutcome& outcome, const std::string& path, std::string_view verb);
/// kExitWhole, kExitTruncated, kExitDamaged or kExitNoArtifact.
[[nodiscard]] int outcome_exit_code(const ReadOutcome& outcome);
/// "whole", "truncated", "damaged", "no artifact".
[[nodiscard]] std::string_view outcome_name(const ReadOutcome& outcome);

/// A file that shrinks while it is mapped ends the program with a sentence and kExitDamaged, not with a core dump.
/// `path` is that of the file being read; it must stay valid.
void guard_mapped_file(const char* path);

}  // namespace memtrack::tools
