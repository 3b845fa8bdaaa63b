// What the tests of codec share: golden files, events of every kind, and a plain way through the layers.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/artifact_cursor.h"
#include "codec/byte_buffer.h"
#include "codec/error.h"
#include "codec/event_batch.h"
#include "codec/frame_splitter.h"

namespace memtrack::test {

using Bytes = std::vector<std::byte>;

/// A file of tests/golden.
[[nodiscard]] Bytes golden(const std::string& name);
/// The golden text, decompressed where the file is.
[[nodiscard]] std::string golden_text(const std::string& name);

/// Contents of all data frames, one after another; stops at an error or a cut.
[[nodiscard]] Result<Bytes> decompress(std::span<const std::byte> artifact, const DecodeLimits& limits = {});
[[nodiscard]] std::vector<FrameRef> split(std::span<const std::byte> artifact);

[[nodiscard]] Bytes encode(const EventBatch& batch);
/// One frame with content size; with a checksum unless told otherwise.
[[nodiscard]] Bytes frame_of(std::span<const std::byte> content, bool checksum = true);
[[nodiscard]] Bytes skippable_frame(std::uint32_t magic, std::span<const std::byte> content);
[[nodiscard]] std::string text_of(const EventBatch& batch);

/// What a serial reader makes of an artifact.
struct Reading {
  EventBatch events{1000};
  bool truncated = false;
  DecodeCounters counters;
  std::optional<Error> error;
};
[[nodiscard]] Reading read_artifact(std::span<const std::byte> artifact, const DecodeLimits& limits = {},
                                    KindSet kinds = kAllKinds);

[[nodiscard]] Bytes bytes_of(std::string_view text);
[[nodiscard]] Bytes from_hex(std::string_view hex);
void append(Bytes& to, std::span<const std::byte> more);
[[nodiscard]] Bytes joined(std::initializer_list<std::span<const std::byte>> parts);

/// An integer that is often just below or above a boundary between two widths.
[[nodiscard]] std::uint64_t edge_uint(std::mt19937_64& random);
[[nodiscard]] std::int64_t edge_int(std::mt19937_64& random, int bits);
/// Appends one event of the kind with edge values in every field.
void append_random(EventBatch& to, EventKind kind, std::mt19937_64& random);
/// A batch of all kinds, each at least once when count >= kEventKindCount.
[[nodiscard]] EventBatch random_batch(std::size_t count, std::mt19937_64& random);
[[nodiscard]] Event malloc_event(std::uint64_t addr, std::uint64_t size);

/// Index of the first difference, or the common size where there is none.
[[nodiscard]] std::size_t first_difference(std::span<const std::byte> a, std::span<const std::byte> b);
[[nodiscard]] bool same_events(const EventBatch& a, const EventBatch& b);

}  // namespace memtrack::test
