// ReadPipeline: the whole read side, artifact to consumer, as a graph of actors.
#pragma once

#include <cstdint>
#include <span>

#include "codec/error.h"
#include "pipeline/read_parts.h"
#include "pipeline/serial_reader.h"

namespace memtrack::actors {

/// Reads artifacts on many processors. What it gives is what pipeline::read_serially gives, whatever the number of
/// workers: the selected events in file order, up to the first damage in file order.
///
/// How to use: make one, then run() once.
/// Ownership: the artifact's bytes must outlive it.
/// Threads: run() blocks its caller. The consumer is called by one thread at a time, though not the caller's where
/// workers are started; `render` by every worker at once.
/// Bounds: some 5 MiB and a zstd window a decoder, of which no more are at work than the machine has processors, and a
/// few in reserve; frames of any size are streamed.
/// Failure: in the outcome; what a consumer or `render` throws is an error that names the stage (kStageFailed).
class ReadPipeline {
 public:
  static constexpr std::uint32_t kMaxWorkers = 64;

  ReadPipeline(const pipeline::ArtifactView& artifact, pipeline::ReadOptions options, pipeline::PartConsumer consumer);

  [[nodiscard]] pipeline::ReadOutcome run();

 private:
  pipeline::ArtifactView artifact_;
  pipeline::ReadOptions options_;
  pipeline::PartConsumer consumer_;
};

/// The module events of an artifact in memory, found by `workers` decoders (0: one a processor), or in its index.
[[nodiscard]] Result<pipeline::ModuleEvents> module_events(std::span<const std::byte> artifact,
                                                           std::uint32_t workers = 0);

}  // namespace memtrack::actors
