/* Memory for the time before the real allocator is known: dlsym may allocate while the shim looks malloc up.
 *
 * Static, handed out once and never reused, so always zero. Any thread, any time; lock-free. */
#ifndef MEMTRACK_PRELOAD_SHIM_ARENA_H
#define MEMTRACK_PRELOAD_SHIM_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(hidden)

enum { kShimArenaBytes = 256 * 1024, kShimArenaAlignment = 16 };
extern char shim_arena[kShimArenaBytes];

/* NULL if it is used up. `alignment` is a power of two. */
void* shim_arena_allocate(size_t bytes, size_t alignment);
/* How many bytes the block was asked with. */
size_t shim_arena_size(const void* block);

static inline bool shim_arena_owns(const void* block) {
  return (uintptr_t)block - (uintptr_t)shim_arena < kShimArenaBytes;
}

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
