// CompressorActor: drives one Compressor of several that share a queue.
#pragma once

#include <cstdint>
#include <optional>

#include <caf/behavior.hpp>

#include "actors/stage_actor.h"

namespace memtrack::actors {

/// Batches in, frames out, in any order among the compressors. The last one to stop closes the writer's queue.
class CompressorActor final : public StageActor {
 public:
  CompressorActor(caf::actor_config& config, CaptureShared& shared, const Team& team, std::uint32_t worker);
  const char* name() const override { return "compressor"; }

 private:
  caf::behavior make_behavior() override;
  Result<Next> step() override;
  void release() override;

  Next push();
  Result<Next> compress(const pipeline::Batch& batch);

  const std::uint32_t worker_;
  std::optional<pipeline::Frame> frame_;  // made, not yet handed on
};

}  // namespace memtrack::actors
