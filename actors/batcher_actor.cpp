#include "actors/batcher_actor.h"

#include <algorithm>
#include <utility>

#include <caf/all.hpp>

namespace memtrack::actors {

BatcherActor::BatcherActor(caf::actor_config& config, CaptureShared& shared, const Team& team)
    : StageActor(config, shared, team, StageId::kBatcher) {}

caf::behavior BatcherActor::make_behavior() {
  return common_behavior().or_else(
      [this](drain_atom, std::uint64_t chunks) {
        drains_.push_back({.chunks = chunks, .promise = make_response_promise()});
        wake();
      },
      [this](tick_atom) {
        tick_sent_ = false;
        tick_due_ = true;
        wake();
        send_tick();
      });
}

Result<StageActor::Next> BatcherActor::step() {
  if (shared_.must_stop(StageId::kBatcher)) return Next::kStop;
  if (batch_) return push();
  if (wait_for_window()) return Next::kWait;
  batch_ = cut();
  if (batch_) return push();
  pass_drains();
  return pop();
}

/// True where the next number must wait for the writer; the bell will ring. (It rings after a failure too, when the
/// writer may never advance again.)
bool BatcherActor::wait_for_window() {
  const auto may_go_on = [this] {
    return shared_.window.admits(shared_.batcher.next_seq()) || shared_.must_stop(StageId::kBatcher);
  };
  if (may_go_on()) return false;
  shared_.window_bell.arm();
  if (may_go_on()) {
    shared_.window_bell.disarm();
    return false;
  }
  shared_.counters.add_queue_full();
  return true;
}

std::optional<pipeline::Batch> BatcherActor::cut() {
  if (auto full = shared_.batcher.next_full()) return full;
  const bool flush = input_over_ || std::ranges::any_of(drains_, [this](const Drain& drain) { return reached(drain); });
  if (flush) return shared_.batcher.flush();
  if (std::exchange(tick_due_, false)) return shared_.batcher.flush_if_older(pipeline::Batcher::Clock::now());
  return std::nullopt;
}

StageActor::Next BatcherActor::push() {
  auto& producer = shared_.batches.producers[0];
  using Push = pipeline::BoundedQueue<pipeline::Batch>::Push;
  switch (producer.try_push(*batch_, pipeline::held_bytes(*batch_))) {
    case Push::kAccepted:
      batch_.reset();
      shared_.counters.add_batch();
      return Next::kAgain;
    case Push::kFull:
      return wait_for_room(producer);
    case Push::kClosed:
      return Next::kStop;
  }
  std::unreachable();
}

StageActor::Next BatcherActor::pop() {
  auto& consumer = shared_.chunks.consumers[0];
  pipeline::Chunk chunk;
  using Pop = pipeline::BoundedQueue<pipeline::Chunk>::Pop;
  switch (consumer.try_pop(chunk)) {
    case Pop::kItem:
      shared_.call_hook(StageId::kBatcher, 0, chunk.seq);
      chunks_taken_ = chunk.seq + 1;
      shared_.batcher.add(std::move(chunk), pipeline::Batcher::Clock::now());
      send_tick();
      return Next::kAgain;
    case Pop::kEmpty:
      return consumer.await_work() ? Next::kWait : Next::kAgain;
    case Pop::kDrained:
      input_over_ = true;
      return shared_.batcher.pending_events() == 0 && drains_.empty() ? Next::kStop : Next::kAgain;
  }
  std::unreachable();
}

/// Nothing that these drains are about is pending: it is in batches below next_seq().
void BatcherActor::pass_drains() {
  std::erase_if(drains_, [this](Drain& drain) {
    if (!reached(drain)) return false;
    drain.promise.delegate(team_.writer, drain_atom::value, shared_.batcher.next_seq());
    return true;
  });
}

/// Four looks an interval, as long as events are pending: none waits longer than an interval and a quarter.
void BatcherActor::send_tick() {
  if (tick_sent_ || shared_.batcher.pending_events() == 0) return;
  constexpr std::chrono::nanoseconds kShortest = std::chrono::milliseconds(1);
  constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(1);
  delayed_send(this, std::clamp(shared_.options.batch.flush_interval / 4, kShortest, kLongest), tick_atom::value);
  tick_sent_ = true;
}

void BatcherActor::release() {
  batch_.reset();
  drains_.clear();
  shared_.batches.queue.close();
}

}  // namespace memtrack::actors
