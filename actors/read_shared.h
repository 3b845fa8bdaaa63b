// ReadShared: what the stage actors of one reader share; the data plane, without CAF.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <future>
#include <vector>

#include "actors/hop.h"
#include "actors/stage_watch.h"
#include "pipeline/decoder.h"
#include "pipeline/doorbell.h"
#include "pipeline/first_error.h"
#include "pipeline/read_parts.h"
#include "pipeline/reassembler.h"
#include "pipeline/sequence_window.h"
#include "pipeline/splitter.h"

namespace memtrack::actors {

/// Owns the stages and the queues between them: one queue of jobs for all decoders, one queue of parts for each, so
/// that a decoder that is ahead can't take the room of the one whose part is next. Ownership: outlives the actors;
/// options, consumer and splitter outlive it. Threads: a stage and its handles belong to that stage's actor; the rest
/// says for itself.
struct ReadShared {
  ReadShared(const pipeline::ArtifactView& view, const pipeline::ReadOptions& read_options,
             const pipeline::PartConsumer& part_consumer, pipeline::Splitter& frame_splitter, std::uint32_t workers);

  /// Ends the reading: every stage stops at its next step. Any thread.
  void stop();
  void fail(Error error) {
    first_error.set(std::move(error));
    stop();
  }
  [[nodiscard]] bool must_stop() const { return over.load(std::memory_order_seq_cst); }

  // Destruction runs from the last member to the first: stages and handles before what they point to.
  const pipeline::PartConsumer& consumer;
  pipeline::PartPools pools;
  Hop<pipeline::FrameJob> jobs;           // splitter -> decoders
  std::deque<Hop<pipeline::Part>> parts;  // each decoder -> reassembler
  pipeline::SequenceWindow window;        // how many frames may be between the splitter and the consumer
  pipeline::Doorbell window_bell;         // of the splitter, when the window may have moved
  pipeline::Splitter& splitter;
  std::deque<pipeline::Decoder> decoders;
  pipeline::Reassembler reassembler;
  pipeline::ReadOutcome outcome;  // the reassembler's
  pipeline::FirstError first_error;
  std::atomic<bool> over{false};   // set by stop(), read before each step
  std::promise<void> finished;     // fulfilled by the reassembler's end
  std::deque<StageWatch> watches;  // splitter, reassembler, decoders
};

}  // namespace memtrack::actors
