#include "tools/artifact_reader.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "actors/read_pipeline.h"
#include "pipeline/mapped_file.h"
#include "tools/exit_code.h"
#include "tools/log.h"
#include "tools/progress_line.h"
#include "tools/units.h"

namespace memtrack::tools {
namespace {

std::string reading_text(const std::string& path, std::uint64_t read, std::uint64_t total, std::uint64_t events) {
  const std::uint64_t percent = total == 0 ? 100 : read * 100 / total;
  return fmt::format("reading {}: {} %, {} events", printable(path), percent, human_count(events));
}

}  // namespace

ReadOutcome read_artifact(const std::string& path, const ReaderOptions& options, bool show_progress,
                          const pipeline::PartConsumer& consumer, const pipeline::Render& render) {
  const Result<pipeline::MappedFile> file = pipeline::MappedFile::open(path);
  if (!file) return {.error = file.error()};
  ProgressLine progress(show_progress);
  std::uint64_t events = 0;
  const auto watched = [&](const pipeline::PartView& part) {
    events += part.event_count;
    const auto now = ProgressLine::Clock::now();
    if (progress.due(now)) {
      progress.update(reading_text(path, part.bytes_passed, file->bytes().size(), events), now);
    }
    return consumer(part);
  };
  ReadOutcome outcome = actors::ReadPipeline(pipeline::ArtifactView::of(*file),
                                             {.selection = options.selection,
                                              .use_index = options.use_index,
                                              .workers = options.workers,
                                              .render = render},
                                             watched)
                            .run();
  if (outcome.error && outcome.error->path.empty()) outcome.error->path = path;
  return outcome;
}

std::string file_heading(const std::string& path, bool json) {
  if (!json) return fmt::format("==> {} <==\n", path);
  return nlohmann::json{{"file", path}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void say_outcome(const ReadOutcome& outcome, const std::string& path, std::string_view verb) {
  const DecodeCounters& counters = outcome.counters;
  if (outcome.error) {
    const std::string before = outcome.events == 0
                                   ? ""
                                   : fmt::format("; the {} before it {} {}", human_count(outcome.events, "event"),
                                                 outcome.events == 1 ? "was" : "were", verb);
    say_error(to_string(*outcome.error) + before);
  } else if (outcome.truncated) {
    say_error(fmt::format("{}: truncated: the last frame is cut; {} before the cut {} {}", path,
                          human_count(outcome.events, "event"), outcome.events == 1 ? "was" : "were", verb));
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

}  // namespace memtrack::tools
