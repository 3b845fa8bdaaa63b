#include "codec/loss.h"

namespace memtrack {

std::string_view to_string(LossCause cause) {
  switch (cause) {
    case LossCause::kRingFull:
      return "ring full";
    case LossCause::kNoRing:
      return "no free ring";
    case LossCause::kSignalNesting:
      return "signal handlers nested too deep";
    case LossCause::kTrackerGone:
      return "tracker gone";
    case LossCause::kBadRecord:
      return "bad record";
    case LossCause::kEarlyCall:
      return "call before the segment was reachable";
  }
  return "unknown cause";
}

}  // namespace memtrack
