// Whether the shim can be loaded into a program at all.
#pragma once

#include <string>

#include "codec/error.h"

namespace memtrack::preload {

/// Why the dynamic loader would not take LD_PRELOAD for `executable`, or not ours ("is statically linked"); empty where
/// it would. Of a script its interpreter counts.
[[nodiscard]] std::string untrackable_reason(const std::string& executable);

/// kTargetUntrackable with the reason where the dynamic loader would not take LD_PRELOAD for `executable`, or not ours:
/// static, setuid, with file capabilities, of another machine or C library. Of a script its interpreter counts.
[[nodiscard]] Result<void> check_trackable(const std::string& executable);

}  // namespace memtrack::preload
