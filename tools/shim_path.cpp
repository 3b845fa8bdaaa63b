#include "tools/shim_path.h"

#include <filesystem>

#include <fmt/format.h>

namespace memtrack::tools {
namespace {

constexpr const char* kShimName = "libmemtrack_preload.so";

// The dynamic linker splits LD_PRELOAD at spaces and colons and knows no way to escape them.
Result<std::string> as_preload_entry(const std::filesystem::path& shim) {
  std::string text = shim.string();
  if (text.find_first_of(" :") == std::string::npos) return text;
  return std::unexpected(Error{.code = ErrorCode::kInvalidArgument,
                               .message = "the shim's path holds a space or a colon, which LD_PRELOAD can't express; "
                                          "set source.preload.shim to a copy elsewhere",
                               .path = std::move(text)});
}

}  // namespace

Result<std::string> find_shim(const std::string& configured) {
  std::error_code failed;
  if (!configured.empty()) {
    const auto shim = std::filesystem::canonical(configured, failed);
    if (failed)
      return std::unexpected(
          io_error("can't find the shim that source.preload.shim names", configured, failed.value()));
    return as_preload_entry(shim);
  }
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return std::unexpected(io_error("can't tell where the program is", "/proc/self/exe", failed.value()));
  const auto above = program.parent_path().parent_path();
  for (const auto& folder : {above / "preload", above / "lib" / "memtrack"}) {
    const auto shim = std::filesystem::canonical(folder / kShimName, failed);
    if (!failed) return as_preload_entry(shim);
  }
  return std::unexpected(
      Error{.code = ErrorCode::kInvalidArgument,
            .message = fmt::format("{} is neither in {} nor in {}; set source.preload.shim to its path", kShimName,
                                   (above / "preload").string(), (above / "lib" / "memtrack").string())});
}

}  // namespace memtrack::tools
