// Waiting on a word of shared memory; not private to a process.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace memtrack::preload {

inline void futex_wake(std::uint32_t* word, int count = INT_MAX) {
  ::syscall(SYS_futex, word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

/// Returns when it was woken, when the word is not `expected`, by a signal, or after `timeout`.
inline void futex_wait(std::uint32_t* word, std::uint32_t expected, std::chrono::nanoseconds timeout) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (timeout - seconds).count()};
  ::syscall(SYS_futex, word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}

}  // namespace memtrack::preload
