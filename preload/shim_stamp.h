/* The stamp of a record.
 *
 * Ordered, it is read after every earlier instruction of the thread has completed: an allocation is stamped after the
 * real call returned, and a free after the load that handed the address over from another thread (a plain rdtsc may run
 * ahead of that load, and the free would look older than the allocation). Later stores can't be seen by anybody before
 * the stamp was read, ordered or not, since stores leave the core in order and after the instructions before them.
 *
 * While one ring holds all records of a process there is nothing to be ordered against, and the fence, a third of the
 * cost of a record, is left out (shim_session.ordered). */
#ifndef MEMTRACK_PRELOAD_SHIM_STAMP_H
#define MEMTRACK_PRELOAD_SHIM_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "preload/shared_segment.h"
#include "preload/shim_sys.h"

static inline uint64_t shim_stamp(uint32_t clock, bool ordered) {
  if (shim_likely(clock == MT_CLOCK_TSC)) {
#if defined(__x86_64__)
    uint32_t low;
    uint32_t high;
    if (ordered) __asm__ volatile("lfence" : : : "memory");
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t ticks;
    (void)ordered; /* loads may pass loads there: the switch itself could be seen too late */
    __asm__ volatile("dsb ishld\n\tisb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
    return ticks;
#endif
  }
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

#endif
