// Seeded inputs of the codec's benchmarks: events of the realistic mix, and artifacts made of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/event_batch.h"

namespace memtrack::perf {

inline constexpr std::uint64_t kSeed = 1;
inline constexpr std::size_t kEventsPerFrame = 65'536;
inline constexpr std::size_t kFrames = 8;

/// The realistic mix of the synthetic source.
[[nodiscard]] EventBatch realistic_events(std::size_t count, bool stack_hashes);

/// Contents of one frame after another, back to back in `bytes`.
struct Contents {
  std::vector<std::byte> bytes = {};
  std::vector<std::size_t> ends = {};  ///< of each frame's content in `bytes`
  [[nodiscard]] std::span<const std::byte> frame(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends[i - 1];
    return std::span(bytes).subspan(begin, ends[i] - begin);
  }
};
[[nodiscard]] Contents encode_frames(const EventBatch& events);

/// Which writer's frames.
enum class Writer {
  kPlain,  ///< zstd level -5, streamed: neither content size nor checksum
  kOurs,   ///< our own encoder's default
};

struct Artifact {
  std::vector<std::byte> bytes = {};
  std::vector<std::size_t> ends = {};  ///< of each frame in `bytes`
  std::uint64_t content_bytes = 0;
  std::uint64_t largest_content = 0;
  std::uint64_t events = 0;
  std::uint64_t module_events = 0;
};
[[nodiscard]] Artifact make_artifact(Writer writer, bool stack_hashes);

}  // namespace memtrack::perf
