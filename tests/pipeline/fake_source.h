// A source that gives what a test says, poll by poll.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/event_source.h"

namespace memtrack::pipeline {

/// An event whose address is `number`.
inline Event numbered_event(std::uint64_t number) {
  Event event{};
  event.kind = EventKind::kMalloc;
  event.pid = event.tid = 1;
  event.timestamp_ns = number;
  event.addr = number;
  event.alloc.size = 16;
  return event;
}

class FakeSource : public EventSource {
 public:
  struct Answer {
    std::size_t events = 0;
    Poll poll = {};
    bool fail = false;
    std::size_t path_bytes = 0;  // > 0: the events are Mappings with such a path
  };

  std::deque<Answer> answers;
  std::vector<std::chrono::nanoseconds> timeouts;  // of each poll
  std::uint64_t given = 0;

  Result<void> open() override { return {}; }
  [[nodiscard]] std::int32_t root_pid() const override { return 1; }
  Result<void> start() override { return {}; }
  Result<Poll> poll(EventBatch& out, std::size_t max_events, std::chrono::nanoseconds timeout) override {
    timeouts.push_back(timeout);
    if (answers.empty()) return Poll{};
    Answer& answer = answers.front();
    std::size_t room = max_events;
    for (; answer.events > 0 && room > 0 && out.payload_bytes() < (1u << 20); --answer.events, --room) {
      Event event = numbered_event(given++);
      if (answer.path_bytes == 0) {
        out.append(event);
      } else {
        event.kind = EventKind::kMapping;
        out.append_mapping(event, std::string(answer.path_bytes, 'p'));
      }
    }
    if (answer.events > 0) return Poll{};
    const Answer done = answer;
    answers.pop_front();
    if (done.fail) return std::unexpected(Error{.code = ErrorCode::kIo, .message = "the source broke"});
    return done.poll;
  }
  void begin_drain() override {}
  void request_stop() override {}
  Result<void> set_enabled(bool) override { return {}; }
  [[nodiscard]] LossCounters losses() const override { return {}; }
  [[nodiscard]] std::optional<TargetExit> target_exit() const override { return {}; }
  [[nodiscard]] std::vector<std::string> notes() const override { return {}; }
};

}  // namespace memtrack::pipeline
