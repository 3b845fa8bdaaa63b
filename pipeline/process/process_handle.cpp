#include "pipeline/process/process_handle.h"

#include <cerrno>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pipeline/process/proc_maps.h"

namespace memtrack::pipeline {

std::optional<ProcessHandle> ProcessHandle::open(std::int32_t pid) {
  const long fd = ::syscall(SYS_pidfd_open, pid, 0u);  // close-on-exec by itself
  if (fd >= 0) return ProcessHandle(static_cast<int>(fd), pid, 0);
  if (errno == ESRCH || errno == EINVAL) return std::nullopt;
  const auto status = read_process_status(pid);
  if (!status || status->ended) return std::nullopt;
  return ProcessHandle(-1, pid, status->start_time);
}

ProcessHandle::~ProcessHandle() {
  if (fd_ >= 0) ::close(fd_);
}

bool ProcessHandle::ended() const {
  if (fd_ < 0) {
    const auto status = read_process_status(pid_);
    return !status || status->ended || status->start_time != start_time_;
  }
  pollfd request{.fd = fd_, .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = ::poll(&request, 1, 0);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace memtrack::pipeline
