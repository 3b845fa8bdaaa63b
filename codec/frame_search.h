// Internal to codec: tells a cut last frame from a broken one that has frames behind it.
#pragma once

#include <cstddef>
#include <span>

#include "codec/frame_walk.h"

namespace memtrack {

/// `rest` begins with a frame that runs over the end of the bytes (`walk`). Whether something behind its beginning
/// shows that the file goes on after it: a seek table at the very end, or a frame that can be walked and decoded.
/// Effort: one pass over `rest`, and at most 64 candidates decoded up to 1 MiB each.
[[nodiscard]] bool frame_follows(std::span<const std::byte> rest, const FrameWalk& walk);

}  // namespace memtrack
