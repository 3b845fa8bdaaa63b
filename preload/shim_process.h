/* The life of this process as the tracker sees it: first hook, constructor, fork, giving up. */
#ifndef MEMTRACK_PRELOAD_SHIM_PROCESS_H
#define MEMTRACK_PRELOAD_SHIM_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/shim_real.h"
#include "preload/shim_session.h"

/* What is exported. Everything else is hidden. */
#define SHIM_HOOK __attribute__((visibility("default")))
#define SHIM_CALLER ((uintptr_t)__builtin_return_address(0))

/* Brings the process to where it can record: resolves and attaches at the first call, takes an image of its own in a
 * fork child. False if this call passes through. Keeps errno. */
bool shim_process_wake(void);

/* True where the program's calls of malloc go to another one, which comes before this library. No look-up. */
__attribute__((visibility("hidden"))) bool shim_malloc_is_bypassed(void);

/* True if a call from `caller` is to be recorded. One load in the common case. */
static inline bool shim_tracks(uintptr_t caller) {
  if (shim_unlikely(__atomic_load_n(&shim_page.live.segment, __ATOMIC_RELAXED) == NULL) && !shim_process_wake()) {
    return false;
  }
  return shim_likely(!shim_is_inner_call(caller));
}

#endif
