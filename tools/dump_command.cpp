#include "tools/dump_command.h"

#include <algorithm>
#include <string>
#include <unistd.h>

#include "codec/event_text.h"
#include "tools/artifact_reader.h"
#include "tools/event_json.h"
#include "tools/exit_code.h"
#include "tools/output_stream.h"

namespace memtrack::tools {
namespace {

template <auto append>
void append_all(const EventBatch& events, std::string& text) {
  for (std::size_t i = 0; i < events.size(); ++i) append(events, i, text);
}

int dump_file(const std::string& path, const ReaderOptions& options, OutputStream& out) {
  const bool progress = ::isatty(STDERR_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 0;
  const ReadOutcome outcome = read_artifact(
      path, options, progress, [&](const pipeline::PartView& part) { return out.write(part.text); },
      options.json ? append_all<append_json> : append_all<append_text>);
  // First the events, then what is to be said about them.
  (void)out.flush();
  if (!out.failed()) say_outcome(outcome, path, "printed");
  return outcome_exit_code(outcome);
}

}  // namespace

int run_dump(const ReaderOptions& options) {
  OutputStream out(STDOUT_FILENO);
  int worst = kExitWhole;
  for (const std::string& path : options.files) {
    if (options.files.size() > 1) out.text() += file_heading(path, options.json);
    worst = std::max(worst, dump_file(path, options, out));
    if (out.failed()) break;
  }
  return finish_output(out, worst);
}

}  // namespace memtrack::tools
