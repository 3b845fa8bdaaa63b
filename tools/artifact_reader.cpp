#include "tools/artifact_reader.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <unistd.h>

#include <fmt/format.h>

#include "codec/artifact_cursor.h"
#include "tools/exit_code.h"
#include "tools/log.h"
#include "tools/progress_line.h"
#include "tools/units.h"

namespace memtrack::tools {
namespace {

constexpr std::size_t kBatchEvents = 4096;

std::string reading_text(const std::string& path, std::uint64_t read, std::uint64_t total, std::uint64_t events) {
  const std::uint64_t percent = total == 0 ? 100 : read * 100 / total;
  return fmt::format("reading {}: {} %, {} events", printable(path), percent, human_count(events));
}

// Read by the SIGBUS handler of the same thread.
std::atomic<const char*> guarded_path{""};

void put(const char* text) {
  (void)!::write(STDERR_FILENO, text, std::strlen(text));
}

void on_bus_error(int) {
  put("memtrack-pipeline: ");
  put(guarded_path.load(std::memory_order_relaxed));
  put(": the file became shorter while it was read\n");
  ::_exit(kExitDamaged);
}

}  // namespace

ReadOutcome read_artifact(std::span<const std::byte> artifact, const std::string& path, bool show_progress,
                          const BatchSink& sink) {
  ReadOutcome outcome;
  ProgressLine progress(show_progress);
  ArtifactCursor cursor(artifact);
  EventBatch batch(kBatchEvents);
  bool more = true;
  while (more && !outcome.stopped) {
    batch.clear();
    const Result<ArtifactCursor::Status> status = cursor.next(batch);
    if (!status) outcome.error = status.error();
    more = status && *status == ArtifactCursor::Status::kMore;
    outcome.stopped = !batch.empty() && !sink(batch);
    const auto now = ProgressLine::Clock::now();
    if (progress.due(now)) {
      progress.update(reading_text(path, cursor.bytes_read(), artifact.size(), cursor.counters().events), now);
    }
  }
  if (outcome.error && outcome.error->path.empty()) outcome.error->path = path;
  outcome.truncated = !outcome.error && !outcome.stopped && cursor.truncated();
  outcome.counters = cursor.counters();
  outcome.frames = cursor.frames();
  return outcome;
}

void say_outcome(const ReadOutcome& outcome, const std::string& path, std::string_view verb) {
  const DecodeCounters& counters = outcome.counters;
  if (outcome.error) {
    const std::string before = counters.events == 0
                                   ? ""
                                   : fmt::format("; the {} before it {} {}", human_count(counters.events, "event"),
                                                 counters.events == 1 ? "was" : "were", verb);
    say_error(to_string(*outcome.error) + before);
  } else if (outcome.truncated) {
    say_error(fmt::format("{}: truncated: the last frame is cut; {} before the cut {} {}", path,
                          human_count(counters.events, "event"), counters.events == 1 ? "was" : "were", verb));
  }
  if (counters.unknown_kinds > 0 || counters.unknown_keys > 0) {
    say_warning(fmt::format("{}: skipped {} of unknown kinds and {}", path,
                            human_count(counters.unknown_kinds, "event"),
                            human_count(counters.unknown_keys, "unknown field")));
  }
}

int outcome_exit_code(const ReadOutcome& outcome) {
  if (outcome.error) return reader_exit_code(outcome.error->code);
  return outcome.truncated ? kExitTruncated : kExitWhole;
}

std::string_view outcome_name(const ReadOutcome& outcome) {
  switch (outcome_exit_code(outcome)) {
    case kExitWhole:
      return "whole";
    case kExitTruncated:
      return "truncated";
    case kExitDamaged:
      return "damaged";
    default:
      return "no artifact";
  }
}

void guard_mapped_file(const char* path) {
  guarded_path.store(path, std::memory_order_relaxed);
  struct sigaction action{};
  action.sa_handler = on_bus_error;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace memtrack::tools
