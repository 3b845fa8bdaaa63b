#include "actors/poller_actor.h"

#include <utility>

#include <caf/all.hpp>

namespace memtrack::actors {
namespace {

constexpr std::chrono::milliseconds kLossesPeriod{100};

}  // namespace

PollerActor::PollerActor(caf::actor_config& config, CaptureShared& shared, const Team& team)
    : StageActor(config, shared, team, StageId::kPoller) {}

caf::behavior PollerActor::make_behavior() {
  return common_behavior().or_else(
      [this](start_atom) {
        started_ = true;
        wake();
      },
      [this](drain_atom) {
        drains_waiting_.push_back(make_response_promise());
        begin_drain();
      },
      [this](shutdown_atom) { shut_down(); }, [this](enable_atom) { return set_enabled(true); },
      [this](disable_atom) { return set_enabled(false); });
}

/// Once started, the polls go on to the source's end; else there is nothing to poll.
void PollerActor::shut_down() {
  shared_.stop_source();
  if (started_) return;
  started_ = ended_ = true;
  wake();
}

Result<StageActor::Next> PollerActor::step() {
  if (!started_) return Next::kWait;
  if (chunk_) return push();
  if (ended_) return Next::kStop;
  return poll();
}

Result<StageActor::Next> PollerActor::poll() {
  auto step = shared_.poller.step(shared_.options.poll_interval);
  if (!step || step->ended) ended_ = true;
  publish_losses();
  if (!step) return std::unexpected(std::move(step.error()));
  if (step->chunk) shared_.counters.add_chunk(step->chunk->events->size());
  if (step->chunk && !discards_) {
    chunk_ = std::move(step->chunk);
    shared_.call_hook(StageId::kPoller, 0, chunk_->seq);
  }
  if (ended_) shared_.board.note_ending();
  if (step->drain_reached || ended_) pass_drains();
  return Next::kAgain;
}

StageActor::Next PollerActor::push() {
  auto& producer = shared_.chunks.producers[0];
  using Push = pipeline::BoundedQueue<pipeline::Chunk>::Push;
  switch (producer.try_push(*chunk_, pipeline::held_bytes(*chunk_))) {
    case Push::kAccepted:
      chunk_.reset();
      return Next::kAgain;
    case Push::kFull:
      return wait_for_room(producer);
    case Push::kClosed:
      // A stage behind this one has failed. The source is taken to its end all the same, so that nobody in the target
      // waits for room that will never come.
      chunk_.reset();
      discards_ = true;
      shared_.stop_source();
      return Next::kAgain;
  }
  std::unreachable();
}

void PollerActor::begin_drain() {
  if (ended_) return pass_drains();
  if (!drains_under_way_.empty() || drains_waiting_.empty()) return;
  drains_under_way_.swap(drains_waiting_);
  const auto in_step = watch_.enter();
  shared_.source->begin_drain();
}

/// The source has given all that the drains under way are about: it is in chunks below next_seq(), one of which may
/// still be here. At the source's end that goes for every drain.
void PollerActor::pass_drains() {
  for (caf::response_promise& promise : drains_under_way_) {
    promise.delegate(team_.batcher, drain_atom::value, shared_.poller.next_seq());
  }
  drains_under_way_.clear();
  if (!ended_) return begin_drain();
  drains_under_way_.swap(drains_waiting_);
  if (!drains_under_way_.empty()) pass_drains();
}

/// Only this thread may ask the source; others read what is published here.
void PollerActor::publish_losses() {
  const auto now = StageWatch::Clock::now();
  if (!ended_ && now - losses_published_ < kLossesPeriod) return;
  losses_published_ = now;
  shared_.counters.publish_losses(shared_.source->losses());
}

Answer PollerActor::set_enabled(bool enabled) {
  if (ended_) return {.error = Error{.code = ErrorCode::kClosed, .message = "the source has already ended"}};
  const auto in_step = watch_.enter();
  auto set = shared_.source->set_enabled(enabled);
  if (!set) return {.error = std::move(set.error())};
  return {.counters = shared_.counters.snapshot()};
}

void PollerActor::release() {
  chunk_.reset();
  drains_under_way_.clear();
  drains_waiting_.clear();
  shared_.chunks.queue.close();
}

}  // namespace memtrack::actors
