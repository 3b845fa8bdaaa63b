#include "actors/writer_actor.h"

#include <algorithm>
#include <utility>

#include <caf/all.hpp>

namespace memtrack::actors {

WriterActor::WriterActor(caf::actor_config& config, CaptureShared& shared, const Team& team)
    : StageActor(config, shared, team, StageId::kWriter) {}

caf::behavior WriterActor::make_behavior() {
  return common_behavior().or_else([this](drain_atom, std::uint64_t batches) {
    drains_.push_back({.batches = batches, .promise = make_response_promise()});
    wake();
  });
}

Result<StageActor::Next> WriterActor::step() {
  if (auto answered = answer_drains(); !answered) return std::unexpected(std::move(answered.error()));
  auto& consumer = shared_.frames.consumers[0];
  pipeline::Frame frame;
  using Pop = pipeline::BoundedQueue<pipeline::Frame>::Pop;
  switch (consumer.try_pop(frame)) {
    case Pop::kItem:
      return write(std::move(frame));
    case Pop::kEmpty:
      return consumer.await_work() ? Next::kWait : Next::kAgain;
    case Pop::kDrained:
      return finish();
  }
  std::unreachable();
}

Result<StageActor::Next> WriterActor::write(pipeline::Frame frame) {
  shared_.call_hook(StageId::kWriter, 0, frame.seq);
  auto added = shared_.writer.add(std::move(frame));
  shared_.counters.publish_written(shared_.writer.totals());
  if (!added) return std::unexpected(std::move(added.error()));
  shared_.window.advance(shared_.writer.written_seq());
  shared_.window_bell.ring();
  return Next::kAgain;
}

/// After another stage's failure the file stays a `.part` with everything that came.
Result<StageActor::Next> WriterActor::finish() {
  if (shared_.first_error.get() != nullptr) {
    auto salvaged = shared_.writer.salvage();
    shared_.counters.publish_written(shared_.writer.totals());
    if (!salvaged) return std::unexpected(std::move(salvaged.error()));
    return Next::kStop;
  }
  auto totals = shared_.writer.finish(shared_.counters.losses());
  if (!totals) return std::unexpected(std::move(totals.error()));
  shared_.counters.publish_written(*totals);
  send(team_.supervisor, shutdown_atom::value, std::move(*totals));
  return Next::kStop;
}

Result<void> WriterActor::answer_drains() {
  const std::uint64_t written = shared_.writer.written_seq();
  const auto reached = [written](const Drain& drain) { return drain.batches <= written; };
  if (std::ranges::none_of(drains_, reached)) return {};
  if (auto synced = shared_.writer.sync(); !synced) return synced;
  std::erase_if(drains_, [&](Drain& drain) {
    if (!reached(drain)) return false;
    drain.promise.deliver(Answer{.counters = shared_.counters.snapshot()});
    return true;
  });
  return {};
}

void WriterActor::release() {
  drains_.clear();
}

}  // namespace memtrack::actors
