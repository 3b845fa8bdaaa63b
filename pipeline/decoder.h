// Decoder: one frame in, its selected events out, in parts of bounded size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "codec/event_batch.h"
#include "codec/frame_cursor.h"
#include "pipeline/buffer_pool.h"
#include "pipeline/read_parts.h"

namespace memtrack::pipeline {

/// The most events in one part, and the paths and stacks or text after which it is closed.
inline constexpr std::size_t kPartEvents = 8192;
inline constexpr std::size_t kPartBytes = 512u << 10;

/// The pools that the decoders of a reader share.
struct PartPools {
  explicit PartPools(std::size_t max_idle)
      : events(max_idle, [] { return std::make_unique<EventBatch>(kPartEvents); }),
        texts(max_idle, [] { return std::make_unique<std::string>(); }) {}
  BufferPool<EventBatch> events;
  BufferPool<std::string> texts;
};

/// How to use: begin(job), then next() while busy(). One reused zstd context and buffer. One thread at a time; make one
/// a worker.
/// Ownership: options, pools and the artifact must outlive it.
/// Bounds: a zstd window, 128 KiB, one part; a frame of any length is streamed.
/// Failure: an error is in the last part of its frame, behind the events before it.
class Decoder {
 public:
  Decoder(const ArtifactView& artifact, const ReadOptions& options, PartPools& pools);

  void begin(FrameJob job);
  [[nodiscard]] bool busy() const { return job_.has_value(); }
  /// Precondition: busy().
  [[nodiscard]] Part next();

 private:
  [[nodiscard]] Result<bool> fill_events(Part& part);
  [[nodiscard]] Result<bool> fill_text(Part& part);
  [[nodiscard]] Result<bool> fill_selected(EventBatch& out);
  [[nodiscard]] Result<bool> read(EventBatch& out);
  void finish(Part& part, const Result<bool>& more);
  void release_pages(bool all);

  ArtifactView artifact_;
  const ReadOptions* options_;
  PartPools* pools_;
  bool filters_;
  FrameCursor cursor_;
  EventBatch decoded_;   // before the selection
  EventBatch selected_;  // to be rendered
  DecodeCounters reported_;
  std::optional<FrameJob> job_;
  std::uint64_t released_ = 0;  // bytes of the frame whose pages were given back
};

}  // namespace memtrack::pipeline
