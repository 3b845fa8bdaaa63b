// ProcessHandle: a pidfd, so that a process can't be mistaken for a later one with its number.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace memtrack::pipeline {

/// Owns a pidfd. Move-only.
class ProcessHandle {
 public:
  /// Nothing where the process is gone already.
  [[nodiscard]] static std::optional<ProcessHandle> open(std::int32_t pid);
  ProcessHandle(ProcessHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ProcessHandle& operator=(ProcessHandle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~ProcessHandle();

  /// Readable (poll, epoll) once the process has ended, all its threads included.
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool ended() const;

 private:
  explicit ProcessHandle(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace memtrack::pipeline
