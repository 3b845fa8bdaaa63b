// EventSink: fills a batch to a limit; what one step makes beyond it is kept for the next batch.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <utility>

#include "codec/event_batch.h"

namespace memtrack::preload {

/// Bounds: one step's events beyond the limit; the caller stops when full().
class EventSink {
 public:
  static constexpr std::size_t kMaxPayloadBytes = 1u << 20;

  /// From now on up to `max_events` go to `out`; first those that were kept.
  void bind(EventBatch& out, std::size_t max_events) {
    out_ = &out;
    left_ = max_events < out.room() ? max_events : out.room();
    while (!kept_.empty() && !full()) {
      auto [event, path] = std::move(kept_.front());
      kept_.pop_front();
      put(event, path);
    }
  }
  [[nodiscard]] bool full() const { return left_ == 0 || out_->payload_bytes() >= kMaxPayloadBytes; }
  [[nodiscard]] bool keeps() const { return !kept_.empty(); }

  void add(const Event& event) {
    if (left_ > 0 && kept_.empty()) {
      out_->append(event);
      --left_;
    } else {
      kept_.emplace_back(event, std::string());
    }
  }
  void add_mapping(const Event& event, const std::string& path) {
    if (left_ > 0 && kept_.empty()) {
      put(event, path);
    } else {
      kept_.emplace_back(event, path);
    }
  }

 private:
  void put(const Event& event, const std::string& path) {
    if (event.kind == EventKind::kMapping) {
      out_->append_mapping(event, path);
    } else {
      out_->append(event);
    }
    --left_;
  }

  EventBatch* out_ = nullptr;
  std::size_t left_ = 0;
  std::deque<std::pair<Event, std::string>> kept_;
};

}  // namespace memtrack::preload
