// A whole artifact; an odd first byte makes the rest the content of two good frames, so that the fuzzer gets past zstd.
#include <cstdint>
#include <cstdlib>

#include "codec/artifact_cursor.h"
#include "codec/byte_buffer.h"
#include "codec/frame_encoder.h"

using namespace memtrack;

namespace {

struct Outcome {
  std::uint64_t events = 0;
  bool failed = false;
  bool truncated = false;
  bool operator==(const Outcome&) const = default;
};

Outcome read_all(std::span<const std::byte> artifact, std::size_t capacity) {
  ArtifactCursor cursor(artifact, {.limits = {.window_bytes = 1u << 20, .event_bytes = 1u << 16}});
  EventBatch batch(capacity);
  while (true) {
    batch.clear();
    const auto status = cursor.next(batch);
    if (cursor.bytes_read() > artifact.size()) std::abort();
    if (status && *status == ArtifactCursor::Status::kMore) continue;
    return {.events = cursor.counters().events, .failed = !status, .truncated = cursor.truncated()};
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  static FrameEncoder encoder = *FrameEncoder::create();
  ByteBuffer artifact;
  if ((data[0] & 1) == 0) {
    artifact.append(bytes);
  } else if (!encoder.encode(bytes.first(bytes.size() / 2), artifact) ||
             !encoder.encode(bytes.subspan(bytes.size() / 2), artifact)) {
    std::abort();
  }
  // The size of the batches must not matter.
  if (read_all(artifact.bytes(), 1) != read_all(artifact.bytes(), 1000)) std::abort();
  return 0;
}
