// MappedFile: a whole file as read-only memory (Boost.Interprocess lives here and nowhere else in this folder).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "codec/error.h"

namespace memtrack::pipeline {

/// Maps a regular file read-only. bytes() is valid as long as this object. A 0-byte file gives an empty span, not an
/// error. Errors: kIo (with path and errno), kInvalidArgument for what is not a regular file.
class MappedFile {
 public:
  [[nodiscard]] static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&&) noexcept;
  MappedFile& operator=(MappedFile&&) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const;
  [[nodiscard]] const std::string& path() const;

 private:
  struct State;
  explicit MappedFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace memtrack::pipeline
