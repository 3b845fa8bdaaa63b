#include "pipeline/splitter.h"

#include <utility>

#include "codec/frame_cursor.h"

namespace memtrack::pipeline {
namespace {

constexpr std::size_t kCheckedAtOnce = 1024;

// Whether the module section can be decoded and holds as many events as the frames say, and module events only.
bool holds_all_modules(const ParsedIndex& index, const DecodeLimits& limits) {
  std::uint64_t expected = 0;
  for (const IndexedFrame& frame : index.digest.frames) expected += frame.summary.module_event_count;
  FrameSplitter splitter(index.modules);
  FrameCursor cursor({.limits = limits});
  EventBatch batch(kCheckedAtOnce);
  while (!index.modules.empty()) {
    const auto frame = splitter.next();
    if (!frame) return false;
    if (!*frame) break;
    if (!cursor.begin(**frame, index.modules.subspan((*frame)->offset, (*frame)->size))) return false;
    for (auto status = FrameCursor::Status::kMore; status == FrameCursor::Status::kMore;) {
      batch.clear();
      const auto went_on = cursor.next(batch, kCheckedAtOnce * sizeof(Event));
      if (!went_on) return false;
      for (const Event& event : batch.events()) {
        if (!is_module_event(event.kind)) return false;
      }
      status = *went_on;
    }
  }
  return cursor.counters().events == expected && cursor.counters().unknown_kinds == 0;
}

}  // namespace

Splitter::Splitter(const ArtifactView& artifact, const ReadOptions& options)
    : artifact_(artifact), selection_(options.selection), bytes_(artifact.bytes), frames_(artifact.bytes) {
  if (options.use_index) choose_mode(options);
}

void Splitter::choose_mode(const ReadOptions& options) {
  auto parsed = parse_index(artifact_.bytes);
  if (!parsed || !*parsed) return;
  index_ = std::move(**parsed);
  mode_ = Mode::kIndexed;
  if (!selection_.only_modules() || !index_->digest.has_modules) return;
  if (!holds_all_modules(*index_, options.limits)) {
    mode_ = Mode::kHeaders;
    return;
  }
  mode_ = Mode::kModules;
  bytes_ = index_->modules;
  base_ = static_cast<std::uint64_t>(index_->modules.data() - artifact_.bytes.data());
  frames_ = FrameSplitter(bytes_);
  ended_ = bytes_.empty();
}

std::optional<FrameJob> Splitter::next() {
  if (ended_) return std::nullopt;
  std::optional<FrameJob> job = mode_ == Mode::kIndexed ? next_indexed() : next_by_header();
  // What was read of a file that has shrunk may be zeros: no frame, a wrong one, or the end.
  if (auto whole = artifact_.check(); !whole) job = FrameJob{.error = std::move(whole.error())};
  if (!job || job->error) ended_ = true;
  if (job) job->seq = next_seq_++;
  return job;
}

std::optional<FrameJob> Splitter::next_indexed() {
  const std::vector<IndexedFrame>& frames = index_->digest.frames;
  const bool selects = selection_.selects_by_kind() || selection_.selects_by_value();
  while (selects && indexed_ < frames.size() && !selection_.may_match(frames[indexed_].summary)) ++indexed_;
  if (indexed_ == frames.size()) return std::nullopt;
  const IndexedFrame& frame = frames[indexed_];
  return FrameJob{.frame = {.number = indexed_++,
                            .offset = frame.offset,
                            .size = frame.compressed_bytes,
                            .skippable = false,
                            .cut = false,
                            .content_size = frame.decompressed_bytes},
                  .bytes = artifact_.bytes.subspan(frame.offset, frame.compressed_bytes)};
}

std::optional<FrameJob> Splitter::next_by_header() {
  while (true) {
    auto found = frames_.next();
    if (!found) return FrameJob{.error = std::move(found.error())};
    if (!*found) return std::nullopt;
    FrameRef frame = **found;
    if (frame.skippable && !frame.cut) continue;
    const auto bytes = bytes_.subspan(frame.offset, frame.size);
    frame.offset += base_;
    return FrameJob{.frame = frame, .bytes = bytes};
  }
}

}  // namespace memtrack::pipeline
