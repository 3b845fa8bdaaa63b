// Which number the program ends with, as docs/architecture.md lists them.
#pragma once

#include <optional>

#include "codec/error.h"
#include "codec/loss.h"
#include "pipeline/event_source.h"

namespace memtrack::tools {

inline constexpr int kExitWhole = 0;
inline constexpr int kExitOutputFailed = 1;  ///< a reader could not write its standard output
inline constexpr int kExitReaderUsage = 2;
inline constexpr int kExitTruncated = 3;
inline constexpr int kExitDamaged = 4;
inline constexpr int kExitNoArtifact = 5;
inline constexpr int kExitTrackerFailed = 125;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

/// The target's own status; 128+N where signal N ended it.
[[nodiscard]] int target_exit_code(const pipeline::TargetExit& target);
/// Of a capture that went to its end: 125 where events were lost and that is not allowed; 0 where there was no target.
[[nodiscard]] int capture_exit_code(const std::optional<pipeline::TargetExit>& target, const LossCounters& losses,
                                    bool allow_loss);
/// Of a capture that failed.
[[nodiscard]] int capture_failure_exit_code(ErrorCode code);
/// Of a reader that met an error in a file, or could not read it at all.
[[nodiscard]] int reader_exit_code(ErrorCode code);

}  // namespace memtrack::tools
