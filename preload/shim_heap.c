/* The hooks of the heap. Every one: is the call to be recorded, the real call, the record. Frees are recorded before
 * the real call, allocations after it. The record never touches errno. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "preload/shim_arena.h"
#include "preload/shim_process.h"
#include "preload/shim_real.h"
#include "preload/shim_ring.h"

static void* out_of_memory(void) {
  errno = ENOMEM;
  return NULL;
}

/* While the shim itself looks for the real functions. */
static void* allocate_early(size_t bytes, size_t alignment) {
  void* block = shim_arena_allocate(bytes, alignment);
  return block != NULL ? block : out_of_memory();
}

SHIM_HOOK void* malloc(size_t size) {
  const bool tracked = shim_tracks(SHIM_CALLER);
  if (shim_unlikely(shim_real.malloc == NULL)) return allocate_early(size, kShimArenaAlignment);
  void* block = shim_real.malloc(size);
  if (shim_likely(tracked) && shim_likely(block != NULL)) shim_record(MT_MALLOC, (uintptr_t)block, size);
  return block;
}

extern void* shim_own_malloc(size_t size) __attribute__((alias("malloc"), visibility("hidden")));

/* Entry points that another allocator in front of this library does not have still come here. Their blocks are that
 * one's: they go to its functions, unseen like all of its calls. The pointers are volatile because a compiler may take
 * a plain name for the function of this file, where the loader may have bound it to another's. */
bool shim_malloc_is_bypassed(void) {
  void* (*volatile const winner)(size_t) = malloc;
  return winner != shim_own_malloc;
}

SHIM_HOOK void* calloc(size_t count, size_t size) {
  const bool tracked = shim_tracks(SHIM_CALLER);
  size_t bytes;
  const bool overflow = __builtin_mul_overflow(count, size, &bytes);
  if (shim_unlikely(shim_real.calloc == NULL)) {
    return overflow ? out_of_memory() : allocate_early(bytes, kShimArenaAlignment);
  }
  void* block = shim_real.calloc(count, size);
  if (tracked && block != NULL) shim_record(MT_CALLOC, (uintptr_t)block, bytes);
  return block;
}

/* What every kind of free does before the real one. False: there is nothing left to do. */
static inline bool before_free(uintptr_t caller, void* block) {
  if (block == NULL || shim_unlikely(shim_arena_owns(block))) return false;
  if (shim_likely(shim_tracks(caller))) shim_record(MT_FREE, (uintptr_t)block, 0);
  return shim_likely(shim_real.free != NULL); /* only while it is being looked up: the block leaks */
}

SHIM_HOOK void free(void* block) {
  if (before_free(SHIM_CALLER, block)) shim_real.free(block);
}

static void free_by_winner(void* block) {
  void (*volatile const winner)(void*) = free;
  winner(block);
}

SHIM_HOOK void cfree(void* block) {
  if (shim_malloc_is_bypassed()) return free_by_winner(block);
  if (!before_free(SHIM_CALLER, block)) return;
  if (shim_real.cfree != NULL) {
    shim_real.cfree(block);
  } else {
    shim_real.free(block);
  }
}

SHIM_HOOK void free_sized(void* block, size_t size) {
  if (shim_malloc_is_bypassed()) return free_by_winner(block);
  if (!before_free(SHIM_CALLER, block)) return;
  if (shim_real.free_sized != NULL) {
    shim_real.free_sized(block, size);
  } else {
    shim_real.free(block);
  }
}

SHIM_HOOK void free_aligned_sized(void* block, size_t alignment, size_t size) {
  if (shim_malloc_is_bypassed()) return free_by_winner(block);
  if (!before_free(SHIM_CALLER, block)) return;
  if (shim_real.free_aligned_sized != NULL) {
    shim_real.free_aligned_sized(block, alignment, size);
  } else {
    shim_real.free(block);
  }
}

/* realloc of a block that was handed out before the real allocator was known. */
static void* move_out_of_arena(bool tracked, void* block, size_t size) {
  if (shim_real.malloc == NULL) {
    void* moved = allocate_early(size, kShimArenaAlignment);
    if (moved != NULL) memcpy(moved, block, shim_arena_size(block) < size ? shim_arena_size(block) : size);
    return moved;
  }
  if (size == 0) return NULL; /* freed */
  void* moved = shim_real.malloc(size);
  if (moved == NULL) return NULL;
  memcpy(moved, block, shim_arena_size(block) < size ? shim_arena_size(block) : size);
  if (tracked) shim_record(MT_REALLOC_FRESH, (uintptr_t)moved, size);
  return moved;
}

static void* reallocate(uintptr_t caller, void* block, size_t size) {
  const bool tracked = shim_tracks(caller);
  if (shim_unlikely(block != NULL && shim_arena_owns(block))) return move_out_of_arena(tracked, block, size);
  if (shim_unlikely(shim_real.realloc == NULL)) {
    return block == NULL ? allocate_early(size, kShimArenaAlignment) : out_of_memory();
  }
  if (block == NULL) {
    void* fresh = shim_real.realloc(NULL, size);
    if (tracked && fresh != NULL) shim_record(MT_REALLOC_FRESH, (uintptr_t)fresh, size);
    return fresh;
  }
  const bool begun = tracked && shim_record_begin(MT_REALLOC_BEGIN, (uintptr_t)block, size);
  void* moved = shim_real.realloc(block, size);
  if (begun) shim_record_end(MT_REALLOC_END, (uintptr_t)moved, 0);
  return moved;
}

SHIM_HOOK void* realloc(void* block, size_t size) {
  return reallocate(SHIM_CALLER, block, size);
}

static void* reallocate_by_winner(void* block, size_t size) {
  void* (*volatile const winner)(void*, size_t) = realloc;
  return winner(block, size);
}

SHIM_HOOK void* reallocarray(void* block, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return out_of_memory();
  if (shim_malloc_is_bypassed()) return reallocate_by_winner(block, bytes);
  return reallocate(SHIM_CALLER, block, bytes); /* the C library's one would call our realloc */
}

static inline void* record_aligned(bool tracked, void* block, size_t size) {
  if (shim_likely(tracked) && shim_likely(block != NULL)) shim_record(MT_ALIGNED_ALLOC, (uintptr_t)block, size);
  return block;
}

SHIM_HOOK void* aligned_alloc(size_t alignment, size_t size) {
  const bool tracked = shim_tracks(SHIM_CALLER);
  if (shim_unlikely(shim_real.aligned_alloc == NULL)) return allocate_early(size, alignment);
  return record_aligned(tracked, shim_real.aligned_alloc(alignment, size), size);
}

SHIM_HOOK void* memalign(size_t alignment, size_t size) {
  const bool tracked = shim_tracks(SHIM_CALLER);
  if (shim_unlikely(shim_real.memalign == NULL)) return allocate_early(size, alignment);
  return record_aligned(tracked, shim_real.memalign(alignment, size), size);
}

SHIM_HOOK int posix_memalign(void** block, size_t alignment, size_t size) {
  const bool tracked = shim_tracks(SHIM_CALLER);
  if (shim_unlikely(shim_real.posix_memalign == NULL)) {
    void* early = shim_arena_allocate(size, alignment);
    if (early == NULL) return ENOMEM;
    *block = early;
    return 0;
  }
  const int result = shim_real.posix_memalign(block, alignment, size);
  if (result == 0) record_aligned(tracked, *block, size);
  return result;
}

SHIM_HOOK void* valloc(size_t size) {
  const bool tracked = shim_tracks(SHIM_CALLER);
  if (shim_unlikely(shim_real.valloc == NULL)) return out_of_memory();
  return record_aligned(tracked, shim_real.valloc(size), size);
}

SHIM_HOOK void* pvalloc(size_t size) {
  const bool tracked = shim_tracks(SHIM_CALLER);
  if (shim_unlikely(shim_real.pvalloc == NULL)) return out_of_memory();
  return record_aligned(tracked, shim_real.pvalloc(size), size);
}
