#include "pipeline/batch.h"

namespace memtrack::pipeline {

namespace {

// Buffers go round and are resident as a whole, however few events are in one.
std::uint64_t buffer_bytes(const EventBatch& events) {
  return events.capacity() * sizeof(Event) + events.payload_bytes();
}

}  // namespace

std::uint64_t held_bytes(const Chunk& chunk) {
  return chunk.events ? buffer_bytes(*chunk.events) : 0;
}

std::uint64_t held_bytes(const Batch& batch) {
  std::uint64_t bytes = 0;
  for (const Slice& slice : batch.slices) bytes += buffer_bytes(*slice.events);
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
