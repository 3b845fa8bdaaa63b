#include "preload/shim_thread.h"

#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "preload/shim_environment.h"

__thread struct shim_thread shim_thread __attribute__((tls_model("initial-exec"), aligned(64)));

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
  shim_thread_release(thread);
  shim_environment_thread_ends();
}

void shim_thread_make_key(void) {
  if (pthread_key_create(&exit_key, thread_ends) != 0) return;
  has_exit_key = exit_key < kKeysWithoutAllocation;
  /* Without a key the tracker still finds dead threads by itself, only later. */
  if (!has_exit_key) pthread_key_delete(exit_key);
}

static struct mt_ring* try_claim(void) {
  struct mt_segment* segment = shim_session.segment;
  const uint32_t first = __atomic_load_n(&segment->ring_hint, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < shim_session.ring_count; ++i) {
    const uint32_t index = (uint32_t)(((uint64_t)first + i) % shim_session.ring_count);
    struct mt_ring* ring = &shim_session.rings[index];
    uint32_t expected = MT_STATE_FREE;
    if (__atomic_load_n(&ring->state, __ATOMIC_RELAXED) != MT_STATE_FREE) continue;
    if (__atomic_compare_exchange_n(&ring->state, &expected, (uint32_t)MT_STATE_CLAIMED, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
      __atomic_store_n(&segment->ring_hint, index + 1U, __ATOMIC_RELAXED);
      shim_session_raise(&segment->ring_end, index + 1U);
      return ring;
    }
  }
  return NULL;
}

/* Searches until there is a ring; with on_full = drop a search is repeated only after the tracker freed something. */
static struct mt_ring* claim_ring(struct shim_thread* thread) {
  for (;;) {
    const uint32_t seen = __atomic_load_n(&shim_session.segment->free_waiters, __ATOMIC_ACQUIRE);
    if (shim_session.on_full == MT_ON_FULL_DROP && thread->no_ring_seen == seen + 1U) {
      shim_session_lost(MT_LOSS_NO_RING, 1);
      return NULL;
    }
    struct mt_ring* ring = try_claim();
    if (ring != NULL) return ring;
    thread->no_ring_seen = seen + 1U;
    if (!shim_session_wait_for_free(seen)) return NULL;
  }
}

bool shim_thread_claim(struct shim_thread* thread) {
  if (shim_session.image == MT_SHIM_NONE) return false;
  thread->claiming = 1;
  struct mt_ring* ring = claim_ring(thread);
  if (ring == NULL) {
    thread->claiming = 0;
    return false;
  }
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
  thread->no_ring_seen = 0;
  thread->exit_rounds = 0;
  thread->ring = ring;
  if (has_exit_key) pthread_setspecific(exit_key, thread);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  thread->claiming = 0;
  thread->ready = 1;
  return true;
}

void shim_thread_release(struct shim_thread* thread) {
  struct mt_ring* ring = thread->ring;
  if (ring == NULL) return;
  thread->ready = 0;
  thread->ring = NULL;
  __atomic_signal_fence(__ATOMIC_SEQ_CST); /* a handler from here on claims a ring of its own */
  __atomic_store_n(&ring->state, (uint32_t)MT_STATE_RELEASED, __ATOMIC_RELEASE);
}

void shim_thread_forget(struct shim_thread* thread) {
  const uint8_t starting = thread->starting;
  *thread = (struct shim_thread){.starting = starting};
}
