#include "tools/capture_report.h"

#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/units.h"

namespace memtrack::tools {
namespace {

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::string bytes_an_event(const pipeline::CaptureCounters& counters) {
  if (counters.events_written == 0) return "";
  return fmt::format(", {:.1f} bytes an event",
                     static_cast<double>(counters.file_bytes) / static_cast<double>(counters.events_written));
}

}  // namespace

std::string loss_text(const LossCounters& losses) {
  std::vector<std::string> causes;
  for (std::size_t i = 0; i < kLossCauseCount; ++i) {
    if (losses.by_cause[i] == 0) continue;
    causes.push_back(fmt::format("{}: {}", to_string(static_cast<LossCause>(i)), human_count(losses.by_cause[i])));
  }
  return fmt::format("{} {} lost ({})", human_count(losses.total(), "event"), losses.total() == 1 ? "was" : "were",
                     fmt::join(causes, ", "));
}

std::string loss_advice(const LossCounters& losses, const Config& config) {
  std::vector<std::string> steps;
  if (config.source == SourceKind::kReplay) {
    steps.push_back("replay an artifact that was recorded without losses");
  } else if (losses[LossCause::kRingFull] > 0) {
    steps.push_back(fmt::format("use source.on_full = \"block\", or a larger source.preload.ring_size (now {})",
                                exact_size(static_cast<std::int64_t>(config.preload.ring_bytes))));
  }
  if (config.source != SourceKind::kReplay && losses[LossCause::kNoRing] > 0) {
    steps.push_back(fmt::format(
        "give more threads a ring with a larger source.preload.segment_size (now {}) or a smaller ring_size",
        exact_size(static_cast<std::int64_t>(config.preload.segment_bytes))));
  }
  if (!config.allow_loss) steps.push_back("accept losses with --allow-loss");
  if (steps.empty()) return "the artifact is incomplete";
  return fmt::format("to avoid this, {}", fmt::join(steps, "; or "));
}

std::string salvage_text(const pipeline::CaptureCounters& counters) {
  return fmt::format("{} of {} are in the .part file", human_count(counters.events_written),
                     human_count(counters.events_polled, "event"));
}

std::string target_text(const pipeline::TargetExit& target) {
  if (!target.signaled) return fmt::format("exited with {}", target.code);
  const char* name = ::sigdescr_np(target.code);
  return fmt::format("was killed by signal {} ({})", target.code, name == nullptr ? "unknown" : name);
}

std::vector<std::string> summary_lines(const actors::CaptureSummary& summary, std::chrono::nanoseconds elapsed,
                                       SourceKind source) {
  const pipeline::CaptureCounters& counters = summary.counters;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("recorded {} in {}, {} lost", human_count(counters.events_written, "event"),
                              human_duration(elapsed.count()), human_count(counters.losses.total())));
  lines.push_back(fmt::format("artifact: {} ({} in {}{})", summary.path, human_size(counters.file_bytes),
                              human_count(counters.frames_written, "frame"), bytes_an_event(counters)));
  if (summary.target) {
    lines.push_back(fmt::format("the target {}", target_text(*summary.target)));
  } else if (source == SourceKind::kPreload) {
    lines.push_back("the target has not ended");
  }
  lines.push_back(fmt::format("next: memtrack-pipeline stat {}", shell_word(summary.path)));
  return lines;
}

std::string counters_text(const pipeline::CaptureCounters& counters, std::chrono::nanoseconds elapsed) {
  return fmt::format(
      "{:.1f} s: {} polled, {} written, {} chunks, {} batches, {} frames, {} raw, {} written to disk, {} waits for "
      "room, {} lost",
      seconds(elapsed), human_count(counters.events_polled), human_count(counters.events_written),
      human_count(counters.chunks), human_count(counters.batches), human_count(counters.frames_written),
      human_size(counters.raw_bytes), human_size(counters.file_bytes), human_count(counters.queue_full),
      human_count(counters.losses.total()));
}

std::string progress_text(const pipeline::CaptureCounters& now, const pipeline::CaptureCounters& before,
                          std::chrono::nanoseconds interval) {
  const double rate = static_cast<double>(now.events_polled - before.events_polled) / std::max(seconds(interval), 1e-9);
  std::string text = fmt::format("recording: {} events, {}, {} events/s", human_count(now.events_polled),
                                 human_size(now.file_bytes), human_count(static_cast<std::uint64_t>(rate)));
  if (now.losses.total() > 0) text += fmt::format(", {} lost", human_count(now.losses.total()));
  return text;
}

std::string shell_word(std::string_view path) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!path.empty() && path.find_first_not_of(kPlain) == std::string_view::npos) return std::string(path);
  std::string word = "'";
  for (const char c : path) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

}  // namespace memtrack::tools
