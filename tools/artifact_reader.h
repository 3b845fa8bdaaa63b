// What the reading commands share: an artifact from its path to its selected events, with its state at the end.
#pragma once

#include <string>
#include <string_view>

#include "pipeline/read_parts.h"
#include "tools/reader_options.h"

namespace memtrack::tools {

using pipeline::ReadOutcome;

/// Gives the selected events to `consumer`, in file order, decoded on options.workers threads; where there is a
/// `render` it is called by those. A file that can't be opened is an outcome like any other. Progress is shown where
/// `show_progress` is set.
[[nodiscard]] ReadOutcome read_artifact(const std::string& path, const ReaderOptions& options, bool show_progress,
                                        const pipeline::PartConsumer& consumer, const pipeline::Render& render = {});

/// What sets several files apart in an output: "==> PATH <==", or {"file":PATH}.
[[nodiscard]] std::string file_heading(const std::string& path, bool json);
/// Tells what there is to tell of an outcome; `verb` says what was done with the events ("printed").
void say_outcome(const ReadOutcome& outcome, const std::string& path, std::string_view verb);
/// kExitWhole, kExitTruncated, kExitDamaged or kExitNoArtifact.
[[nodiscard]] int outcome_exit_code(const ReadOutcome& outcome);
/// "whole", "truncated", "damaged", "no artifact".
[[nodiscard]] std::string_view outcome_name(const ReadOutcome& outcome);

}  // namespace memtrack::tools
