/* The stamp of a record.
 *
 * It is read after every earlier instruction of the thread has completed: an allocation is stamped after the real call
 * returned, and a free after the load that handed the address over from another thread (a plain rdtsc may run ahead of
 * that load, and the free would look older than the allocation). Later stores can't be seen by anybody before the
 * stamp was read, since stores leave the core in order and after the instructions before them. */
#ifndef MEMTRACK_PRELOAD_SHIM_STAMP_H
#define MEMTRACK_PRELOAD_SHIM_STAMP_H

#include <stdint.h>
#include <time.h>

#include "preload/shared_segment.h"
#include "preload/shim_sys.h"

static inline uint64_t shim_stamp(uint32_t clock) {
  if (shim_likely(clock == MT_CLOCK_TSC)) {
#if defined(__x86_64__)
    uint32_t low;
    uint32_t high;
    __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("dsb ishld\n\tisb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
    return ticks;
#endif
  }
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

#endif
