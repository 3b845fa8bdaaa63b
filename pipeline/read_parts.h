// What flows between the stages of a reader, and what a reader is asked for and answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "codec/error.h"
#include "codec/event_batch.h"
#include "codec/event_decoder.h"
#include "codec/frame_splitter.h"
#include "codec/limits.h"
#include "pipeline/buffer_pool.h"
#include "pipeline/mapped_file.h"
#include "pipeline/read_selection.h"

namespace memtrack::pipeline {

/// The bytes to read, which must outlive the reader. With `file`, whose bytes they are, its pages are given back behind
/// the reader, and it is an error where the file shrinks.
struct ArtifactView {
  std::span<const std::byte> bytes = {};
  const MappedFile* file = nullptr;

  [[nodiscard]] static ArtifactView of(const MappedFile& file) { return {.bytes = file.bytes(), .file = &file}; }
  [[nodiscard]] Result<void> check() const { return file == nullptr ? Result<void>{} : file->check_whole(); }
};

/// Turns events into text in the decoders, side by side: appends to the string.
using Render = std::function<void(const EventBatch& events, std::string& text)>;

struct ReadOptions {
  ReadSelection selection = {};
  DecodeLimits limits = {};
  bool use_index = true;      ///< where there is a trusted one
  std::uint32_t workers = 0;  ///< decoders, up to 64; 0: one a processor
  Render render = {};         ///< the consumer gets text instead of events
  /// Less than this much is read by the caller's thread alone: starting threads would take longer.
  std::uint64_t parallel_bytes = 1u << 20;
};

/// What a consumer is given, in file order. May be empty: then only `bytes_passed` has moved.
struct PartView {
  const EventBatch& events;  ///< empty where there is a `render`
  std::string_view text;
  std::uint64_t event_count;   ///< also of those that are text
  std::uint64_t bytes_passed;  ///< of the artifact, for progress
};
/// False ends the reading.
using PartConsumer = std::function<bool(const PartView& part)>;

struct ReadOutcome {
  bool truncated = false;           ///< the last frame is cut; the events before the cut were given
  std::optional<Error> error = {};  ///< damage, or no artifact; the events before it were given
  bool stopped = false;             ///< the consumer wanted no more
  bool from_index = false;          ///< the index's own copy of the module events was read; the data frames were not
  DecodeCounters counters = {};     ///< of what was decoded, selected or not
  std::uint64_t events = 0;         ///< given
  std::uint64_t frames = 0;         ///< data frames read
};

/// Splitter to decoder: a frame, or what there is instead of one.
struct FrameJob {
  std::uint64_t seq = 0;  ///< from 0, without gaps
  FrameRef frame = {};    ///< skippable only where it is cut
  std::span<const std::byte> bytes = {};
  std::optional<Error> error = {};
};

/// Decoder to reassembler: events of one frame. The parts of a frame come in order.
struct Part {
  std::uint64_t frame_seq = 0;
  bool last = false;  ///< of its frame
  bool cut = false;   ///< with last: the frame is cut
  std::uint64_t event_count = 0;
  std::uint64_t frames = 0;  ///< with last, of a data frame: 1
  std::uint64_t bytes_passed = 0;
  DecodeCounters counters = {};  ///< of this part
  std::optional<Error> error = {};
  Pooled<EventBatch> events = {};  ///< empty handle where there is nothing in it
  Pooled<std::string> text = {};
};

/// What a part counts against a queue's byte bound.
[[nodiscard]] std::uint64_t held_bytes(const Part& part);

/// The ordered end of a reader: adds the part to the outcome and gives it to the consumer. False where the reading is
/// over: an error, or the consumer wants no more.
[[nodiscard]] bool deliver(const Part& part, const PartConsumer& consumer, ReadOutcome& outcome);

}  // namespace memtrack::pipeline
