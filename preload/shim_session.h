/* The shared segment as this process sees it: attaching, the process's image, waiting for the tracker.
 *
 * One session a process. It is written while the process attaches (one thread) and again in a fork child (one thread),
 * and only read by hooks. The segment stays mapped for good: other threads may be in the middle of a record. */
#ifndef MEMTRACK_PRELOAD_SHIM_SESSION_H
#define MEMTRACK_PRELOAD_SHIM_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/shared_segment.h"
#include "preload/shim_sys.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(hidden)

enum {
#if defined(__aarch64__)
  kShimPageBytes = 65536, /* the largest page of any kernel configuration */
#else
  kShimPageBytes = 4096,
#endif
  kShimSilentLooks = 1200, /* a minute of them: see shim_session_tracker_gone */
  kShimWaitMs = 50,        /* between two looks whether the tracker is still there */
};
#define MT_SHIM_NONE UINT32_MAX

struct shim_session {
  struct mt_segment* segment;
  struct mt_image* images;
  struct mt_ring* rings;
  struct mt_record* slots; /* of ring 0 */
  uint32_t image_count;
  uint32_t ring_count;
  uint32_t ring_slots;
  uint32_t clock;
  uint32_t on_full;
  uint32_t image; /* index of this process's image, MT_SHIM_NONE before it has one */
  int32_t tracker_pid;
  uint64_t tracker_start_time;
  const char* path;      /* of the segment; NULL: not from a file */
  uint32_t foreign_pids; /* 1 in another PID namespace than the tracker's: its number says nothing here */
  uint32_t silent_looks; /* [a] one after the other in which the tracker did not go to sleep again */
  uint32_t claims;       /* [a] rings that this image has claimed so far */
  uint32_t ordered;      /* [a] 1 once there was a second one: stamps must be ordered against other threads' */
};
extern struct shim_session shim_session;

/* One page that the kernel clears in a fork child, so that every hook learns of a fork by the load that it does anyway.
 * A vfork child shares it with its parent and sees it whole. */
union shim_page {
  struct {
    struct mt_segment* segment; /* NULL: not attached, given up, or just forked */
  } live;
  char bytes[kShimPageBytes];
};
extern union shim_page shim_page;

enum shim_state {
  kShimNew = 0,      /* no hook was called yet */
  kShimStarting = 1, /* one thread resolves the real functions and attaches */
  kShimAttached = 2, /* records, unless shim_page says that this is a fork child which has no image yet */
  kShimInert = 3,    /* passes everything through, for good */
};
extern uint32_t shim_state; /* [a] enum shim_state */

/* Maps the segment at `path`, which is kept, and fills shim_session. False, and nothing changed, if there is none or it
 * is not ours. */
bool shim_session_attach(const char* path);
/* Checks a mapped segment of `bytes` bytes and fills shim_session from it. */
bool shim_session_bind(void* base, uint64_t bytes);
/* Asks for membarrier's IPIs; where the kernel refuses, every section of the session sets a full fence. */
void shim_session_register_barrier(void);
/* Claims an image and publishes it. False if there is none to be had; that is counted. */
bool shim_session_claim_image(enum mt_image_origin origin, int32_t pid, int32_t parent_pid);

/* Where a claim found nothing: waits for a free ring or image, `seen` is free_waiters as read before the search.
 * False if waiting makes no sense (on_full = drop, closed, tracker gone). */
bool shim_session_wait_for_free(uint32_t seen);
/* True if the tracker is dead (a stopped one is not); then this process has given up. Told by its number and start
 * time; where those don't answer, by the lock that it keeps on the segment's file; where neither can be seen (a PID
 * namespace in a chroot), by a minute of silence. */
bool shim_session_tracker_gone(void);
/* Stops recording in this process for good. */
void shim_session_give_up(void);
/* Wakes the tracker if it sleeps. */
void shim_session_wake_tracker(void);

/* Raises a mark that the tracker looks up to. */
void shim_session_raise(uint32_t* mark, uint32_t to);
/* Counts events that no ring can count. */
void shim_session_lost(enum mt_loss cause, uint64_t events);

/* The tracker's two switches in one load: enabled == 1 and closed == 0. */
static inline bool shim_session_switched_on(const struct mt_segment* segment) {
  const uint64_t kOn = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 1U : (uint64_t)1U << 32;
  return __atomic_load_n((const uint64_t*)(const void*)&segment->enabled, __ATOMIC_RELAXED) == kOn;
}

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
