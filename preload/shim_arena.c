#include "preload/shim_arena.h"

#include <string.h>

char shim_arena[kShimArenaBytes] __attribute__((aligned(4096)));
static size_t used; /* [a] */

void* shim_arena_allocate(size_t bytes, size_t alignment) {
  if (alignment < kShimArenaAlignment) alignment = kShimArenaAlignment;
  if (bytes > kShimArenaBytes || alignment > kShimArenaBytes) return NULL;
  size_t begin = __atomic_load_n(&used, __ATOMIC_RELAXED);
  size_t block;
  do { /* the size lies in front of the block */
    block = (begin + sizeof bytes + alignment - 1U) & ~(alignment - 1U);
    if (block + bytes > kShimArenaBytes) return NULL;
  } while (!__atomic_compare_exchange_n(&used, &begin, block + bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  memcpy(shim_arena + block - sizeof bytes, &bytes, sizeof bytes);
  return shim_arena + block;
}

size_t shim_arena_size(const void* block) {
  size_t bytes;
  memcpy(&bytes, (const char*)block - sizeof bytes, sizeof bytes);
  return bytes;
}
