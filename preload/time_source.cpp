#include "preload/time_source.h"

#include <atomic>
#include <ctime>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace memtrack::preload {
namespace {

std::uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

#if defined(__x86_64__)
bool invariant_tsc() {
  constexpr unsigned kPowerLeaf = 0x80000007u;
  constexpr unsigned kInvariantBit = 1u << 8;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(kPowerLeaf, &a, &b, &c, &d) != 0 && (d & kInvariantBit) != 0;
}

std::uint64_t read_tsc() {
  _mm_lfence();
  const std::uint64_t ticks = __rdtsc();
  _mm_lfence();
  return ticks;
}
#endif

}  // namespace

mt_clock best_clock() {
#if defined(__x86_64__)
  if (invariant_tsc()) return MT_CLOCK_TSC;
#endif
  return MT_CLOCK_MONOTONIC;
}

std::uint64_t MachineTime::ticks() {
#if defined(__x86_64__)
  if (clock_ == MT_CLOCK_TSC) return read_tsc();
#endif
  return monotonic_ns();
}

Anchor MachineTime::anchor() {
  if (clock_ == MT_CLOCK_MONOTONIC) {
    const std::uint64_t now = monotonic_ns();
    return {.ticks = now, .ns = now};
  }
  // Of several tries the one that was interrupted least.
  constexpr int kTries = 5;
  Anchor best;
  std::uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = ticks();
    const std::uint64_t now = monotonic_ns();
    const std::uint64_t after = ticks();
    if (after - before >= best_width) continue;
    best_width = after - before;
    best = {.ticks = before + best_width / 2, .ns = now};
  }
  return best;
}

void MachineTime::barrier() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // A kernel without it: then no shim could register either, and they use full fences (segment->fences).
  ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace memtrack::preload
