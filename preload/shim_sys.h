/* System calls as the shim makes them: no libc wrapper, so errno is never touched, no hook is entered and no thread is
 * cancelled. A failed call returns -errno, as the kernel does. */
#ifndef MEMTRACK_PRELOAD_SHIM_SYS_H
#define MEMTRACK_PRELOAD_SHIM_SYS_H

#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>

#define shim_likely(condition) __builtin_expect(!!(condition), 1)
#define shim_unlikely(condition) __builtin_expect(!!(condition), 0)

static inline long shim_syscall(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
#error "the shim knows the system calls of x86-64 and aarch64 only"
#endif
}

/* Blocks every signal for a few instructions that a handler must neither see half done nor leave by a jump. Returns
 * what was blocked before. */
static inline uint64_t shim_block_signals(void) {
  const uint64_t all = ~(uint64_t)0;
  uint64_t before = 0;
  shim_syscall(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, (long)(uintptr_t)&all, (long)(uintptr_t)&before, sizeof all, 0,
               0);
  return before;
}

static inline void shim_restore_signals(uint64_t before) {
  shim_syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, (long)(uintptr_t)&before, 0, sizeof before, 0, 0);
}

/* The kernel's -errno convention. */
static inline int shim_failed(long result) {
  return (unsigned long)result > -4096UL;
}

/* Sleeps while *word is `seen`, at most `timeout_ms`. The word is shared between processes: no private futex. */
static inline long shim_futex_wait(uint32_t* word, uint32_t seen, uint32_t timeout_ms) {
  struct {
    long seconds;
    long nanoseconds;
  } timeout = {(long)(timeout_ms / 1000U), (long)(timeout_ms % 1000U) * 1000000L};
  return shim_syscall(SYS_futex, (long)(uintptr_t)word, FUTEX_WAIT, (long)seen, (long)(uintptr_t)&timeout, 0, 0);
}

static inline void shim_futex_wake(uint32_t* word, long waiters) {
  shim_syscall(SYS_futex, (long)(uintptr_t)word, FUTEX_WAKE, waiters, 0, 0, 0);
}

#endif
