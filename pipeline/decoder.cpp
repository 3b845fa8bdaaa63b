#include "pipeline/decoder.h"

#include <utility>

namespace memtrack::pipeline {
namespace {

// Events that are decoded before the selection is applied to them: they stay in the nearest cache.
constexpr std::size_t kDecodedAtOnce = 1024;
// How often that is done for one part, however few events are selected.
constexpr int kMostRounds = 128;
// Pages of a frame that takes long are given back in steps of this many bytes.
constexpr std::uint64_t kReleaseBytes = 1u << 20;

DecodeCounters difference(const DecodeCounters& now, const DecodeCounters& before) {
  return {.events = now.events - before.events,
          .unknown_kinds = now.unknown_kinds - before.unknown_kinds,
          .unknown_keys = now.unknown_keys - before.unknown_keys};
}

}  // namespace

Decoder::Decoder(const ArtifactView& artifact, const ReadOptions& options, PartPools& pools)
    : artifact_(artifact),
      options_(&options),
      pools_(&pools),
      filters_(options.selection.selects_by_value()),
      cursor_({.limits = options.limits, .kinds = options.selection.kinds}),
      decoded_(filters_ ? kDecodedAtOnce : 0),
      selected_(options.render ? kPartEvents : 0) {}

void Decoder::begin(FrameJob job) {
  released_ = 0;
  if (!job.error) {
    if (auto begun = cursor_.begin(job.frame, job.bytes); !begun) job.error = std::move(begun.error());
  }
  job_ = std::move(job);
}

Part Decoder::next() {
  Part part{.frame_seq = job_->seq};
  Result<bool> more = false;
  if (job_->error) {
    more = std::unexpected(std::move(*job_->error));
  } else {
    more = options_->render ? fill_text(part) : fill_events(part);
  }
  finish(part, more);
  return part;
}

// Each of the following gives false where the frame is at its end.

Result<bool> Decoder::fill_events(Part& part) {
  part.events = pools_->events.take();
  auto more = fill_selected(*part.events);
  part.event_count = part.events->size();
  if (part.events->empty()) part.events.reset();
  return more;
}

Result<bool> Decoder::fill_text(Part& part) {
  part.text = pools_->texts.take();
  selected_.clear();
  auto more = fill_selected(selected_);
  part.event_count = selected_.size();
  if (!selected_.empty()) options_->render(selected_, *part.text);
  return more;
}

Result<bool> Decoder::fill_selected(EventBatch& out) {
  if (!filters_) return read(out);
  Result<bool> more = true;
  for (int round = 0; more && *more && round < kMostRounds; ++round) {
    if (out.room() < kDecodedAtOnce || out.payload_bytes() >= kPartBytes) break;
    decoded_.clear();
    more = read(decoded_);
    for (std::size_t i = 0; i < decoded_.size(); ++i) {
      if (options_->selection.matches(decoded_[i])) out.append_from(decoded_, i);
    }
  }
  return more;
}

Result<bool> Decoder::read(EventBatch& out) {
  auto status = cursor_.next(out, kPartBytes);
  if (!status) return std::unexpected(std::move(status.error()));
  return *status == FrameCursor::Status::kMore;
}

void Decoder::finish(Part& part, const Result<bool>& more) {
  part.counters = difference(cursor_.counters(), reported_);
  reported_ = cursor_.counters();
  part.bytes_passed = job_->frame.offset + cursor_.bytes_read();
  part.last = !more || !*more;
  part.frames = part.last && !job_->bytes.empty() && !job_->frame.skippable ? 1 : 0;
  part.cut = more && part.last && cursor_.cut();
  if (!more) part.error = more.error();
  // Of a file that has shrunk nothing is certain that was decoded since the last look.
  if (auto whole = artifact_.check(); !whole) {
    part = Part{.frame_seq = part.frame_seq, .last = true, .error = std::move(whole.error())};
  }
  if (part.error && part.error->path.empty() && artifact_.file != nullptr) part.error->path = artifact_.file->path();
  release_pages(part.last);
  if (part.last) job_.reset();
}

void Decoder::release_pages(bool all) {
  if (artifact_.file == nullptr || job_->bytes.empty()) return;
  const std::uint64_t passed = all ? job_->bytes.size() : cursor_.bytes_read();
  if (!all && passed - released_ < kReleaseBytes) return;
  artifact_.file->release(job_->frame.offset + released_, passed - released_);
  released_ = passed;
}

}  // namespace memtrack::pipeline
