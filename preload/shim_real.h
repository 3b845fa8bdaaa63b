/* The functions behind the hooks: the next ones in the order of symbol search, so that another allocator that is
 * preloaded or linked is chained to. */
#ifndef MEMTRACK_PRELOAD_SHIM_REAL_H
#define MEMTRACK_PRELOAD_SHIM_REAL_H

#include <setjmp.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

struct shim_real {
  void* (*malloc)(size_t);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  void (*free)(void*);
  void (*cfree)(void*); /* this and the next two: free where the C library has none */
  void (*free_sized)(void*, size_t);
  void (*free_aligned_sized)(void*, size_t, size_t);
  void* (*aligned_alloc)(size_t, size_t);
  int (*posix_memalign)(void**, size_t, size_t);
  void* (*memalign)(size_t, size_t);
  void* (*valloc)(size_t);
  void* (*pvalloc)(size_t);
  void* (*mmap)(void*, size_t, int, int, int, off_t);
  void* (*mmap64)(void*, size_t, int, int, int, int64_t);
  int (*munmap)(void*, size_t);
  void* (*mremap)(void*, size_t, size_t, int, ...);
  int (*brk)(void*);
  void* (*sbrk)(intptr_t);
  pid_t (*fork)(void);
  void (*longjmp)(struct __jmp_buf_tag*, int);
  void (*longjmp_chk)(struct __jmp_buf_tag*, int);
  int (*execve)(const char*, char* const*, char* const*);
  int (*execvpe)(const char*, char* const*, char* const*);
  int (*fexecve)(int, char* const*, char* const*);
  int (*execveat)(int, const char*, char* const*, char* const*, int);
  int (*posix_spawn)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
                     char* const*);
  int (*posix_spawnp)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
                      char* const*);
  int (*system)(const char*);
  FILE* (*popen)(const char*, const char*);
};
/* Members are NULL until resolved; one that nobody defines stays NULL. */
extern struct shim_real shim_real;

/* Finds them all. Calls of hooks meanwhile (dlsym allocates) are served from the arena. */
void shim_real_resolve(void);

/* Code whose calls of hooks are not the program's: the shim's (a real function that jumps on to another hook), and the
 * allocator's own where it is not the C library (that one's allocator calls no hook from inside). */
struct shim_range {
  uintptr_t begin;
  uintptr_t bytes;
};
extern struct shim_range shim_own_text;
extern const char* shim_own_path; /* as the loader found this library */
extern struct shim_range shim_allocator_text;

/* The object that has the allocator which the program calls past the hooks; NULL if it calls none. */
struct shim_bypass {
  const char* path; /* empty: the program itself */
  uint32_t flags;   /* enum mt_bypass */
};
struct shim_bypass shim_real_find_bypass(void);

static inline bool shim_is_inner_call(uintptr_t caller) {
  return caller - shim_own_text.begin < shim_own_text.bytes ||
         caller - shim_allocator_text.begin < shim_allocator_text.bytes;
}

#pragma GCC visibility pop

#endif
