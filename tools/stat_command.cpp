#include "tools/stat_command.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include "codec/frame_decoder.h"
#include "codec/frame_splitter.h"
#include "codec/index.h"
#include "pipeline/mapped_file.h"
#include "tools/exit_code.h"
#include "tools/log.h"
#include "tools/output_stream.h"
#include "tools/stat_report.h"

namespace memtrack::tools {
namespace {

std::optional<std::uint64_t> decoded_bytes(FrameDecoder& decoder, const FrameRef& frame,
                                           std::span<const std::byte> bytes) {
  if (!decoder.begin(frame, bytes)) return std::nullopt;
  std::uint64_t sum = 0;
  while (true) {
    const Result<std::span<const std::byte>> piece = decoder.next();
    if (!piece) return std::nullopt;
    if (piece->empty()) return sum;
    sum += piece->size();
  }
}

// The frames say how large they are, mostly; those that don't are decoded once more, which nothing else needs.
std::optional<std::uint64_t> raw_bytes(std::span<const std::byte> artifact) {
  FrameSplitter splitter(artifact);
  FrameDecoder decoder;
  std::uint64_t sum = 0;
  while (true) {
    const Result<std::optional<FrameRef>> frame = splitter.next();
    if (!frame) return std::nullopt;
    if (!*frame) return sum;
    if ((*frame)->skippable) continue;
    std::optional<std::uint64_t> size = (*frame)->content_size;
    if (!size || (*frame)->cut)
      size = decoded_bytes(decoder, **frame, artifact.subspan((*frame)->offset, (*frame)->size));
    if (!size) return std::nullopt;
    sum += *size;
  }
}

// Fills in what the index knows.
void ask_index(std::span<const std::byte> artifact, bool may_answer, StatReport& report) {
  Result<std::optional<ParsedIndex>> index = parse_index(artifact);
  if (!index || !*index) return;
  Digest& digest = (*index)->digest;
  report.losses = digest.losses;
  if (!may_answer) return;
  report.outcome.frames = digest.frames.size();
  report.raw_bytes = 0;
  for (const IndexedFrame& frame : digest.frames) *report.raw_bytes += frame.decompressed_bytes;
  report.digest = std::move(digest);
}

int stat_file(const std::string& path, const ReaderOptions& options, OutputStream& out) {
  const Result<pipeline::MappedFile> file = pipeline::MappedFile::open(path);
  if (!file) {
    say_error(to_string(file.error()));
    return reader_exit_code(file.error().code);
  }
  StatReport report{.path = path, .file_bytes = file->bytes().size()};
  ask_index(file->bytes(), !options.full && options.use_index, report);
  if (!report.digest) {
    report.outcome = read_artifact(path, options, ::isatty(STDERR_FILENO) == 1, [&](const pipeline::PartView& part) {
      report.statistics.add(part.events);
      return true;
    });
    if (outcome_exit_code(report.outcome) != kExitNoArtifact) report.raw_bytes = raw_bytes(file->bytes());
  }
  // What was read of a file that has shrunk meanwhile may be zeros.
  if (auto whole = file->check_whole(); !whole) report.outcome.error = std::move(whole.error());
  const int code = outcome_exit_code(report.outcome);
  if (code != kExitNoArtifact) {
    (options.json ? append_stat_json : append_stat_text)(report, out.text());
    (void)out.flush();
  }
  if (!out.failed()) say_outcome(report.outcome, path, "counted");
  return code;
}

}  // namespace

int run_stat(const ReaderOptions& options) {
  OutputStream out(STDOUT_FILENO);
  int worst = kExitWhole;
  for (const std::string& path : options.files) {
    worst = std::max(worst, stat_file(path, options, out));
    if (out.failed()) break;
  }
  return finish_output(out, worst);
}

}  // namespace memtrack::tools
