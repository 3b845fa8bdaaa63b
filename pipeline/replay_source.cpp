#include "pipeline/replay_source.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "codec/artifact_cursor.h"
#include "codec/index.h"
#include "pipeline/batch.h"
#include "pipeline/event_mix.h"
#include "pipeline/mapped_file.h"

namespace memtrack::pipeline {
namespace {

constexpr std::int32_t kPidOfEmptyArtifact = 1;
constexpr std::size_t kStepEvents = 256;
// So that a poll comes back now and then while everything is passed over.
constexpr std::size_t kMostPassedOver = 1u << 20;

class ReplaySource final : public EventSource {
 public:
  explicit ReplaySource(std::string path) : path_(std::move(path)) {}

  Result<void> open() override;
  [[nodiscard]] std::int32_t root_pid() const override { return root_pid_; }
  Result<void> start() override { return {}; }
  Result<Poll> poll(EventBatch& out, std::size_t max_events, std::chrono::nanoseconds timeout) override;
  void begin_drain() override { draining_ = true; }
  void request_stop() override { stopped_.store(true, std::memory_order_relaxed); }
  Result<void> set_enabled(bool enabled) override {
    enabled_ = enabled;
    return {};
  }
  [[nodiscard]] LossCounters losses() const override { return losses_; }
  [[nodiscard]] std::optional<TargetExit> target_exit() const override { return std::nullopt; }
  [[nodiscard]] std::vector<std::string> notes() const override;

 private:
  void read_losses();
  void read_step();
  Result<void> move_on(EventBatch& out, std::size_t full);

  const std::string path_;
  std::optional<MappedFile> file_;
  std::optional<ArtifactCursor> cursor_;  // views file_
  EventBatch step_{kStepEvents};          // read, not yet given
  std::size_t given_ = 0;                 // of step_
  std::int32_t root_pid_ = kPidOfEmptyArtifact;
  LossCounters losses_ = {};  // of the capture that made the artifact
  std::uint64_t other_losses_ = 0;
  std::optional<Error> failure_;  // told once step_ is given
  bool at_end_ = false;
  bool draining_ = false;
  bool enabled_ = true;
  std::atomic<bool> stopped_{false};
};

Result<void> ReplaySource::open() {
  auto file = MappedFile::open(path_);
  if (!file) return std::unexpected(std::move(file.error()));
  file_.emplace(std::move(*file));
  read_losses();
  cursor_.emplace(file_->bytes());
  read_step();
  if (step_.empty() && failure_) return std::unexpected(*failure_);
  if (!step_.empty()) root_pid_ = step_[0].pid;
  return {};
}

/// What the input lacks, the copy lacks. Without an index nobody knows.
void ReplaySource::read_losses() {
  const auto index = parse_index(file_->bytes());
  if (!index || !*index) return;
  losses_ = (*index)->digest.losses;
  for (const OtherLoss& other : (*index)->digest.other_losses) other_losses_ += other.count;
}

/// Reads the next events into step_, all of which have been given. Those before a damage are given before it is told.
void ReplaySource::read_step() {
  step_.clear();
  given_ = 0;
  auto status = cursor_->next(step_, kChunkPayloadBytes);
  if (auto whole = file_->check_whole(); !whole) {
    step_.clear();  // may be made of zeros
    status = std::unexpected(std::move(whole.error()));
  }
  if (status) {
    at_end_ = *status == ArtifactCursor::Status::kEnd;
    return;
  }
  failure_ = std::move(status.error());
  if (failure_->path.empty()) failure_->path = path_;
}

/// Gives what is at hand, reads more where there is nothing.
Result<void> ReplaySource::move_on(EventBatch& out, std::size_t full) {
  if (given_ == step_.size()) {
    if (failure_) return std::unexpected(*failure_);
    if (!at_end_) read_step();
  }
  for (; given_ < step_.size() && out.size() < full; ++given_) {
    if (out.payload_bytes() >= kChunkPayloadBytes) break;
    if (enabled_ || !is_switched_kind(step_[given_].kind)) out.append_from(step_, given_);
  }
  return {};
}

Result<EventSource::Poll> ReplaySource::poll(EventBatch& out, std::size_t max_events, std::chrono::nanoseconds) {
  // Nothing is ever waiting to be given, so what was there at begin_drain() has been given.
  Poll poll{.drain_reached = std::exchange(draining_, false)};
  if (stopped_.load(std::memory_order_relaxed)) {
    poll.ended = true;
    return poll;
  }
  const std::size_t full = out.size() + std::min(max_events, out.room());
  for (std::size_t passed = 0; passed < kMostPassedOver; passed += kStepEvents) {
    if (auto moved = move_on(out, full); !moved) return std::unexpected(std::move(moved.error()));
    poll.ended = at_end_ && given_ == step_.size();
    if (poll.ended || out.size() == full || out.payload_bytes() >= kChunkPayloadBytes) break;
  }
  return poll;
}

std::vector<std::string> ReplaySource::notes() const {
  std::vector<std::string> notes;
  if (!cursor_) return notes;
  if (at_end_ && cursor_->truncated()) {
    notes.push_back(path_ + " is cut: only the events before the cut were replayed");
  }
  if (const std::uint64_t unknown = cursor_->counters().unknown_kinds; unknown > 0) {
    notes.push_back(path_ + " holds " + std::to_string(unknown) + " events of kinds unknown here; they were left out");
  }
  if (const std::uint64_t unknown = cursor_->counters().unknown_keys; unknown > 0) {
    notes.push_back(path_ + " holds " + std::to_string(unknown) + " keys unknown here; they were left out");
  }
  if (losses_.total() > 0) notes.push_back(path_ + " says that these losses happened when it was recorded");
  if (other_losses_ > 0) {
    notes.push_back(path_ + " tells of " + std::to_string(other_losses_) +
                    " more lost events, for causes unknown here");
  }
  return notes;
}

}  // namespace

std::unique_ptr<EventSource> make_replay_source(std::string path) {
  return std::make_unique<ReplaySource>(std::move(path));
}

}  // namespace memtrack::pipeline
