#include "preload/preload_source.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <unistd.h>
#include <utility>

#include "pipeline/process/proc_maps.h"
#include "pipeline/process/target.h"
#include "preload/futex.h"
#include "preload/process_probe.h"
#include "preload/record_merger.h"
#include "preload/segment.h"
#include "preload/target_environment.h"
#include "preload/time_source.h"
#include "preload/trackability.h"

namespace memtrack::preload {
namespace {

using std::chrono::nanoseconds;
using SteadyClock = std::chrono::steady_clock;

/// Wakes the tracker from its sleep, or keeps it from falling asleep: it says that it sleeps, then looks once more.
void call(std::uint32_t* tracker_sleeping) {
  __atomic_store_n(tracker_sleeping, 0u, __ATOMIC_SEQ_CST);
  futex_wake(tracker_sleeping);
}

/// Members are destroyed from the last to the first: the merger before what it refers to, the segment before the
/// target, whose destruction ends it where it was never released.
class PreloadSource final : public pipeline::EventSource {
 public:
  explicit PreloadSource(PreloadOptions options) : options_(std::move(options)) {}
  ~PreloadSource() override { close_segment(); }

  Result<void> open() override;
  [[nodiscard]] std::int32_t root_pid() const override { return target_ ? target_->pid() : 0; }
  Result<void> start() override;
  Result<Poll> poll(EventBatch& out, std::size_t max_events, nanoseconds timeout) override;
  void begin_drain() override;
  void request_stop() override;
  Result<void> set_enabled(bool enabled) override;
  [[nodiscard]] LossCounters losses() const override { return merger_ ? merger_->losses() : LossCounters{}; }
  [[nodiscard]] std::optional<pipeline::TargetExit> target_exit() const override { return exit_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }

 private:
  /// A sweep costs some microseconds and takes what came since the last one: not more often than this, unless a ring
  /// calls.
  static constexpr nanoseconds kSweepPace = std::chrono::milliseconds(1);
  /// Nobody waits longer for what nobody called for.
  static constexpr nanoseconds kLongestStep = std::chrono::milliseconds(100);
  /// While the rings are busy this thread goes on looking for so long, and gathers what comes. Small rings fill up in
  /// microseconds, and their threads wait while it sleeps or hands on crumbs.
  static constexpr nanoseconds kLinger = std::chrono::microseconds(50);

  Result<void> make_segment();
  void close_segment();
  bool sweep_if_due(SteadyClock::time_point now);
  void sweep_done();
  bool tree_is_over();
  void end();
  void wait(nanoseconds longest);
  [[nodiscard]] bool lingers(SteadyClock::time_point now) const { return now < linger_until_; }

  PreloadOptions options_;
  std::optional<pipeline::Target> target_;
  std::optional<Segment> segment_;
  std::optional<MachineTime> time_;
  std::unique_ptr<ProcessProbe> probe_;
  std::optional<RecordMerger> merger_;
  std::vector<std::unique_ptr<ProcessWatch>> unknown_members_;  // of the tree, which never showed themselves
  std::optional<pipeline::TargetExit> exit_;
  std::vector<std::string> notes_;
  SteadyClock::time_point last_sweep_{};
  nanoseconds step_ = kSweepPace;  // of waiting: grows while little comes
  std::atomic<bool> stop_requested_{false};
  SteadyClock::time_point linger_until_{};
  bool called_ = false;  // since the last sweep
  bool merging_ = false;
  bool draining_ = false;
  bool closing_ = false;  // the last sweep has been asked for
  bool swept_last_ = false;
  bool ended_ = false;
};

Result<void> PreloadSource::open() {
  remove_stale_segments();
  if (auto made = make_segment(); !made) return made;
  auto environment = make_target_environment(options_.environment, options_.shim_path, segment_->path());
  if (!environment) return std::unexpected(std::move(environment.error()));
  auto target = pipeline::Target::spawn({.argv = options_.command, .environment = std::move(*environment)});
  if (!target) return std::unexpected(std::move(target.error()));
  if (auto trackable = check_trackable(target->executable()); !trackable) return trackable;
  target_.emplace(std::move(*target));
  merger_->expect_root(target_->pid());
  return {};
}

Result<void> PreloadSource::make_segment() {
  const auto layout = plan_segment(options_.segment_bytes, options_.ring_bytes);
  if (!layout) return std::unexpected(layout.error());
  const mt_clock clock = best_clock();
  const std::int32_t self = ::getpid();
  auto segment =
      Segment::create(*layout, {.clock = clock,
                                .on_full = options_.on_full == OnFull::kBlock ? MT_ON_FULL_BLOCK : MT_ON_FULL_DROP,
                                .enabled = options_.start_enabled,
                                .tracker_pid = self,
                                .tracker_start_time = pipeline::read_start_time(self).value_or(0)});
  if (!segment) return std::unexpected(std::move(segment.error()));
  segment_.emplace(std::move(*segment));
  time_.emplace(clock);
  probe_ = make_process_probe([word = &segment_->view().header->tracker_sleeping] { call(word); });
  merger_.emplace(segment_->view(), *time_, *probe_,
                  RecordMerger::Options{.rss_interval_ns = static_cast<std::uint64_t>(options_.rss_interval.count()),
                                        .start_enabled = options_.start_enabled});
  return {};
}

Result<void> PreloadSource::start() {
  return target_->release();
}

void PreloadSource::close_segment() {
  if (!segment_) return;
  __atomic_store_n(&segment_->view().header->closed, 1u, __ATOMIC_SEQ_CST);
  merger_->wake_all();
}

Result<PreloadSource::Poll> PreloadSource::poll(EventBatch& out, std::size_t max_events, nanoseconds timeout) {
  const std::size_t before = out.size();
  const SteadyClock::time_point deadline = SteadyClock::now() + timeout;
  Poll result;
  while (!ended_) {
    if (stop_requested_.load(std::memory_order_acquire)) end();
    if (merging_) {
      merging_ = merger_->merge(out, max_events - (out.size() - before));
      if (!merging_) sweep_done();
    }
    if (draining_ && !merging_ && (ended_ || merger_->drain_reached())) {
      draining_ = false;
      result.drain_reached = true;
    }
    if (result.drain_reached || ended_ || merging_) break;  // merging: there was no room for all
    const SteadyClock::time_point now = SteadyClock::now();
    if (out.size() > before && !lingers(now)) break;
    if (sweep_if_due(now)) continue;
    if (now >= deadline && out.size() == before) break;
    if (!lingers(now)) wait(deadline - now);
  }
  result.ended = ended_;
  return result;
}

/// True where a sweep was made, so that there may be something to merge.
bool PreloadSource::sweep_if_due(SteadyClock::time_point now) {
  const bool must = closing_ || called_;
  if (!must && !lingers(now) && now - last_sweep_ < kSweepPace) return false;
  if (!must && !draining_ && !merger_->has_news()) return false;
  last_sweep_ = now;
  called_ = false;
  merger_->sweep();
  merging_ = true;
  swept_last_ = closing_;
  return true;
}

/// Called when all of a sweep has been given.
void PreloadSource::sweep_done() {
  const std::uint32_t slots = segment_->view().layout.ring_slots;
  if (merger_->last_taken() >= slots / 8) linger_until_ = SteadyClock::now() + kLinger;
  if (merger_->last_taken() >= slots / 64) step_ = kSweepPace;
  if ((merger_->root_gone() || swept_last_) && !exit_) exit_ = target_->try_wait();
  if (swept_last_) {
    ended_ = true;
    for (const RecordMerger::Survivor& survivor : merger_->survivors()) {
      notes_.push_back("process " + std::to_string(survivor.pid) + " (" + survivor.name +
                       ") outlived the capture and went on untracked");
    }
    for (std::string& note : merger_->untracked_notes()) notes_.push_back(std::move(note));
    if (exit_ && !merger_->root_was_seen()) {
      notes_.push_back("the target never loaded the shim: nothing of it was recorded");
    }
    return;
  }
  const bool over = options_.wait == WaitFor::kRoot ? merger_->root_gone() : merger_->all_gone() && tree_is_over();
  if (over) end();
}

/// Called when no process is known any more. One that nobody knows yet (between its fork and its first step, or under a
/// program that can't be tracked) carries the session's environment: see docs/decisions/end-of-a-tree.md.
bool PreloadSource::tree_is_over() {
  const auto lives = [](const auto& watch) { return !watch->ended_now(); };
  if (std::any_of(unknown_members_.begin(), unknown_members_.end(), lives)) return false;
  unknown_members_.clear();
  for (const std::int32_t pid : probe_->members(MT_SEGMENT_ENV "=" + segment_->path())) {
    auto watch = probe_->watch(pid);
    if (watch && lives(watch)) unknown_members_.push_back(std::move(watch));
  }
  return unknown_members_.empty();
}

void PreloadSource::end() {
  if (closing_) return;
  closing_ = true;
  close_segment();
  merger_->finish();
}

/// Sleeps until somebody calls, a sample is due, or `longest` is over. What is too little for a call is looked for now
/// and then, each time later, while little comes.
void PreloadSource::wait(nanoseconds longest) {
  std::uint32_t* const word = &segment_->view().header->tracker_sleeping;
  __atomic_store_n(word, 1u, __ATOMIC_SEQ_CST);
  const bool hurry = draining_ || merger_->has_news();  // after the store: whoever comes later finds the 1
  nanoseconds limit = std::max(nanoseconds(0), kSweepPace - (SteadyClock::now() - last_sweep_));
  if (!hurry) {
    const auto sample =
        std::min<std::uint64_t>(merger_->ns_to_next_sample(), static_cast<std::uint64_t>(kLongestStep.count()));
    limit = std::max(limit, std::min(step_, nanoseconds(sample)));
    step_ = std::min(step_ * 2, kLongestStep);
  }
  if (!stop_requested_.load(std::memory_order_acquire)) futex_wait(word, 1u, std::min(longest, limit));
  called_ = __atomic_exchange_n(word, 0u, __ATOMIC_SEQ_CST) == 0;
}

void PreloadSource::begin_drain() {
  if (!merger_) return;
  draining_ = true;
  last_sweep_ = {};  // the pace must not delay the first look
  merger_->begin_drain();
}

void PreloadSource::request_stop() {
  stop_requested_.store(true, std::memory_order_release);
  if (!segment_) return;
  // Not left to the next poll: after a failure there is none, and threads that wait for room look at this.
  __atomic_store_n(&segment_->view().header->closed, 1u, __ATOMIC_SEQ_CST);
  call(&segment_->view().header->tracker_sleeping);
}

Result<void> PreloadSource::set_enabled(bool enabled) {
  merger_->set_enabled(enabled);
  return {};
}

}  // namespace

std::unique_ptr<pipeline::EventSource> make_preload_source(PreloadOptions options) {
  return std::make_unique<PreloadSource>(std::move(options));
}

}  // namespace memtrack::preload
