#include "preload/target_environment.h"

#include <cerrno>
#include <string_view>
#include <unistd.h>

#include "preload/shared_segment.h"

namespace memtrack::preload {
namespace {

constexpr std::string_view kPreload = "LD_PRELOAD=";
constexpr std::string_view kSegment = MT_SEGMENT_ENV "=";

bool lists(std::string_view entries, std::string_view path) {
  while (!entries.empty()) {
    const std::size_t end = entries.find_first_of(" :");
    if (entries.substr(0, end) == path) return true;
    if (end == std::string_view::npos) break;
    entries.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> make_target_environment(const std::vector<std::string>& environment,
                                                         const std::string& shim_path,
                                                         const std::string& segment_path) {
  if (shim_path.find_first_of(" :") != std::string::npos) {
    return std::unexpected(
        Error{.code = ErrorCode::kInvalidArgument,
              .message = "the shim's path must hold neither a space nor a colon; move or link it elsewhere",
              .path = shim_path});
  }
  if (::access(shim_path.c_str(), R_OK) != 0) {
    return std::unexpected(Error{.code = ErrorCode::kInvalidArgument,
                                 .message = "the shim can't be read",
                                 .path = shim_path,
                                 .system_errno = errno});
  }
  std::vector<std::string> out;
  std::string preload(kPreload);
  preload += shim_path;
  for (const std::string& entry : environment) {
    if (entry.starts_with(kSegment)) continue;
    if (!entry.starts_with(kPreload)) {
      out.push_back(entry);
      continue;
    }
    const std::string others = entry.substr(kPreload.size());
    if (lists(others, shim_path)) {  // under another tracker of ours
      preload = entry;
    } else if (!others.empty()) {
      preload += ":" + others;
    }
  }
  out.push_back(std::move(preload));
  out.push_back(std::string(kSegment) + segment_path);
  return out;
}

}  // namespace memtrack::preload
