// What a capture did not record, by cause. Nothing is lost without being counted here.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <string_view>

namespace memtrack {

/// Numbers are part of the index format: never reuse one. FORMAT.md has the same table.
enum class LossCause : std::uint8_t {
  kRingFull = 0,       ///< on_full = "drop": the thread's ring had no room
  kNoRing = 1,         ///< no free ring for a thread
  kSignalNesting = 2,  ///< recorded from a signal handler nested too deep
  kTrackerGone = 3,    ///< the tracker died and its target went on
  kBadRecord = 4,      ///< a record in shared memory made no sense
  kEarlyCall = 5,      ///< before the shim could reach its segment
};
inline constexpr std::size_t kLossCauseCount = 6;

/// The cause in words, e.g. "ring full".
[[nodiscard]] std::string_view to_string(LossCause cause);

/// Events lost, by cause.
struct LossCounters {
  std::array<std::uint64_t, kLossCauseCount> by_cause{};

  [[nodiscard]] std::uint64_t& operator[](LossCause cause) { return by_cause[static_cast<std::size_t>(cause)]; }
  [[nodiscard]] std::uint64_t operator[](LossCause cause) const { return by_cause[static_cast<std::size_t>(cause)]; }
  [[nodiscard]] std::uint64_t total() const {
    return std::accumulate(by_cause.begin(), by_cause.end(), std::uint64_t{0});
  }
  bool operator==(const LossCounters&) const = default;
};

}  // namespace memtrack
