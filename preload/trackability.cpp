#include "preload/trackability.h"

#include <array>
#include <elf.h>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utility>

#include "pipeline/process/elf_symbols.h"

namespace memtrack::preload {
namespace {

#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
#else
#error "the shim is not written for this machine"
#endif
constexpr int kMaxScripts = 4;  // as many interpreters of interpreters as the kernel follows
constexpr const char* kShell = "/bin/sh";

Error untrackable(const std::string& path, const std::string& reason) {
  return Error{.code = ErrorCode::kTargetUntrackable,
               .message = reason + ", so the preload source can't see it; use source.kind = \"bpf\" for it",
               .path = path};
}

/// The interpreter in the first line of a script; nothing where the file is none.
std::optional<std::string> script_interpreter(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::array<char, 256> head;
  const ssize_t count = ::read(fd, head.data(), head.size());
  ::close(fd);
  if (count < 2) return std::nullopt;
  std::string_view line(head.data(), static_cast<std::size_t>(count));
  if (!line.starts_with("#!")) return std::nullopt;
  line = line.substr(2, line.find('\n') == std::string_view::npos ? line.npos : line.find('\n') - 2);
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  line.remove_prefix(begin);
  return std::string(line.substr(0, line.find_first_of(" \t")));
}

/// Why the loader runs this file in its secure mode, where it ignores LD_PRELOAD; empty where it does not.
std::string secure_mode_reason(const std::string& path) {
  struct stat info{};
  struct statvfs mount{};
  if (::stat(path.c_str(), &info) != 0) return {};
  if (::statvfs(path.c_str(), &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0) return {};
  if ((info.st_mode & S_ISUID) != 0 && info.st_uid != ::getuid()) return "is setuid";
  if ((info.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && info.st_gid != ::getgid()) return "is setgid";
  if (::getuid() != 0 && ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
    return "has file capabilities";
  }
  return {};
}

bool is_loader(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("ld-linux") || name.starts_with("ld.so");
}

std::string elf_reason(const std::string& path, const pipeline::ElfImage& image) {
  if (!image.is_64bit) return "is a 32-bit program";
  if (image.machine != kMachine) return "is a program of another machine architecture";
  if (image.interpreter.empty()) return is_loader(path) ? "" : "is statically linked";
  const std::string_view interpreter = image.interpreter;
  const std::string_view name = interpreter.substr(interpreter.rfind('/') + 1);
  if (name.starts_with("ld-musl")) return "uses the musl C library";
  if (name.starts_with("linker")) return "uses the bionic C library";
  return {};
}

}  // namespace

namespace {

struct Finding {
  std::string path;    ///< of the program that is loaded: the interpreter of a script
  std::string reason;  ///< empty: nothing in the way
};

Finding examine(const std::string& executable) {
  std::string path = executable;
  for (int depth = 0; depth <= kMaxScripts; ++depth) {
    if (auto interpreter = script_interpreter(path)) {
      path = std::move(*interpreter);  // the kernel ignores the setuid bit of scripts
      continue;
    }
    const auto image = pipeline::read_elf_image(path);
    if (!image) {
      if (image.error().code != ErrorCode::kInvalidArgument || path == kShell) break;  // exec says what is wrong
      path = kShell;  // a script without an interpreter line
      continue;
    }
    std::string reason = elf_reason(path, *image);
    if (reason.empty()) reason = secure_mode_reason(path);
    return {.path = std::move(path), .reason = std::move(reason)};
  }
  return {};
}

}  // namespace

std::string untrackable_reason(const std::string& executable) {
  return examine(executable).reason;
}

Result<void> check_trackable(const std::string& executable) {
  const Finding finding = examine(executable);
  if (!finding.reason.empty()) return std::unexpected(untrackable(finding.path, finding.reason));
  return {};
}

}  // namespace memtrack::preload
