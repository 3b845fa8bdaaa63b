// MappedFile: a whole file as read-only memory (Boost.Interprocess lives here and nowhere else in this folder).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "codec/error.h"

namespace memtrack::pipeline {

/// Maps a regular file read-only. bytes() is valid as long as this object. A 0-byte file gives an empty span, not an
/// error. Errors: kIo (with path and errno), kInvalidArgument for what is not a regular file.
///
/// A file that becomes shorter meanwhile kills nobody: what it has lost reads as zeros (MappingGuard), and
/// check_whole() says so from then on. So: read, then check, then believe.
/// Threads: any, for everything that is const.
class MappedFile {
 public:
  [[nodiscard]] static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&&) noexcept;
  MappedFile& operator=(MappedFile&&) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const;
  [[nodiscard]] const std::string& path() const;
  /// kFileShrank where the file has fewer bytes than were mapped, or had when some of them were read. One system call.
  [[nodiscard]] Result<void> check_whole() const;
  /// Gives the pages of these bytes back; they are read from the file again where somebody still wants them. Keeps the
  /// resident memory of a reader small that goes through a large file.
  void release(std::uint64_t offset, std::uint64_t size) const;

 private:
  struct State;
  explicit MappedFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace memtrack::pipeline
