// Compressor: one batch in, one zstd frame out.
#pragma once

#include "codec/error.h"
#include "codec/frame_encoder.h"
#include "pipeline/batch.h"
#include "pipeline/capture_options.h"

namespace memtrack::pipeline {

/// Serialises and compresses with reused buffers and one zstd context. One thread at a time; make one a worker.
/// Ownership: the pool must outlive the compressor. Memory: about 16 MiB at default settings.
class Compressor {
 public:
  [[nodiscard]] static Result<Compressor> create(const CompressOptions& options, MappingPlacement mappings,
                                                 bool collect_modules, BufferPool<ByteBuffer>& pool);
  [[nodiscard]] Result<Frame> compress(const Batch& batch);

 private:
  // completed by the implementation
};

}  // namespace memtrack::pipeline
