#include "actors/compressor_actor.h"

#include <utility>

#include <caf/all.hpp>

namespace memtrack::actors {

CompressorActor::CompressorActor(caf::actor_config& config, CaptureShared& shared, const Team& team,
                                 std::uint32_t worker)
    : StageActor(config, shared, team, StageId::kCompressor, worker), worker_(worker) {}

caf::behavior CompressorActor::make_behavior() {
  return common_behavior();
}

Result<StageActor::Next> CompressorActor::step() {
  // First what is made: a frame before the one where another compressor failed belongs to what stays readable.
  if (frame_) return push();
  if (shared_.must_stop(StageId::kCompressor)) return Next::kStop;
  auto& consumer = shared_.batches.consumers[worker_];
  pipeline::Batch batch;
  using Pop = pipeline::BoundedQueue<pipeline::Batch>::Pop;
  switch (consumer.try_pop(batch)) {
    case Pop::kItem:
      return compress(batch);
    case Pop::kEmpty:
      return consumer.await_work() ? Next::kWait : Next::kAgain;
    case Pop::kDrained:
      return Next::kStop;
  }
  std::unreachable();
}

Result<StageActor::Next> CompressorActor::compress(const pipeline::Batch& batch) {
  shared_.call_hook(StageId::kCompressor, worker_, batch.seq);
  auto frame = shared_.compressors[worker_].compress(batch);
  if (!frame) return std::unexpected(std::move(frame.error()));
  frame_ = std::move(*frame);
  return push();
}

StageActor::Next CompressorActor::push() {
  auto& producer = shared_.frames.producers[worker_];
  using Push = pipeline::BoundedQueue<pipeline::Frame>::Push;
  switch (producer.try_push(*frame_, pipeline::held_bytes(*frame_))) {
    case Push::kAccepted:
      frame_.reset();
      return Next::kAgain;
    case Push::kFull:
      return wait_for_room(producer);
    case Push::kClosed:
      return Next::kStop;
  }
  std::unreachable();
}

void CompressorActor::release() {
  frame_.reset();
  if (shared_.live_compressors.fetch_sub(1, std::memory_order_acq_rel) == 1) shared_.frames.queue.close();
}

}  // namespace memtrack::actors
