// ProgressLine: one line on a terminal that is rewritten in place and erased at the end.
#pragma once

#include <chrono>
#include <string_view>

namespace memtrack::tools {

/// Shows nothing where `shown` is false. Erases its line when it dies. One thread.
class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ProgressLine(bool shown) : shown_(shown) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  /// Whether it is time for an update: a few a second.
  [[nodiscard]] bool due(Clock::time_point now) const {
    return shown_ && now - last_ >= std::chrono::milliseconds(250);
  }
  void update(std::string_view text, Clock::time_point now);
  /// Erases the line, so that a message can be printed in its place.
  void clear();

 private:
  bool shown_;
  bool visible_ = false;
  Clock::time_point last_ = {};
};

}  // namespace memtrack::tools
