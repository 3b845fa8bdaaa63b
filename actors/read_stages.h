// The actors of a reader: splitter, decoders, reassembler.
#pragma once

#include <cstdint>
#include <optional>

#include <caf/behavior.hpp>

#include "actors/read_shared.h"
#include "actors/step_actor.h"

namespace memtrack::actors {

/// A stage of a reader. Its failure ends the reading for all.
class ReadStage : public StepActor {
 protected:
  ReadStage(caf::actor_config& config, ReadShared& shared, StageWatch& watch)
      : StepActor(config, watch), shared_(shared) {}

  caf::behavior make_behavior() final { return step_behavior(); }
  void report(Error error) final { shared_.fail(std::move(error)); }

  ReadShared& shared_;
};

/// Numbers frames as far as the window lets it, and hands them to the decoders.
class SplitterActor final : public ReadStage {
 public:
  SplitterActor(caf::actor_config& config, ReadShared& shared) : ReadStage(config, shared, shared.watches[0]) {}
  const char* name() const override { return "splitter"; }

 private:
  Result<Next> step() override;
  void release() override;
  [[nodiscard]] bool wait_for_window();

  std::optional<pipeline::FrameJob> job_;  // made, not yet handed on
};

/// Decodes a part a step. While its queue is full, another decoder's part is next, and it waits.
class DecoderActor final : public ReadStage {
 public:
  DecoderActor(caf::actor_config& config, ReadShared& shared, std::uint32_t worker)
      : ReadStage(config, shared, shared.watches[2 + worker]), worker_(worker) {}
  const char* name() const override { return "decoder"; }

 private:
  Result<Next> step() override;
  void release() override;
  [[nodiscard]] Next push();
  [[nodiscard]] Next pop();

  const std::uint32_t worker_;
  std::optional<pipeline::Part> part_;  // made, not yet handed on
};

/// Gives the parts to the consumer in file order and moves the window. Its end is the end of the reading.
class ReassemblerActor final : public ReadStage {
 public:
  ReassemblerActor(caf::actor_config& config, ReadShared& shared) : ReadStage(config, shared, shared.watches[1]) {}
  const char* name() const override { return "reassembler"; }

 private:
  Result<Next> step() override;
  void release() override;
  [[nodiscard]] Next fill();
};

}  // namespace memtrack::actors
