#include "preload/shim_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/shim_environment.h"
#include "preload/shim_notice.h"
#include "preload/shim_proc.h"
#include "preload/shim_ring.h"
#include "preload/shim_stamp.h"
#include "preload/shim_thread.h"

extern char** environ;

static int32_t process_pid;       /* as of the last image */
static uint32_t early_calls;      /* [a] of other threads, while one thread attached */
static uint32_t fork_in_progress; /* [a] a fork child takes its image */

static int32_t current_pid(void) {
  return (int32_t)shim_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* Copies the segment's path to `path`. False if the environment has none, or one that is too long. */
static bool find_segment_path(char* path, size_t capacity) {
  static const char kName[] = MT_SEGMENT_ENV "=";
  /* Calls from the dynamic loader come before libc knows its environment. */
  if (environ == NULL) return shim_proc_environment(MT_SEGMENT_ENV, path, capacity);
  for (char** entry = environ; *entry != NULL; ++entry) {
    if (strncmp(*entry, kName, sizeof kName - 1U) != 0) continue;
    const char* value = *entry + sizeof kName - 1U;
    const size_t bytes = strlen(value) + 1U;
    if (bytes > capacity) return false;
    memcpy(path, value, bytes);
    return true;
  }
  return false;
}

/* True if the kernel clears shim_page in fork children (Linux 4.14). Without it a child would write into its
 * parent's rings: then better no recording at all. */
static bool guard_against_fork(void) {
  return !shim_failed(
      shim_syscall(SYS_madvise, (long)(uintptr_t)&shim_page, sizeof shim_page, MADV_WIPEONFORK, 0, 0, 0));
}

static bool attach(void) {
  static char path[PATH_MAX];
  if (!find_segment_path(path, sizeof path) || !guard_against_fork() || !shim_session_attach(path)) return false;
  if (__atomic_load_n(&shim_session.segment->closed, __ATOMIC_RELAXED) != 0) return false;
  shim_environment_remember(path, shim_own_path);
  shim_thread_make_key();
  shim_session_register_barrier();
  process_pid = current_pid();
  return shim_session_claim_image(MT_ORIGIN_EXEC, process_pid, (int32_t)shim_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0));
}

/* Tells of an allocator of the program's own that the hooks don't see. */
static void tell_bypass(void) {
  const struct shim_bypass found = shim_real_find_bypass();
  if (found.flags == 0) return;
  static char own_path[PATH_MAX]; /* zeroed */
  if (*found.path == '\0') {
    shim_syscall(SYS_readlinkat, AT_FDCWD, (long)(uintptr_t)"/proc/self/exe", (long)(uintptr_t)own_path,
                 sizeof own_path - 1U, 0, 0);
  }
  const struct shim_program object = {.path = *found.path != '\0' ? found.path : own_path, .directory_fd = AT_FDCWD};
  shim_notice_publish(MT_NOTICE_ALLOCATOR, process_pid, shim_stamp(shim_session.clock, true), found.flags, &object);
}

/* With signals blocked: a handler would have to be passed through unseen, and might leave by a jump. */
static bool start(void) {
  const uint64_t signals = shim_block_signals();
  shim_thread.starting = 1;
  shim_real_resolve();
  const bool attached = attach();
  if (attached) {
    shim_proc_each_mapping(shim_record_mapping);
    tell_bypass();
    const uint32_t early = __atomic_load_n(&early_calls, __ATOMIC_RELAXED);
    if (early != 0) shim_session_lost(MT_LOSS_EARLY_CALL, early);
    __atomic_store_n(&shim_page.live.segment, shim_session.segment, __ATOMIC_RELEASE);
  }
  shim_thread.starting = 0;
  __atomic_store_n(&shim_state, (uint32_t)(attached ? kShimAttached : kShimInert), __ATOMIC_RELEASE);
  shim_restore_signals(signals);
  return attached;
}

/* The image of a fork child. Runs once a child: its first thread is alone at the first hook after the fork. */
static bool take_image_of_child(void) {
  struct shim_thread* thread = &shim_thread;
  if (__atomic_exchange_n(&fork_in_progress, 1U, __ATOMIC_ACQUIRE) != 0) return false;
  const uint64_t signals = shim_block_signals();
  thread->starting = 1;
  shim_thread_forget();
  const int32_t parent_pid = process_pid;
  process_pid = current_pid();
  if (shim_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0) == 0) shim_session.foreign_pids = 1; /* its parent can't be seen */
  shim_session.image = MT_SHIM_NONE;
  shim_session.claims = 0;
  shim_session.ordered = 0;
  const bool closed = __atomic_load_n(&shim_session.segment->closed, __ATOMIC_RELAXED) != 0;
  if (!closed) shim_session_register_barrier();
  const bool claimed = !closed && shim_session_claim_image(MT_ORIGIN_FORK, process_pid, parent_pid);
  if (claimed) {
    __atomic_store_n(&shim_page.live.segment, shim_session.segment, __ATOMIC_RELEASE);
  } else {
    shim_session_give_up();
  }
  thread->starting = 0;
  __atomic_store_n(&fork_in_progress, 0U, __ATOMIC_RELEASE);
  shim_restore_signals(signals);
  return claimed;
}

__attribute__((noinline)) bool shim_process_wake(void) {
  uint32_t state = __atomic_load_n(&shim_state, __ATOMIC_ACQUIRE);
  if (state == kShimInert || shim_thread.starting) return false;
  const int kept = errno;
  bool awake = false;
  if (state == kShimNew && __atomic_compare_exchange_n(&shim_state, &state, (uint32_t)kShimStarting, false,
                                                       __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    awake = start();
  } else if (state == kShimAttached) {
    awake = take_image_of_child();
  } else if (state == kShimStarting) {
    __atomic_fetch_add(&early_calls, 1U, __ATOMIC_RELAXED);
  }
  errno = kept;
  return awake;
}

__attribute__((constructor(101))) static void process_starts(void) {
  shim_tracks(SHIM_CALLER);
}

/* So that a child that never allocates is known, too. Only fork itself: a vfork child may not even return from a
 * wrapper, and it changes nothing here. */
SHIM_HOOK pid_t fork(void) {
  shim_tracks(SHIM_CALLER);
  if (shim_real.fork == NULL) {
    errno = EAGAIN;
    return -1;
  }
  const pid_t pid = shim_real.fork();
  if (pid == 0) shim_tracks(SHIM_CALLER);
  return pid;
}
