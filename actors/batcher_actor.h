// BatcherActor: drives the Batcher; the one that gives out batch numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <caf/behavior.hpp>
#include <caf/response_promise.hpp>

#include "actors/stage_actor.h"

namespace memtrack::actors {

/// Cuts batches as long as the sequence window lets the next number out, and hands them to the compressors. A partial
/// batch goes out when a drain has reached it, when a tick finds it too old, and at the end of its input.
class BatcherActor final : public StageActor {
 public:
  BatcherActor(caf::actor_config& config, CaptureShared& shared, const Team& team);
  const char* name() const override { return "batcher"; }

 private:
  struct Drain {
    std::uint64_t chunks;  // all below this number belong to it
    caf::response_promise promise;
  };

  caf::behavior make_behavior() override;
  Result<Next> step() override;
  void release() override;

  [[nodiscard]] bool wait_for_window();
  [[nodiscard]] std::optional<pipeline::Batch> cut();
  Next push();
  Next pop();
  [[nodiscard]] bool reached(const Drain& drain) const { return input_over_ || drain.chunks <= chunks_taken_; }
  void pass_drains();
  void send_tick();

  std::optional<pipeline::Batch> batch_;  // cut, not yet handed on
  std::uint64_t chunks_taken_ = 0;
  bool input_over_ = false;
  bool tick_sent_ = false;
  bool tick_due_ = false;
  std::vector<Drain> drains_;
};

}  // namespace memtrack::actors
