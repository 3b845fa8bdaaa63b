#include "preload/exit_watcher.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace memtrack::preload {
namespace {

bool add(int epoll, int fd, std::uint32_t events, std::uint64_t id) {
  epoll_event event{.events = events, .data = {.u64 = id}};
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

/// Signals are for the program's other threads.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;
  ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

ExitWatcher::ExitWatcher(std::function<void()> wake)
    : wake_(std::move(wake)), epoll_(::epoll_create1(EPOLL_CLOEXEC)), stop_(::eventfd(0, EFD_CLOEXEC)) {
  works_ = epoll_ >= 0 && stop_ >= 0 && add(epoll_, stop_, EPOLLIN, 0);
}

/// Not before it is needed: with its first thread the C library takes over a signal of its own, which a target that is
/// forked later would notice.
void ExitWatcher::start() {
  const AllSignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    works_ = false;  // no thread to be had
  }
}

ExitWatcher::~ExitWatcher() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stop_, &one, sizeof one);
    thread_.join();
  }
  if (stop_ >= 0) ::close(stop_);
  if (epoll_ >= 0) ::close(epoll_);
}

ExitWatcher::Ticket ExitWatcher::watch(int pidfd) {
  if (!works_ || pidfd < 0) return {};
  if (!thread_.joinable()) start();
  if (!works_) return {};
  Ticket ticket;
  {
    const std::lock_guard lock(mutex_);
    ticket.id = ++last_id_;
    ticket.ended = flags_.emplace(ticket.id, std::make_shared<std::atomic<bool>>(false)).first->second;
  }
  if (add(epoll_, pidfd, EPOLLIN | EPOLLONESHOT, ticket.id)) return ticket;
  forget(ticket.id);
  return {};
}

/// The kernel takes a closed descriptor out of the epoll set by itself.
void ExitWatcher::forget(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  flags_.erase(id);
}

void ExitWatcher::run() {
  std::array<epoll_event, 64> events{};
  for (;;) {
    const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
    if (count < 0 && errno != EINTR) return;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = events[static_cast<std::size_t>(i)].data.u64;
      if (id == 0) return;
      note_end(id);
    }
    if (count > 0) wake_();
  }
}

void ExitWatcher::note_end(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto at = flags_.find(id);
  if (at == flags_.end()) return;
  at->second->store(true, std::memory_order_seq_cst);  // the tracker: says that it sleeps, then looks at this
  flags_.erase(at);
}

}  // namespace memtrack::preload
