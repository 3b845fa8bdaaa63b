// What flows between the stages of a capture.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/byte_buffer.h"
#include "codec/event_batch.h"
#include "codec/event_encoder.h"
#include "pipeline/buffer_pool.h"

namespace memtrack::pipeline {

/// Events in one poll's hand-over: at most this many.
inline constexpr std::size_t kChunkEvents = 4096;
/// A chunk is closed where the paths and stacks in it pass this much.
inline constexpr std::size_t kChunkPayloadBytes = 1u << 20;

/// Poller to batcher: a pooled EventBatch and its number (from 0, without gaps).
struct Chunk {
  std::uint64_t seq = 0;
  Pooled<EventBatch> events;
};

/// A part of a chunk: events [begin, end) of `events`. Chunks are cut, not copied, where a batch ends inside one.
struct Slice {
  Pooled<EventBatch> events;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Batcher to compressor: what becomes one frame.
struct Batch {
  std::uint64_t seq = 0;
  std::uint64_t event_count = 0;
  std::vector<Slice> slices;
};

/// Compressor to writer: one zstd frame and what the index keeps of it.
struct Frame {
  std::uint64_t seq = 0;
  std::uint64_t decompressed_bytes = 0;
  FrameSummary summary = {};
  Pooled<ByteBuffer> bytes = {};    ///< the zstd frame
  Pooled<ByteBuffer> modules = {};  ///< its module events as MessagePack, for the index; absent where there are none
  Pooled<ByteBuffer> suffix = {};  ///< with mappings = "suffix": the Mapping events taken out of the frame; else absent
};

/// Memory that an item keeps from being reused: what it counts against a queue's byte bound. A chunk that two batches
/// share counts in both.
[[nodiscard]] std::uint64_t held_bytes(const Chunk& chunk);
[[nodiscard]] std::uint64_t held_bytes(const Batch& batch);
[[nodiscard]] std::uint64_t held_bytes(const Frame& frame);

}  // namespace memtrack::pipeline
