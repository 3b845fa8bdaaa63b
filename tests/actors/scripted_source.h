// A source that a test feeds from another thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/event_source.h"

namespace memtrack::actors {

/// What the test and the source share; the source itself belongs to the pipeline.
struct Script {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t available = 0;  // events that the source may give so far
  bool endless = false;         // a producer that never pauses
  bool ended = false;           // ends by itself once all available are given
  bool poll_fails = false;
  bool drain_throws = false;
  bool switch_throws = false;
  bool stop_throws = false;
  bool gives_mappings = false;  // instead of Malloc events
  std::uint64_t given = 0;
  std::uint64_t drain_mark = UINT64_MAX;
  bool stop_requested = false;
  std::vector<bool> switches;
  LossCounters losses = {};

  void feed(std::uint64_t events) {
    const std::scoped_lock lock(mutex);
    available += events;
    changed.notify_all();
  }
  void end() {
    const std::scoped_lock lock(mutex);
    ended = true;
    changed.notify_all();
  }
  std::uint64_t given_now() {
    const std::scoped_lock lock(mutex);
    return given;
  }
};

inline Event scripted_event(std::uint64_t number) {
  Event event{};
  event.kind = EventKind::kMalloc;
  event.pid = event.tid = 77;
  event.timestamp_ns = event.addr = number;
  event.alloc.size = number % 4096;
  return event;
}

class ScriptedSource : public pipeline::EventSource {
 public:
  explicit ScriptedSource(std::shared_ptr<Script> script) : script_(std::move(script)) {}

  Result<void> open() override { return {}; }
  [[nodiscard]] std::int32_t root_pid() const override { return 77; }
  Result<void> start() override { return {}; }
  Result<Poll> poll(EventBatch& out, std::size_t max_events, std::chrono::nanoseconds timeout) override {
    std::unique_lock lock(script_->mutex);
    script_->changed.wait_for(lock, timeout, [this] { return something(); });
    if (script_->poll_fails) return std::unexpected(Error{.code = ErrorCode::kIo, .message = "the source broke"});
    for (; max_events > 0 && (script_->endless || script_->given < script_->available); --max_events) {
      give(out, scripted_event(script_->given++));
    }
    const bool all_given = script_->given >= script_->available;
    Poll poll{.drain_reached = script_->given >= script_->drain_mark,
              .ended = (script_->ended && all_given && !script_->endless) || script_->stop_requested};
    if (script_->stop_requested && !script_->endless && !all_given) poll.ended = false;  // gives what is there first
    if (poll.drain_reached) script_->drain_mark = UINT64_MAX;
    return poll;
  }
  void begin_drain() override {
    const std::scoped_lock lock(script_->mutex);
    if (script_->drain_throws) throw std::runtime_error("no drain");
    script_->drain_mark = script_->endless ? script_->given + 1 : script_->available;
  }
  void request_stop() override {
    const std::scoped_lock lock(script_->mutex);
    script_->stop_requested = true;
    script_->changed.notify_all();
    if (script_->stop_throws) throw std::runtime_error("no stop");
  }
  Result<void> set_enabled(bool enabled) override {
    const std::scoped_lock lock(script_->mutex);
    if (script_->switch_throws) throw std::runtime_error("no switch");
    script_->switches.push_back(enabled);
    return {};
  }
  [[nodiscard]] LossCounters losses() const override { return script_->losses; }
  [[nodiscard]] std::optional<pipeline::TargetExit> target_exit() const override { return {}; }
  [[nodiscard]] std::vector<std::string> notes() const override { return {"a note"}; }

 private:
  void give(EventBatch& out, Event event) const {
    if (!script_->gives_mappings) return out.append(event);
    event.kind = EventKind::kMapping;
    event.mapping = {};
    out.append_mapping(event, "/lib/one.so");
  }
  [[nodiscard]] bool something() const {
    return script_->endless || script_->ended || script_->stop_requested || script_->poll_fails ||
           script_->given < script_->available || script_->given >= script_->drain_mark;
  }
  std::shared_ptr<Script> script_;
};

}  // namespace memtrack::actors
