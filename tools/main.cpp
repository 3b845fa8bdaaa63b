// memtrack-pipeline: records what memory a program tree allocates, and reads such recordings.
#include <exception>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include "tools/capture_command.h"
#include "tools/capture_signals.h"
#include "tools/command_line.h"
#include "tools/config_file.h"
#include "tools/dump_command.h"
#include "tools/exit_code.h"
#include "tools/log.h"
#include "tools/modules_command.h"
#include "tools/output_stream.h"
#include "tools/stat_command.h"

namespace memtrack::tools {
namespace {

int print(std::string text) {
  ignore_write_signals();
  OutputStream out(STDOUT_FILENO);
  out.text() = std::move(text);
  return finish_output(out, kExitWhole);
}

struct Runner {
  int operator()(const CaptureCall& call) const { return run_capture(call.config); }
  int operator()(const PrintConfigCall& call) const {
    Result<std::string> text = print_config(call.config);
    if (text) return print(*std::move(text));
    say_error(to_string(text.error()));
    return kExitTrackerFailed;
  }
  int operator()(const DumpCall& call) const {
    ignore_write_signals();
    return run_dump(call.options);
  }
  int operator()(const ModulesCall& call) const {
    ignore_write_signals();
    return run_modules(call.options);
  }
  int operator()(const StatCall& call) const {
    ignore_write_signals();
    return run_stat(call.options);
  }
  int operator()(const TextCall& call) const { return print(call.text); }
};

/// Where somebody closed a standard stream, the next file to be opened, an artifact, would take its place. Reading from
/// the stand-in gives nothing and writing to it fails, as with a closed one; the target finds it closed again.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1) continue;
    (void)::open("/dev/null", (stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

int run(const std::vector<std::string>& arguments) {
  const auto call = parse_command_line(arguments);
  if (call) return std::visit(Runner{}, *call);
  say_error(call.error().message);
  return call.error().exit_code;
}

}  // namespace
}  // namespace memtrack::tools

int main(int argument_count, char** arguments) {
  memtrack::tools::occupy_standard_streams();
  try {
    return memtrack::tools::run({arguments + 1, arguments + argument_count});
  } catch (const std::exception& error) {
    // Out of memory, or a bug: nothing below lets an exception out for anything that can be handled.
    memtrack::tools::say_error(std::string("internal error: ") + error.what());
    return memtrack::tools::kExitTrackerFailed;
  }
}
