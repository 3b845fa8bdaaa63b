#include "preload/shim_thread.h"

#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "preload/shim_environment.h"

__thread struct shim_thread shim_thread __attribute__((tls_model("initial-exec"), aligned(64)));
__thread struct shim_thread shim_nested __attribute__((tls_model("initial-exec"), aligned(64)));
/* free_waiters + 1 at the last search that found no ring to keep. */
static __thread uint32_t no_ring_seen __attribute__((tls_model("initial-exec")));

/* glibc keeps the values of the first 32 keys in the thread itself; others it allocates on first use. */
enum { kKeysWithoutAllocation = 32 };
static pthread_key_t exit_key;
static bool has_exit_key;

/* Comes last among the destructors of the thread's keys, so that what they free is still in this ring. */
static void thread_ends(void* value) {
  struct shim_thread* thread = (struct shim_thread*)value;
  if (thread->ring == NULL) return;
  if (++thread->exit_rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(exit_key, thread);
    return;
  }
  shim_thread_release(&shim_nested);
  shim_thread_release(thread);
  shim_environment_thread_ends();
}

void shim_thread_make_key(void) {
  if (pthread_key_create(&exit_key, thread_ends) != 0) return;
  has_exit_key = exit_key < kKeysWithoutAllocation;
  /* Without a key the tracker still finds dead threads by itself, only later. */
  if (!has_exit_key) pthread_key_delete(exit_key);
}

enum { kMostLendable = 32 }; /* the tracker looks at all of them in each sweep */

/* Rings at the beginning of the table that nobody keeps: threads that find no other borrow one for each event. They
 * only wait for the tracker then, never for other threads, which may be waiting for them. */
static uint32_t lendable_rings(void) {
  const uint32_t count = shim_session.ring_count;
  if (count < 4U) return 0;
  return count < 8U ? 1U : count < 8U * kMostLendable ? count / 8U : kMostLendable;
}

/* Claims one of `count` rings from `begin` on, searching from the `first`th. */
static struct mt_ring* claim_among(uint32_t begin, uint32_t count, uint32_t first) {
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t index = begin + (uint32_t)(((uint64_t)first + i) % count);
    struct mt_ring* ring = &shim_session.rings[index];
    uint32_t expected = MT_STATE_FREE;
    if (__atomic_load_n(&ring->state, __ATOMIC_RELAXED) != MT_STATE_FREE) continue;
    if (__atomic_compare_exchange_n(&ring->state, &expected, (uint32_t)MT_STATE_CLAIMED, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
      shim_session_raise(&shim_session.segment->ring_end, index + 1U);
      return ring;
    }
  }
  return NULL;
}

static struct mt_ring* claim_to_keep(void) {
  struct mt_segment* segment = shim_session.segment;
  const uint32_t lendable = lendable_rings();
  const uint32_t hint = __atomic_load_n(&segment->ring_hint, __ATOMIC_RELAXED);
  struct mt_ring* ring =
      claim_among(lendable, shim_session.ring_count - lendable, hint > lendable ? hint - lendable : 0);
  if (ring != NULL) {
    __atomic_store_n(&segment->ring_hint, (uint32_t)(ring - shim_session.rings) + 1U, __ATOMIC_RELAXED);
  }
  return ring;
}

static void take(struct shim_thread* thread, struct mt_ring* ring, bool borrowed) {
  if (__atomic_fetch_add(&shim_session.claims, 1U, __ATOMIC_RELAXED) != 0) {
    __atomic_store_n(&shim_session.ordered, 1U, __ATOMIC_SEQ_CST);
  }
  ring->image = shim_session.image;
  ring->tid = (int32_t)shim_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
  __atomic_store_n(&ring->head, 0U, __ATOMIC_RELAXED);
  __atomic_store_n(&ring->busy, 0U, __ATOMIC_RELAXED);
  memset(ring->lost, 0, sizeof ring->lost);
  __atomic_store_n(&ring->state, (uint32_t)MT_STATE_LIVE, __ATOMIC_RELEASE);

  const uint64_t index = (uint64_t)(ring - shim_session.rings);
  thread->slots = shim_session.slots + index * shim_session.ring_slots;
  thread->slot_mask = shim_session.ring_slots - 1U;
  thread->head = 0;
  thread->wake_at = shim_session.ring_slots / 8U;
  thread->stop_at = thread->wake_at;
  thread->last_ticks = 0;
  thread->exit_rounds = 0;
  thread->borrowed = borrowed;
  thread->ring = ring;
  if (thread == &shim_thread && !borrowed && has_exit_key) pthread_setspecific(exit_key, thread);
  thread->ready = 1;
}

/* One search. `seen` is free_waiters as read before: what was not there then is not looked for again. */
static bool claim_once(struct shim_thread* thread, uint32_t seen) {
  const uint64_t signals = shim_block_signals();
  if (thread->ring == NULL) { /* else a handler has been here meanwhile */
    struct mt_ring* ring = no_ring_seen != seen + 1U ? claim_to_keep() : NULL;
    const bool borrowed = ring == NULL;
    if (borrowed) {
      no_ring_seen = seen + 1U;
      ring = claim_among(0, lendable_rings(), 0);
    }
    if (ring != NULL) take(thread, ring, borrowed);
  }
  shim_restore_signals(signals);
  return thread->ring != NULL;
}

bool shim_thread_claim(struct shim_thread* thread) {
  if (shim_session.image == MT_SHIM_NONE) return false;
  for (;;) {
    const uint32_t seen = __atomic_load_n(&shim_session.segment->free_waiters, __ATOMIC_ACQUIRE);
    if (claim_once(thread, seen)) return true;
    if (!shim_session_wait_for_free(seen)) return false;
  }
}

bool shim_thread_claim_nested(struct shim_thread* nested) {
  if (shim_session.image == MT_SHIM_NONE) return false;
  return claim_once(nested, __atomic_load_n(&shim_session.segment->free_waiters, __ATOMIC_ACQUIRE));
}

void shim_thread_release(struct shim_thread* thread) {
  if (thread->ring == NULL) return;
  const uint64_t signals = shim_block_signals();
  struct mt_ring* ring = thread->ring;
  thread->ready = 0;
  thread->open = 0;
  thread->ring = NULL;
  __atomic_store_n(&ring->state, (uint32_t)MT_STATE_RELEASED, __ATOMIC_RELEASE);
  shim_restore_signals(signals);
}

void shim_thread_forget(void) {
  shim_thread = (struct shim_thread){.starting = shim_thread.starting};
  shim_nested = (struct shim_thread){.ready = 0};
  no_ring_seen = 0;
}
