#include "pipeline/synthetic_source.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "pipeline/batch.h"
#include "pipeline/event_mix.h"

namespace memtrack::pipeline {
namespace {

std::unique_ptr<EventMix> make_mix(const SyntheticOptions& options) {
  if (options.mix == SyntheticMix::kUniform) return std::make_unique<UniformMix>(options);
  return std::make_unique<RealisticMix>(options);
}

class SyntheticSource final : public EventSource {
 public:
  explicit SyntheticSource(const SyntheticOptions& options) : left_(options.events), mix_(make_mix(options)) {}

  Result<void> open() override { return {}; }
  [[nodiscard]] std::int32_t root_pid() const override { return kSyntheticPid; }
  Result<void> start() override { return {}; }
  Result<Poll> poll(EventBatch& out, std::size_t max_events, std::chrono::nanoseconds) override {
    // Nothing is ever waiting to be given, so what was there at begin_drain() has been given.
    const bool drained = std::exchange(draining_, false);
    if (stopped_.load(std::memory_order_relaxed)) left_ = 0;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>({max_events, out.room(), left_}));
    left_ -= mix_->make(count, kChunkPayloadBytes, enabled_, out);
    return Poll{.drain_reached = drained, .ended = left_ == 0};
  }
  void begin_drain() override { draining_ = true; }
  void request_stop() override { stopped_.store(true, std::memory_order_relaxed); }
  Result<void> set_enabled(bool enabled) override {
    enabled_ = enabled;
    return {};
  }
  [[nodiscard]] LossCounters losses() const override { return {}; }
  [[nodiscard]] std::optional<TargetExit> target_exit() const override { return std::nullopt; }
  [[nodiscard]] std::vector<std::string> notes() const override { return {}; }

 private:
  std::uint64_t left_;
  std::unique_ptr<EventMix> mix_;
  bool draining_ = false;
  bool enabled_ = true;
  std::atomic<bool> stopped_{false};
};

}  // namespace

std::unique_ptr<EventSource> make_synthetic_source(const SyntheticOptions& options) {
  return std::make_unique<SyntheticSource>(options);
}

}  // namespace memtrack::pipeline
