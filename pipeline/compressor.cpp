#include "pipeline/compressor.h"

namespace memtrack::pipeline {

Result<Compressor> Compressor::create(const CompressOptions& options, MappingPlacement mappings, bool collect_modules,
                                      BufferPool<ByteBuffer>& pool) {
  auto frames = FrameEncoder::create(options.level, options.checksum);
  if (!frames) return std::unexpected(std::move(frames.error()));
  return Compressor(std::move(*frames), mappings, collect_modules, pool);
}

Result<Frame> Compressor::compress(const Batch& batch) {
  Frame frame{.seq = batch.seq};
  raw_.clear();
  for (const Slice& slice : batch.slices) serialise(slice, frame);
  frame.decompressed_bytes = raw_.size();
  frame.bytes = pool_->take();
  if (auto encoded = frames_.encode(raw_.bytes(), *frame.bytes); !encoded) {
    return std::unexpected(std::move(encoded.error()));
  }
  return frame;
}

/// Encodes the slice in runs that end at module events, which are rare and may go elsewhere too.
void Compressor::serialise(const Slice& slice, Frame& frame) {
  const EventBatch& events = *slice.events;
  std::size_t run = slice.begin;
  for (std::size_t i = slice.begin; i < slice.end; ++i) {
    const EventKind kind = events[i].kind;
    if (kind == EventKind::kMapping && mappings_ == MappingPlacement::kSuffix) {
      events_.encode(events, run, i, raw_);
      run = i + 1;
      encode_into(frame.suffix, events, i);
      continue;
    }
    frame.summary.add(events[i]);
    if (is_module_event(kind) && collect_modules_) encode_into(frame.modules, events, i);
  }
  events_.encode(events, run, slice.end, raw_);
}

void Compressor::encode_into(Pooled<ByteBuffer>& buffer, const EventBatch& events, std::size_t i) {
  if (!buffer) buffer = pool_->take();
  events_.encode(events, i, i + 1, *buffer);
}

}  // namespace memtrack::pipeline
