// ProcessHandle: a pidfd, so that a process can't be mistaken for a later one with its number.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace memtrack::pipeline {

/// Owns a pidfd. Move-only.
///
/// Where the tracker has no descriptor left for one, the handle goes by the process's start time instead, which is as
/// exact, only slower.
class ProcessHandle {
 public:
  /// Nothing where the process is gone already.
  [[nodiscard]] static std::optional<ProcessHandle> open(std::int32_t pid);
  ProcessHandle(ProcessHandle&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), pid_(other.pid_), start_time_(other.start_time_) {}
  ProcessHandle& operator=(ProcessHandle&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(pid_, other.pid_);
    std::swap(start_time_, other.start_time_);
    return *this;
  }
  ~ProcessHandle();

  /// Readable (poll, epoll) once the process has ended, all its threads included; -1 where no descriptor was left.
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool ended() const;

 private:
  ProcessHandle(int fd, std::int32_t pid, std::uint64_t start_time) : fd_(fd), pid_(pid), start_time_(start_time) {}
  int fd_;
  std::int32_t pid_;
  std::uint64_t start_time_;  // used where fd_ is -1
};

}  // namespace memtrack::pipeline
