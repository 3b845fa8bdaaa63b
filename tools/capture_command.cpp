#include "tools/capture_command.h"

#include <chrono>
#include <cstdlib>
#include <optional>
#include <poll.h>
#include <unistd.h>

#include "actors/capture_pipeline.h"
#include "pipeline/process/process_handle.h"
#include "tools/capture_report.h"
#include "tools/capture_signals.h"
#include "tools/exit_code.h"
#include "tools/log.h"
#include "tools/progress_line.h"
#include "tools/source_factory.h"

namespace memtrack::tools {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLoopPeriod{50};

bool shows_progress(ProgressMode mode) {
  if (mode == ProgressMode::kAuto) return ::isatty(STDERR_FILENO) == 1;
  return mode == ProgressMode::kAlways;
}

// One capture. Signals come first and go last: the target is started and waited for under them.
class CaptureRun {
 public:
  explicit CaptureRun(const Config& config) : config_(config), progress_(shows_progress(config.progress)) {}

  int run() {
    if (auto checked = check_capture(config_); !checked) return fail(checked.error());
    if (auto opened = open(); !opened) return fail(opened.error());
    begin_ = last_stats_ = last_progress_ = Clock::now();
    if (auto started = pipeline_->start(); !started) return fail(started.error());
    watch();
    const bool stopped = signals_.stop_signal() != 0;
    const Result<actors::CaptureSummary> summary = stopped ? pipeline_->shutdown() : pipeline_->wait();
    progress_.clear();
    if (!summary) return abandon(summary.error());
    report(*summary);
    return exit_code(*summary);
  }

 private:
  Result<void> open() {
    Result<std::unique_ptr<pipeline::EventSource>> source = make_source(config_);
    if (!source) return std::unexpected(source.error());
    const pipeline::EventSource& opened_source = **source;
    pipeline::CaptureOptions options = config_.capture;
    if (config_.source == SourceKind::kReplay) options.write.input = config_.replay_file;
    auto pipeline = actors::CapturePipeline::create(*std::move(source), options);
    if (!pipeline) return std::unexpected(pipeline.error());
    pipeline_ = *std::move(pipeline);
    // Nothing of the pipeline runs yet, so its source may be asked from here.
    if (config_.source == SourceKind::kPreload) target_ = pipeline::ProcessHandle::open(opened_source.root_pid());
    if (target_) signals_.forward_to(target_->fd());
    return {};
  }

  // Until the capture has ended or a signal asks for its end.
  void watch() {
    while (!pipeline_->wait_for(kLoopPeriod) && signals_.stop_signal() == 0) {
      const Clock::time_point now = Clock::now();
      if (progress_.due(now)) show_progress(now);
      if (config_.stats_interval.count() > 0 && now - last_stats_ >= config_.stats_interval) show_stats(now);
    }
  }

  void show_progress(Clock::time_point now) {
    const pipeline::CaptureCounters counters = pipeline_->stats();
    progress_.update(progress_text(counters, last_counters_, now - last_progress_), now);
    last_counters_ = counters;
    last_progress_ = now;
  }

  void show_stats(Clock::time_point now) {
    progress_.clear();
    say_info(counters_text(pipeline_->stats(), now - begin_));
    last_stats_ = now;
  }

  void report(const actors::CaptureSummary& summary) const {
    const Clock::duration elapsed = Clock::now() - begin_;
    for (const std::string& line : summary_lines(summary, elapsed, config_.source)) say_info(line);
    for (const std::string& note : summary.notes) say_warning("note: " + note);
    const LossCounters& losses = summary.counters.losses;
    if (losses.total() > 0) {
      const std::string text = loss_text(losses) + "; " + loss_advice(losses, config_);
      config_.allow_loss ? say_warning(text) : say_error(text);
    }
    say_debug(counters_text(summary.counters, elapsed));
  }

  [[nodiscard]] int exit_code(const actors::CaptureSummary& summary) const {
    const int stop = signals_.stop_signal();
    if (stop != 0 && !summary.target && summary.counters.losses.total() == 0) return 128 + stop;
    if (stop == 0 && !summary.target && config_.source == SourceKind::kPreload) {
      say_error("the target's exit status is not known, since somebody else has waited for it");
      return kExitTrackerFailed;
    }
    return capture_exit_code(summary.target, summary.counters.losses, config_.allow_loss);
  }

  static int fail(const Error& error) {
    say_error(to_string(error));
    return capture_failure_exit_code(error.code);
  }

  // The capture is lost, but the target is not: it runs on to its own end.
  int abandon(const Error& error) {
    const bool runs_on = target_ && !target_->ended();
    say_error(to_string(error) + "; " + salvage_text(pipeline_->stats()) +
              (runs_on ? "; the target runs on, untracked" : ""));
    if (error.code == ErrorCode::kStageStuck) std::_Exit(kExitTrackerFailed);
    wait_for_target();
    return capture_failure_exit_code(error.code);
  }

  void wait_for_target() const {
    if (!target_) return;
    pollfd ended{.fd = target_->fd(), .events = POLLIN, .revents = 0};
    while (signals_.stop_signal() == 0) {
      if (::poll(&ended, 1, static_cast<int>(kLoopPeriod.count())) > 0) return;
    }
  }

  const Config& config_;
  CaptureSignals signals_;
  std::optional<pipeline::ProcessHandle> target_;
  std::unique_ptr<actors::CapturePipeline> pipeline_;
  ProgressLine progress_;
  Clock::time_point begin_{};
  Clock::time_point last_stats_{};
  Clock::time_point last_progress_{};
  pipeline::CaptureCounters last_counters_{};
};

}  // namespace

int run_capture(const Config& config) {
  set_log_level(config.log_level);
  return CaptureRun(config).run();
}

}  // namespace memtrack::tools
