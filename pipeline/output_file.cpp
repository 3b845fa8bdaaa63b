#include "pipeline/output_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace memtrack::pipeline {
namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr int kCreateFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;

Error cannot_open_folder(const std::string& path, int system_errno) {
  switch (system_errno) {
    case ENOENT:
      return io_error("the output folder does not exist; create it or set write.directory", path, system_errno);
    case ENOTDIR:
      return io_error("the output folder is not a folder; set write.directory to one", path, system_errno);
    default:
      return io_error("the output folder can't be opened; set write.directory to one that can", path, system_errno);
  }
}

Error cannot_create(const std::string& path, int system_errno) {
  switch (system_errno) {
    case EACCES:
    case EPERM:
    case EROFS:
      return io_error("can't be created; set write.directory to a folder that you may write to", path, system_errno);
    case ENOSPC:
    case EDQUOT:
      return io_error("can't be created; free some space or set write.directory to another disk", path, system_errno);
    default:
      return io_error("can't be created", path, system_errno);
  }
}

Error cannot_write(const std::string& path, int system_errno) {
  switch (system_errno) {
    case ENOSPC:
    case EDQUOT:
      return io_error("can't be written further; free some space or set write.directory to another disk", path,
                      system_errno);
    case EFBIG:
      return io_error("can't grow further; raise the limit of file sizes (ulimit -f)", path, system_errno);
    default:
      return io_error("can't be written", path, system_errno);
  }
}

/// Writes everything, over signals and short writes; gives errno, or 0.
int write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    } else if (written == 0) {
      return EIO;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

template <class Call>
int over_signals(Call&& call) {
  int result = call();
  while (result != 0 && errno == EINTR) result = call();
  return result;
}

/// Of the folder, so that a name in it is on disk. Not every file system can; then the name is as safe as it gets.
int sync_folder(int folder) {
  const int result = over_signals([folder] { return ::fsync(folder); });
  return result != 0 && (errno == EINVAL || errno == EOPNOTSUPP) ? 0 : result;
}

std::string joined(const std::string& directory, const std::string& name) {
  return directory.ends_with('/') ? directory + name : directory + "/" + name;
}

/// Whether the name in the folder leads to the file at `path`.
bool leads_to(int folder, const std::string& name, const std::string& path) {
  struct stat named = {};
  struct stat other = {};
  return ::fstatat(folder, name.c_str(), &named, 0) == 0 && ::stat(path.c_str(), &other) == 0 &&
         named.st_dev == other.st_dev && named.st_ino == other.st_ino;
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Result<OutputFile> OutputFile::create(const std::string& directory, const std::string& name, const std::string& input) {
  const std::string folder_path = directory.empty() ? "." : directory;
  FileDescriptor folder(::open(folder_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return std::unexpected(cannot_open_folder(folder_path, errno));
  const std::string part = name + ".part";
  if (!input.empty() && (leads_to(folder.get(), name, input) || leads_to(folder.get(), part, input))) {
    Error error = invalid_argument("is the input and would be replaced by the output; choose another output folder");
    error.path = input;
    return std::unexpected(std::move(error));
  }
  FileDescriptor file(::openat(folder.get(), part.c_str(), kCreateFlags, kOwnerOnly));
  if (!file && errno == EEXIST) {
    // What an earlier capture left, or a link that somebody planted: the name is removed, what it points to is not.
    if (::unlinkat(folder.get(), part.c_str(), 0) != 0) {
      return std::unexpected(
          io_error("is in the way and can't be removed; move it aside", joined(folder_path, part), errno));
    }
    file = FileDescriptor(::openat(folder.get(), part.c_str(), kCreateFlags, kOwnerOnly));
  }
  if (!file) return std::unexpected(cannot_create(joined(folder_path, part), errno));
  // The umask may have taken away even the owner's bits.
  if (::fchmod(file.get(), kOwnerOnly) != 0) {
    return std::unexpected(cannot_create(joined(folder_path, part), errno));
  }
  return OutputFile(std::move(folder), std::move(file), folder_path, name);
}

std::string OutputFile::path_of(const std::string& name) const {
  return joined(directory_path_, name);
}

Result<void> OutputFile::write(std::span<const std::byte> bytes) {
  if (const int failure = write_all(file_.get(), bytes); failure != 0) {
    // Best effort: without it the file ends in a cut frame, which readers take too.
    const auto whole = static_cast<off_t>(size_);
    if (::ftruncate(file_.get(), whole) == 0) (void)::lseek(file_.get(), whole, SEEK_SET);
    return std::unexpected(cannot_write(path_of(part_name()), failure));
  }
  size_ += bytes.size();
  return {};
}

Result<void> OutputFile::sync() {
  if (over_signals([this] { return ::fdatasync(file_.get()); }) != 0) {
    return std::unexpected(cannot_write(path_of(part_name()), errno));
  }
  if (!name_synced_ && sync_folder(directory_.get()) != 0) {
    return std::unexpected(cannot_write(directory_path_, errno));
  }
  name_synced_ = true;
  return {};
}

/// Another capture into the same folder under the same root pid may have replaced the name meanwhile.
Result<void> OutputFile::check_still_ours() const {
  struct stat mine = {};
  struct stat named = {};
  if (::fstat(file_.get(), &mine) != 0 ||
      ::fstatat(directory_.get(), part_name().c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) {
    return std::unexpected(io_error("has vanished while it was written", path_of(part_name()), errno));
  }
  if (mine.st_dev != named.st_dev || mine.st_ino != named.st_ino) {
    return std::unexpected(
        io_error("was replaced by somebody else while it was written; give each capture a folder of its own",
                 path_of(part_name()), 0));
  }
  return {};
}

Result<std::string> OutputFile::commit(bool durable) {
  if (auto ours = check_still_ours(); !ours) return std::unexpected(std::move(ours.error()));
  if (durable && over_signals([this] { return ::fsync(file_.get()); }) != 0)
    return std::unexpected(cannot_write(path_of(part_name()), errno));
  if (::renameat(directory_.get(), part_name().c_str(), directory_.get(), name_.c_str()) != 0) {
    return std::unexpected(io_error("can't be given its final name", path_of(part_name()), errno));
  }
  if (durable && sync_folder(directory_.get()) != 0) return std::unexpected(cannot_write(directory_path_, errno));
  return path_of(name_);
}

void OutputFile::discard() {
  if (check_still_ours()) (void)::unlinkat(directory_.get(), part_name().c_str(), 0);
}

Result<void> SpillFile::create() {
  file_ = FileDescriptor(::open(directory_.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, kOwnerOnly));
  if (file_) return {};
  // Not every file system makes files without a name.
  std::string path = joined(directory_, ".memtrack-XXXXXX");
  file_ = FileDescriptor(::mkostemp(path.data(), O_CLOEXEC));
  if (!file_) return std::unexpected(cannot_create(path, errno));
  if (::unlink(path.c_str()) != 0) return std::unexpected(cannot_create(path, errno));
  return {};
}

Result<void> SpillFile::append(std::span<const std::byte> bytes) {
  if (!file_) {
    if (auto created = create(); !created) return created;
  }
  if (const int failure = write_all(file_.get(), bytes); failure != 0) {
    return std::unexpected(cannot_write(joined(directory_, "(temporary file)"), failure));
  }
  size_ += bytes.size();
  return {};
}

Result<void> SpillFile::read(std::uint64_t offset, std::size_t count, ByteBuffer& out) const {
  if (offset >= size_) return {};
  count = static_cast<std::size_t>(std::min<std::uint64_t>(count, size_ - offset));
  while (count > 0) {
    const ssize_t got = ::pread(file_.get(), out.prepare(count), count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return std::unexpected(
          io_error("can't be read back", joined(directory_, "(temporary file)"), got < 0 ? errno : EIO));
    }
    out.commit(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
    count -= static_cast<std::size_t>(got);
  }
  return {};
}

}  // namespace memtrack::pipeline
