/* The hooks of mappings and of the break. An unmapping is recorded as BEGIN before and END after the real call: it may
 * fail, and the range may be someone else's before it returns. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "preload/shim_process.h"
#include "preload/shim_real.h"
#include "preload/shim_ring.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* The result of a system call as libc would return it; for calls while the real functions are looked up. */
static long from_kernel(long result) {
  if (!shim_failed(result)) return result;
  errno = (int)-result;
  return -1;
}

/* An allocator in front of this one may be here while it initialises itself, within its lock: looking functions up
 * would allocate. It is the constructor's turn then. */
static inline bool tracks(uintptr_t caller) {
  if (shim_unlikely(__atomic_load_n(&shim_state, __ATOMIC_RELAXED) == kShimNew) && shim_malloc_is_bypassed())
    return false;
  return shim_tracks(caller);
}

static inline void* record_mapped(bool tracked, void* address, size_t length) {
  if (tracked && address != MAP_FAILED) shim_record(MT_MMAP, (uintptr_t)address, length);
  return address;
}

SHIM_HOOK void* mmap(void* address, size_t length, int protection, int flags, int fd, off_t offset) {
  const bool tracked = tracks(SHIM_CALLER);
  if (shim_unlikely(shim_real.mmap == NULL)) {
    return (void*)from_kernel(shim_syscall(SYS_mmap, (long)address, (long)length, protection, flags, fd, offset));
  }
  return record_mapped(tracked, shim_real.mmap(address, length, protection, flags, fd, offset), length);
}

SHIM_HOOK void* mmap64(void* address, size_t length, int protection, int flags, int fd, off64_t offset) {
  const bool tracked = tracks(SHIM_CALLER);
  if (shim_unlikely(shim_real.mmap64 == NULL)) {
    return (void*)from_kernel(shim_syscall(SYS_mmap, (long)address, (long)length, protection, flags, fd, offset));
  }
  return record_mapped(tracked, shim_real.mmap64(address, length, protection, flags, fd, offset), length);
}

SHIM_HOOK int munmap(void* address, size_t length) {
  const bool tracked = tracks(SHIM_CALLER);
  if (shim_unlikely(shim_real.munmap == NULL)) {
    return (int)from_kernel(shim_syscall(SYS_munmap, (long)address, (long)length, 0, 0, 0, 0));
  }
  const bool begun = tracked && shim_record_begin(MT_MUNMAP_BEGIN, (uintptr_t)address, length);
  const int result = shim_real.munmap(address, length);
  if (begun) shim_record_end(MT_MUNMAP_END, 0, result == 0 ? 0 : 1);
  return result;
}

SHIM_HOOK void* mremap(void* address, size_t old_length, size_t new_length, int flags, ...) {
  const bool tracked = tracks(SHIM_CALLER);
  void* wanted = NULL;
  if ((flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    wanted = va_arg(arguments, void*);
    va_end(arguments);
  }
  if (shim_unlikely(shim_real.mremap == NULL)) {
    return (void*)from_kernel(
        shim_syscall(SYS_mremap, (long)address, (long)old_length, (long)new_length, flags, (long)wanted, 0));
  }
  /* These two leave the old range mapped. */
  if (old_length == 0 || (flags & MREMAP_DONTUNMAP) != 0) {
    return record_mapped(tracked, shim_real.mremap(address, old_length, new_length, flags, wanted), new_length);
  }
  const bool begun = tracked && shim_record_begin(MT_MREMAP_BEGIN, (uintptr_t)address, old_length);
  void* moved = shim_real.mremap(address, old_length, new_length, flags, wanted);
  if (begun) shim_record_end(MT_MREMAP_END, moved == MAP_FAILED ? 0 : (uintptr_t)moved, new_length);
  return moved;
}

/* Records that the break is at `now` and was at `before`; nothing if it did not move. */
static void record_break(uintptr_t before, uintptr_t now) {
  if (now != before) shim_record(MT_BRK, now, now > before ? now - before : before - now);
}

SHIM_HOOK int brk(void* address) {
  const bool tracked = tracks(SHIM_CALLER);
  if (shim_unlikely(shim_real.brk == NULL || shim_real.sbrk == NULL)) {
    errno = ENOMEM;
    return -1;
  }
  if (!tracked) return shim_real.brk(address);
  const int kept = errno;
  void* before = shim_real.sbrk(0);
  errno = kept;
  const int result = shim_real.brk(address);
  if (result == 0 && before != (void*)-1) record_break((uintptr_t)before, (uintptr_t)address);
  return result;
}

SHIM_HOOK void* sbrk(intptr_t increment) {
  const bool tracked = tracks(SHIM_CALLER);
  if (shim_unlikely(shim_real.sbrk == NULL)) {
    errno = ENOMEM;
    return (void*)-1;
  }
  void* before = shim_real.sbrk(increment);
  if (tracked && before != (void*)-1) record_break((uintptr_t)before, (uintptr_t)before + (uintptr_t)increment);
  return before;
}
