// Compressor: one batch in, one zstd frame out.
#pragma once

#include <cstddef>
#include <utility>

#include "codec/error.h"
#include "codec/frame_encoder.h"
#include "pipeline/batch.h"
#include "pipeline/capture_options.h"

namespace memtrack::pipeline {

/// Serialises and compresses with reused buffers and one zstd context. One thread at a time; make one a worker.
/// Promises: with MappingPlacement::kSuffix the frame holds no Mapping (its summary neither); `modules` holds the
/// frame's own module events and is absent where there are none or nobody collects them, `suffix` the Mappings taken
/// out. Ownership: the pool must outlive the compressor. Memory: about 16 MiB at default settings. Errors:
/// kInvalidArgument for a level zstd does not have; kStageFailed where zstd fails.
class Compressor {
 public:
  [[nodiscard]] static Result<Compressor> create(const CompressOptions& options, MappingPlacement mappings,
                                                 bool collect_modules, BufferPool<ByteBuffer>& pool);
  [[nodiscard]] Result<Frame> compress(const Batch& batch);

 private:
  Compressor(FrameEncoder frames, MappingPlacement mappings, bool collect_modules, BufferPool<ByteBuffer>& pool)
      : frames_(std::move(frames)), mappings_(mappings), collect_modules_(collect_modules), pool_(&pool) {}

  void serialise(const Slice& slice, Frame& frame);
  void encode_into(Pooled<ByteBuffer>& buffer, const EventBatch& events, std::size_t i);

  EventEncoder events_;
  FrameEncoder frames_;
  ByteBuffer raw_;  // reused: the frame's content before compression
  MappingPlacement mappings_;
  bool collect_modules_;
  BufferPool<ByteBuffer>* pool_;
};

}  // namespace memtrack::pipeline
