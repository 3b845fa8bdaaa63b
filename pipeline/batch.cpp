#include "pipeline/batch.h"

namespace memtrack::pipeline {

std::uint64_t held_bytes(const Chunk& chunk) {
  return chunk.events ? chunk.events->used_bytes() : 0;
}

std::uint64_t held_bytes(const Batch& batch) {
  std::uint64_t bytes = 0;
  for (const Slice& slice : batch.slices) bytes += slice.events->used_bytes();
  return bytes;
}

std::uint64_t held_bytes(const Frame& frame) {
  std::uint64_t bytes = 0;
  for (const Pooled<ByteBuffer>* buffer : {&frame.bytes, &frame.modules, &frame.suffix}) {
    if (*buffer) bytes += (*buffer)->size();
  }
  return bytes;
}

}  // namespace memtrack::pipeline
