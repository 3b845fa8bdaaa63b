#include "tools/exit_code.h"

namespace memtrack::tools {

int target_exit_code(const pipeline::TargetExit& target) {
  return target.signaled ? 128 + target.code : target.code;
}

int capture_exit_code(const std::optional<pipeline::TargetExit>& target, const LossCounters& losses, bool allow_loss) {
  if (losses.total() > 0 && !allow_loss) return kExitTrackerFailed;
  return target ? target_exit_code(*target) : 0;
}

int capture_failure_exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kTargetNotFound:
      return kExitNotFound;
    case ErrorCode::kTargetNotExecutable:
      return kExitNotExecutable;
    default:
      return kExitTrackerFailed;
  }
}

int reader_exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kIo:               // missing, unreadable
    case ErrorCode::kInvalidArgument:  // no regular file
    case ErrorCode::kEmptyFile:
    case ErrorCode::kNotAnArtifact:
      return kExitNoArtifact;
    default:
      return kExitDamaged;
  }
}

}  // namespace memtrack::tools
