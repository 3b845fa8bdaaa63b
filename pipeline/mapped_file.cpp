#include "pipeline/mapped_file.h"

#include <cerrno>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/file_mapping.hpp>
#include <boost/interprocess/mapped_region.hpp>

#include "pipeline/mapping_guard.h"

namespace memtrack::pipeline {
namespace {

namespace ipc = boost::interprocess;

Result<void> check_regular(const struct stat& status, const std::string& path) {
  if (S_ISREG(status.st_mode)) return {};
  return std::unexpected(Error{.code = ErrorCode::kInvalidArgument,
                               .message = S_ISDIR(status.st_mode) ? "is a folder; name a file in it"
                                                                  : "is not a regular file, so it can't be mapped",
                               .path = path});
}

Error cannot_read(const std::string& path, int system_errno) {
  const char* advice = system_errno == ENOENT   ? "can't be read: there is no such file"
                       : system_errno == EACCES ? "can't be read; check its permissions and its folder's"
                                                : "can't be read";
  return io_error(advice, path, system_errno);
}

}  // namespace

struct MappedFile::State {
  std::string path;
  ipc::file_mapping file = {};  // kept open: its size is asked for
  ipc::mapped_region region = {};
  std::optional<MappingGuard> guard = {};  // goes before the region
};

MappedFile::MappedFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
MappedFile::MappedFile(MappedFile&&) noexcept = default;
MappedFile& MappedFile::operator=(MappedFile&&) noexcept = default;
MappedFile::~MappedFile() = default;

Result<MappedFile> MappedFile::open(const std::string& path) {
  struct stat status = {};
  // Before the file is opened: opening a FIFO would wait for its other end.
  if (::stat(path.c_str(), &status) != 0) return std::unexpected(cannot_read(path, errno));
  if (auto regular = check_regular(status, path); !regular) return std::unexpected(regular.error());
  auto state = std::make_unique<State>(path);
  try {
    state->file = ipc::file_mapping(path.c_str(), ipc::read_only);
    if (::fstat(state->file.get_mapping_handle().handle, &status) != 0)
      return std::unexpected(cannot_read(path, errno));
    if (auto regular = check_regular(status, path); !regular) return std::unexpected(regular.error());
    if (status.st_size > 0) {
      state->region = ipc::mapped_region(state->file, ipc::read_only, 0, static_cast<std::size_t>(status.st_size));
      state->guard.emplace(
          std::span(static_cast<const std::byte*>(state->region.get_address()), state->region.get_size()));
    }
  } catch (const ipc::interprocess_exception& exception) {
    return std::unexpected(cannot_read(path, exception.get_native_error()));
  }
  return MappedFile(std::move(state));
}

std::span<const std::byte> MappedFile::bytes() const {
  return {static_cast<const std::byte*>(state_->region.get_address()), state_->region.get_size()};
}

const std::string& MappedFile::path() const {
  return state_->path;
}

Result<void> MappedFile::check_whole() const {
  struct stat status = {};
  // The size tells of a lost part of the last page, too, which reads as zeros without a fault.
  const bool known = ::fstat(state_->file.get_mapping_handle().handle, &status) == 0;
  const bool shorter = !known || std::cmp_less(status.st_size, state_->region.get_size());
  if (!shorter && (!state_->guard || !state_->guard->hit())) return {};
  return std::unexpected(Error{
      .code = ErrorCode::kFileShrank, .message = "the file became shorter while it was read", .path = state_->path});
}

void MappedFile::release(std::uint64_t offset, std::uint64_t size) const {
  static const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = offset / page_bytes * page_bytes;
  if (size == 0) return;
  // Only advice: a failure changes nothing. A zero page of the guard is replaced by a zero page.
  (void)::madvise(const_cast<std::byte*>(bytes().data()) + begin, offset + size - begin, MADV_DONTNEED);
}

}  // namespace memtrack::pipeline
