#include "tools/dump_command.h"

#include <algorithm>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "codec/event_text.h"
#include "pipeline/mapped_file.h"
#include "tools/artifact_reader.h"
#include "tools/event_json.h"
#include "tools/exit_code.h"
#include "tools/log.h"
#include "tools/output_stream.h"

namespace memtrack::tools {
namespace {

std::string file_heading(const std::string& path, bool json) {
  if (!json) return fmt::format("==> {} <==\n", path);
  return nlohmann::json{{"file", path}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int dump_file(const std::string& path, bool json, OutputStream& out) {
  const Result<pipeline::MappedFile> file = pipeline::MappedFile::open(path);
  if (!file) {
    say_error(to_string(file.error()));
    return reader_exit_code(file.error().code);
  }
  guard_mapped_file(path.c_str());
  const auto append = json ? append_json : append_text;
  const bool progress = ::isatty(STDERR_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 0;
  const ReadOutcome outcome = read_artifact(file->bytes(), path, progress, [&](const EventBatch& batch) {
    for (std::size_t i = 0; i < batch.size(); ++i) append(batch, i, out.text());
    return out.flush_if_full();
  });
  // First the events, then what is to be said about them.
  (void)out.flush();
  if (!out.failed()) say_outcome(outcome, path, "printed");
  return outcome_exit_code(outcome);
}

}  // namespace

int run_dump(const ReadOptions& options) {
  OutputStream out(STDOUT_FILENO);
  int worst = kExitWhole;
  for (const std::string& path : options.files) {
    if (options.files.size() > 1) out.text() += file_heading(path, options.json);
    worst = std::max(worst, dump_file(path, options.json, out));
    if (out.failed()) return finish_output(out, worst);
  }
  return finish_output(out, worst);
}

}  // namespace memtrack::tools
