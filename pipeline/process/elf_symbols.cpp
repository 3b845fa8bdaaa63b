#include "pipeline/process/elf_symbols.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

#include <gelf.h>
#include <libelf.h>

namespace memtrack::pipeline {
namespace {

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfPointer = std::unique_ptr<Elf, ElfEnd>;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

Error not_elf(const std::string& path) {
  return Error{.code = ErrorCode::kInvalidArgument, .message = "is no ELF file", .path = path};
}

/// The path in PT_INTERP, read with a bound: a header may say anything.
std::string read_interpreter(int fd, const GElf_Phdr& header) {
  constexpr std::uint64_t kMaxPathBytes = 4096;
  const std::size_t bytes = std::min<std::uint64_t>(header.p_filesz, kMaxPathBytes);
  std::string text(bytes, '\0');
  const ssize_t count = ::pread(fd, text.data(), bytes, static_cast<off_t>(header.p_offset));
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  text.resize(::strnlen(text.data(), text.size()));
  return text;
}

}  // namespace

Result<ElfImage> read_elf_image(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return std::unexpected(io_error("can't be opened", path, errno));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return std::unexpected(io_error("can't be examined", path, errno));
  if (!S_ISREG(info.st_mode)) return std::unexpected(not_elf(path));
  if (elf_version(EV_CURRENT) == EV_NONE) return std::unexpected(not_elf(path));
  const ElfPointer elf(elf_begin(file.get(), ELF_C_READ, nullptr));
  GElf_Ehdr header{};
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF || gelf_getehdr(elf.get(), &header) == nullptr) {
    return std::unexpected(not_elf(path));
  }
  ElfImage image{.is_64bit = gelf_getclass(elf.get()) == ELFCLASS64, .machine = header.e_machine};
  std::size_t count = 0;
  if (elf_getphdrnum(elf.get(), &count) != 0) return std::unexpected(not_elf(path));
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment{};
    if (gelf_getphdr(elf.get(), static_cast<int>(i), &segment) == nullptr) break;
    if (segment.p_type == PT_INTERP) image.interpreter = read_interpreter(file.get(), segment);
  }
  return image;
}

}  // namespace memtrack::pipeline
