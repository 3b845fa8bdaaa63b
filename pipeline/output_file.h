// OutputFile: a file that appears under its name only when it is complete; SpillFile: one that never has a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "codec/byte_buffer.h"
#include "codec/error.h"

namespace memtrack::pipeline {

/// Owns a file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Writes `<directory>/<name>.part` and renames it to `<name>`.
///
/// Promises: the file is new, mode 0600, never reached through a symlink; an old `.part` of that name is replaced, an
/// old `<name>` only by commit(); neither where it is the file `input`, which somebody reads (kInvalidArgument then).
/// After a failed write the file is cut back to what was written before it.
/// Errors: kIo with path and errno, in words that say what to do. Threads: one at a time; blocks on disk.
class OutputFile {
 public:
  [[nodiscard]] static Result<OutputFile> create(const std::string& directory, const std::string& name,
                                                 const std::string& input = {});

  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes);
  /// What is written, and the name of the `.part`, are on disk when it returns.
  [[nodiscard]] Result<void> sync();
  /// Gives the file its name; with `durable` the name is on disk too when it returns. Gives the path.
  [[nodiscard]] Result<std::string> commit(bool durable);

  /// Removes the `.part`, unless the name is somebody else's by now.
  void discard();

  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  OutputFile(FileDescriptor directory, FileDescriptor file, std::string directory_path, std::string name)
      : directory_(std::move(directory)),
        file_(std::move(file)),
        directory_path_(std::move(directory_path)),
        name_(std::move(name)) {}
  [[nodiscard]] std::string part_name() const { return name_ + ".part"; }
  [[nodiscard]] std::string path_of(const std::string& name) const;
  [[nodiscard]] Result<void> check_still_ours() const;

  FileDescriptor directory_;
  FileDescriptor file_;
  std::string directory_path_;
  std::string name_;
  std::uint64_t size_ = 0;
  bool name_synced_ = false;
};

/// Temporary bytes in a directory, in a file that is unlinked from the beginning; made at the first append().
///
/// Errors: kIo; after a failed append() the file may hold part of it, and is of no more use. Threads: one at a time;
/// blocks on disk.
class SpillFile {
 public:
  explicit SpillFile(std::string directory) : directory_(std::move(directory)) {}

  [[nodiscard]] Result<void> append(std::span<const std::byte> bytes);
  /// Appends bytes [offset, offset + count) of the file, as far as it goes, to `out`.
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::size_t count, ByteBuffer& out) const;
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  [[nodiscard]] Result<void> create();

  std::string directory_;
  FileDescriptor file_;
  std::uint64_t size_ = 0;
};

}  // namespace memtrack::pipeline
