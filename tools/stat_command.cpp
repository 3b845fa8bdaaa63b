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

std::optional<LossCounters> indexed_losses(std::span<const std::byte> artifact) {
  const Result<std::optional<ParsedIndex>> index = parse_index(artifact);
  if (!index || !*index) return std::nullopt;
  return (*index)->digest.losses;
}

int stat_file(const std::string& path, bool json, OutputStream& out) {
  const Result<pipeline::MappedFile> file = pipeline::MappedFile::open(path);
  if (!file) {
    say_error(to_string(file.error()));
    return reader_exit_code(file.error().code);
  }
  guard_mapped_file(path.c_str());
  StatReport report{.path = path, .file_bytes = file->bytes().size()};
  report.outcome = read_artifact(file->bytes(), path, ::isatty(STDERR_FILENO) == 1, [&](const EventBatch& batch) {
    report.statistics.add(batch);
    return true;
  });
  const int code = outcome_exit_code(report.outcome);
  if (code != kExitNoArtifact) {
    report.raw_bytes = raw_bytes(file->bytes());
    report.losses = indexed_losses(file->bytes());
    (json ? append_stat_json : append_stat_text)(report, out.text());
    (void)out.flush();
  }
  if (!out.failed()) say_outcome(report.outcome, path, "counted");
  return code;
}

}  // namespace

int run_stat(const ReadOptions& options) {
  OutputStream out(STDOUT_FILENO);
  int worst = kExitWhole;
  for (const std::string& path : options.files) {
    worst = std::max(worst, stat_file(path, options.json, out));
    if (out.failed()) break;
  }
  return finish_output(out, worst);
}

}  // namespace memtrack::tools
