// WriterActor: drives the ArtifactWriter; the ordered end of the capture.
#pragma once

#include <cstdint>
#include <vector>

#include <caf/behavior.hpp>
#include <caf/response_promise.hpp>

#include "actors/stage_actor.h"

namespace memtrack::actors {

/// Takes every frame at once (the sequence window bounds how many can come too early), opens the window and answers
/// drains as the file grows. At the end of its input it completes the artifact, unless a stage has failed, and tells
/// the supervisor.
class WriterActor final : public StageActor {
 public:
  WriterActor(caf::actor_config& config, CaptureShared& shared, const Team& team);
  const char* name() const override { return "writer"; }

 private:
  struct Drain {
    std::uint64_t batches;  // all below this number belong to it
    caf::response_promise promise;
  };

  caf::behavior make_behavior() override;
  Result<Next> step() override;
  void release() override;

  Result<Next> write(pipeline::Frame frame);
  Result<Next> finish();
  Result<void> answer_drains();

  std::vector<Drain> drains_;
};

}  // namespace memtrack::actors
