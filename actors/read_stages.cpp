#include "actors/read_stages.h"

#include <utility>

#include <caf/all.hpp>

namespace memtrack::actors {

using JobQueue = pipeline::BoundedQueue<pipeline::FrameJob>;
using PartQueue = pipeline::BoundedQueue<pipeline::Part>;

Result<StepActor::Next> SplitterActor::step() {
  if (shared_.must_stop()) return Next::kStop;
  if (!job_) {
    if (wait_for_window()) return Next::kWait;
    job_ = shared_.splitter.next();
    if (!job_) return Next::kStop;
  }
  auto& producer = shared_.jobs.producers[0];
  switch (producer.try_push(*job_, sizeof(pipeline::FrameJob))) {
    case JobQueue::Push::kAccepted:
      job_.reset();
      return Next::kAgain;
    case JobQueue::Push::kFull:
      return producer.await_room() ? Next::kWait : Next::kAgain;
    case JobQueue::Push::kClosed:
      return Next::kStop;
  }
  std::unreachable();
}

/// True where the next number must wait for the consumer; the bell will ring.
bool SplitterActor::wait_for_window() {
  const auto may_go_on = [this] { return shared_.window.admits(shared_.splitter.next_seq()) || shared_.must_stop(); };
  if (may_go_on()) return false;
  shared_.window_bell.arm();
  if (!may_go_on()) return true;
  shared_.window_bell.disarm();
  return false;
}

void SplitterActor::release() {
  job_.reset();
  shared_.jobs.queue.close();
}

Result<StepActor::Next> DecoderActor::step() {
  if (shared_.must_stop()) return Next::kStop;
  pipeline::Decoder& decoder = shared_.decoders[worker_];
  if (!part_ && !decoder.busy()) return pop();
  if (!part_) part_ = decoder.next();
  return push();
}

StepActor::Next DecoderActor::pop() {
  auto& consumer = shared_.jobs.consumers[worker_];
  pipeline::FrameJob job;
  switch (consumer.try_pop(job)) {
    case JobQueue::Pop::kItem:
      shared_.decoders[worker_].begin(std::move(job));
      return Next::kAgain;
    case JobQueue::Pop::kEmpty:
      return consumer.await_work() ? Next::kWait : Next::kAgain;
    case JobQueue::Pop::kDrained:
      return Next::kStop;
  }
  std::unreachable();
}

StepActor::Next DecoderActor::push() {
  auto& producer = shared_.parts[worker_].producers[0];
  switch (producer.try_push(*part_, held_bytes(*part_))) {
    case PartQueue::Push::kAccepted:
      part_.reset();
      return Next::kAgain;
    case PartQueue::Push::kFull:
      return producer.await_room() ? Next::kWait : Next::kAgain;
    case PartQueue::Push::kClosed:
      return Next::kStop;
  }
  std::unreachable();
}

void DecoderActor::release() {
  part_.reset();
  shared_.parts[worker_].queue.close();
}

Result<StepActor::Next> ReassemblerActor::step() {
  if (shared_.must_stop()) return Next::kStop;
  const Next filled = fill();
  const auto part = shared_.reassembler.take_next();
  if (!part) return filled;
  if (!deliver(*part, shared_.consumer, shared_.outcome)) return Next::kStop;
  shared_.window.advance(shared_.reassembler.next_seq());
  shared_.window_bell.ring();
  return Next::kAgain;
}

/// Fetches the front of every queue. What is next where none of them is next in order: kWait for more, or kStop at the
/// end of all.
StepActor::Next ReassemblerActor::fill() {
  bool waits = false;
  bool again = false;
  for (std::size_t i = 0; i < shared_.parts.size(); ++i) {
    if (!shared_.reassembler.wants(i)) continue;
    auto& consumer = shared_.parts[i].consumers[0];
    pipeline::Part part;
    switch (consumer.try_pop(part)) {
      case PartQueue::Pop::kItem:
        shared_.reassembler.put(i, std::move(part));
        break;
      case PartQueue::Pop::kEmpty:
        waits = true;
        again = !consumer.await_work() || again;
        break;
      case PartQueue::Pop::kDrained:
        break;
    }
  }
  if (again) return Next::kAgain;
  return waits ? Next::kWait : Next::kStop;
}

void ReassemblerActor::release() {
  shared_.stop();
  shared_.finished.set_value();
}

}  // namespace memtrack::actors
