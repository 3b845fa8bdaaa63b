// What a capture tells people: pure functions from numbers to text.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "actors/capture_pipeline.h"
#include "codec/loss.h"
#include "tools/config.h"

namespace memtrack::tools {

/// "123 events were lost (ring full: 120, no ring: 3)". Precondition: something was lost.
[[nodiscard]] std::string loss_text(const LossCounters& losses);
/// What to change so that nothing is lost the next time; with the values of this run.
[[nodiscard]] std::string loss_advice(const LossCounters& losses, const Config& config);

/// "123 of 200 events are in the .part file": what a failed capture has kept of what came to it.
[[nodiscard]] std::string salvage_text(const pipeline::CaptureCounters& counters);

/// "exited with 3", "was killed by signal 9 (Killed)", "has not ended".
[[nodiscard]] std::string target_text(const pipeline::TargetExit& target);

/// The lines of the summary, first the most important; notes and losses are not among them.
[[nodiscard]] std::vector<std::string> summary_lines(const actors::CaptureSummary& summary,
                                                     std::chrono::nanoseconds elapsed, SourceKind source);
/// The stages' own counters in one line.
[[nodiscard]] std::string counters_text(const pipeline::CaptureCounters& counters, std::chrono::nanoseconds elapsed);

/// The progress line; the rate is that since `before`, `interval` ago.
[[nodiscard]] std::string progress_text(const pipeline::CaptureCounters& now, const pipeline::CaptureCounters& before,
                                        std::chrono::nanoseconds interval);

/// `path` as a word of a shell command.
[[nodiscard]] std::string shell_word(std::string_view path);

}  // namespace memtrack::tools
