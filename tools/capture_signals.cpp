#include "tools/capture_signals.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

namespace memtrack::tools {
namespace {

constexpr std::int64_t kPairNanoseconds = 100'000'000;

// Written by the handlers, read by the capture's loop. Each stands alone, so relaxed order is enough.
std::atomic<std::int64_t> first_signal_ns{0};
std::atomic<int> requested_stop{0};
std::atomic<int> target_pidfd{-1};
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void forward(int signal) {
  const int pidfd = target_pidfd.load(std::memory_order_relaxed);
  if (pidfd < 0 || (signal != SIGTERM && signal != SIGHUP)) return;
  // Fails only where the target has just ended, which the capture's loop is about to see.
  (void)::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0);
}

void on_end_signal(int signal) {
  const int kept_errno = errno;
  const std::int64_t now = now_ns();
  std::int64_t first = 0;
  if (first_signal_ns.compare_exchange_strong(first, now, std::memory_order_relaxed)) {
    forward(signal);
  } else if (now - first >= kPairNanoseconds) {
    requested_stop.store(signal, std::memory_order_relaxed);
  }
  errno = kept_errno;
}

// Not SIG_IGN, which a target would inherit.
void on_write_signal(int) {}

}  // namespace

CaptureSignals::CaptureSignals() {
  first_signal_ns.store(0, std::memory_order_relaxed);
  requested_stop.store(0, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kHandled.size(); ++i) {
    ::sigaction(kHandled[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN) continue;
    struct sigaction action{};
    action.sa_handler = kHandled[i] == SIGPIPE || kHandled[i] == SIGXFSZ ? on_write_signal : on_end_signal;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(kHandled[i], &action, nullptr);
  }
}

CaptureSignals::~CaptureSignals() {
  target_pidfd.store(-1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kHandled.size(); ++i) ::sigaction(kHandled[i], &before_[i], nullptr);
}

void CaptureSignals::forward_to(int pidfd) {
  target_pidfd.store(pidfd, std::memory_order_relaxed);
}

int CaptureSignals::stop_signal() const {
  return requested_stop.load(std::memory_order_relaxed);
}

void ignore_write_signals() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace memtrack::tools
