#include "tools/source_factory.h"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "pipeline/replay_source.h"
#include "tools/shim_path.h"
#include "tools/units.h"

namespace memtrack::tools {
namespace {

std::unexpected<Error> invalid(std::string message) {
  return std::unexpected(Error{.code = ErrorCode::kInvalidArgument, .message = std::move(message)});
}

Result<void> check_directory(const std::string& directory) {
  struct stat status{};
  if (::stat(directory.c_str(), &status) != 0) {
    if (errno == ENOENT) {
      return invalid(
          fmt::format("the output folder \"{}\" does not exist; create it, or choose another with -o DIR", directory));
    }
    return std::unexpected(io_error("can't use the output folder", directory, errno));
  }
  if (!S_ISDIR(status.st_mode)) return invalid(fmt::format("the output folder \"{}\" is not a folder", directory));
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    return std::unexpected(io_error("can't write into the output folder", directory, errno));
  }
  return {};
}

Result<void> check_preload(const preload::PreloadOptions& options) {
  if (options.command.empty() || options.command.front().empty()) {
    return invalid("there is no command to record; put it behind --, as in: memtrack-pipeline record -- ls -l");
  }
  if (options.ring_bytes > options.segment_bytes) {
    return invalid(fmt::format("source.preload.ring_size ({}) is larger than source.preload.segment_size ({})",
                               exact_size(static_cast<std::int64_t>(options.ring_bytes)),
                               exact_size(static_cast<std::int64_t>(options.segment_bytes))));
  }
  return {};
}

std::vector<std::string> own_environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

}  // namespace

Result<void> check_capture(const Config& config) {
  if (config.source == SourceKind::kPreload) {
    if (auto checked = check_preload(config.preload); !checked) return checked;
  }
  if (config.source == SourceKind::kReplay && config.replay_file.empty()) {
    return invalid("source.kind is \"replay\", but source.replay.file names no artifact");
  }
  return check_directory(config.capture.write.directory);
}

Result<std::unique_ptr<pipeline::EventSource>> make_source(const Config& config) {
  if (config.source == SourceKind::kReplay) return pipeline::make_replay_source(config.replay_file);
  if (config.source == SourceKind::kSynthetic) return pipeline::make_synthetic_source(config.synthetic);
  Result<std::string> shim = find_shim(config.preload.shim_path);
  if (!shim) return std::unexpected(shim.error());
  preload::PreloadOptions options = config.preload;
  options.shim_path = *std::move(shim);
  options.environment = own_environment();
  return preload::make_preload_source(std::move(options));
}

}  // namespace memtrack::tools
