#include "preload/shim_ring.h"

#include <string.h>

static void lost(struct shim_thread* thread, enum mt_loss cause) {
  /* A handler may interrupt: one instruction, not load and store. */
  __atomic_fetch_add(&thread->ring->lost[cause], 1U, __ATOMIC_RELAXED);
}

/* Looks at the tail. If there is room for `slots`, lets the thread go on to the next wake mark, or as far as room. */
static bool look_for_room(struct shim_thread* thread, uint64_t slots) {
  const uint64_t head = thread->head;
  /* The tracker: store tail, then exchange room_wanted. */
  const uint64_t limit = __atomic_load_n(&thread->ring->tail, __ATOMIC_SEQ_CST) + shim_session.ring_slots;
  if ((int64_t)(limit - head) < (int64_t)slots) return false;
  const uint64_t mark = thread->wake_at > head + slots ? thread->wake_at : head + slots;
  thread->stop_at = limit < mark ? limit : mark;
  return true;
}

/* Waits until the tracker made room. False if it never will. `busy` is clear, so nobody waits for this thread. */
static bool wait_for_room(struct shim_thread* thread, uint64_t slots) {
  struct mt_ring* ring = thread->ring;
  for (;;) {
    if (__atomic_load_n(&shim_session.segment->closed, __ATOMIC_RELAXED) != 0) return false;
    __atomic_store_n(&ring->room_wanted, 1U, __ATOMIC_SEQ_CST);
    if (look_for_room(thread, slots)) return true;
    shim_session_wake_tracker();
    const uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
    shim_futex_wait(&ring->room_wanted, 1U, kShimWaitMs);
    if (look_for_room(thread, slots)) return true;
    const bool moved = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED) != tail;
    if (!moved && shim_session_tracker_gone()) {
      lost(thread, MT_LOSS_TRACKER_GONE);
      return false;
    }
  }
}

/* Room for `slots`, by waiting if the session blocks. False: lost, and counted. A nested record never waits: the
 * tracker can't pass the record that it interrupted. */
static bool make_room(struct shim_thread* thread, uint64_t slots) {
  if ((int64_t)(thread->head - thread->wake_at) >= 0) {
    thread->wake_at = thread->head + shim_session.ring_slots / 8U;
    shim_session_wake_tracker();
  }
  if (look_for_room(thread, slots)) return true;
  if (thread == &shim_nested) {
    lost(thread, MT_LOSS_SIGNAL_NESTING);
    return false;
  }
  if (shim_session.on_full == MT_ON_FULL_BLOCK) return wait_for_room(thread, slots);
  shim_session_wake_tracker();
  lost(thread, MT_LOSS_RING_FULL);
  return false;
}

/* The ring that may take a record now; NULL: none, and counted. */
static struct shim_thread* prepare(void) {
  struct shim_thread* thread = &shim_thread;
  if (thread->ready) return thread;
  if (thread->ring == NULL) return shim_thread_claim(thread) ? thread : NULL;
  struct shim_thread* nested = &shim_nested; /* this hook interrupted another one */
  if (nested->ready || (nested->ring == NULL && shim_thread_claim_nested(nested))) return nested;
  lost(thread, MT_LOSS_SIGNAL_NESTING);
  return NULL;
}

/* Ends what shim_record_slow began: the ring is kept open, or goes on, or back. */
static void finish(struct shim_thread* thread, bool stays_open) {
  shim_section_leave(thread, stays_open ? 0 : 1);
  if (thread->borrowed && !stays_open) shim_thread_release(thread);
}

__attribute__((noinline)) bool shim_record_slow(enum mt_record_kind kind, uint64_t addr, uint64_t value, bool open) {
  const uint64_t slots = open ? 2U : 1U;
  for (;;) {
    if (!shim_session_switched_on(shim_session.segment)) return false;
    struct shim_thread* thread = prepare();
    if (thread == NULL || !make_room(thread, slots)) return false;
    shim_section_enter(thread);
    const bool room = shim_section_has_room(thread, slots);
    const bool publish = room && shim_session_switched_on(shim_session.segment);
    if (publish) {
      shim_section_write(thread, kind, addr, value);
      if (open) thread->open = 1;
      if (open && thread == &shim_nested) shim_thread.nested_open = 1;
    }
    finish(thread, publish && open);
    if (room) return publish;
  }
}

void shim_record_abandon(struct shim_thread* thread) {
  struct mt_ring* ring = thread->ring;
  if (ring == NULL || thread->ready) return;
  const uint64_t signals = shim_block_signals();
  lost(thread, MT_LOSS_SIGNAL_NESTING);
  thread->head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
  const uint16_t last = thread->head == 0 ? MT_PAD : thread->slots[(thread->head - 1U) & thread->slot_mask].kind;
  if (last == MT_REALLOC_BEGIN || last == MT_MUNMAP_BEGIN || last == MT_MREMAP_BEGIN) {
    /* Failed: the old block or range stays what it was. */
    shim_section_write(thread, (enum mt_record_kind)(last + 1), 0, last == MT_MUNMAP_BEGIN ? 1 : 0);
  }
  thread->open = 0;
  if (thread == &shim_nested) shim_thread.nested_open = 0;
  finish(thread, false);
  shim_restore_signals(signals);
}

/* Writes slot `index` of a mapping's record: the head is the caller's. */
static void write_mapping_slot(struct shim_thread* thread, const struct shim_mapping* mapping, uint64_t index) {
  void* slot = &thread->slots[thread->head & thread->slot_mask];
  ++thread->head;
  if (index == 0) {
    const struct mt_record record = {.ticks = shim_section_stamp(thread),
                                     .addr = mapping->start,
                                     .value = mapping->length,
                                     .kind = MT_MAPPING,
                                     .flags = 0,
                                     .more = mapping->path_bytes};
    memcpy(slot, &record, sizeof record);
  } else if (index == 1) {
    const struct mt_mapping_more more = {
        .dev = mapping->dev, .ino = mapping->ino, .file_offset = mapping->file_offset, .reserved = 0};
    memcpy(slot, &more, sizeof more);
  } else {
    char text[MT_SLOT_BYTES] = {0};
    const uint64_t at = (index - 2U) * MT_SLOT_BYTES;
    const uint64_t left = mapping->path_bytes - at;
    memcpy(text, mapping->path + at, left < MT_SLOT_BYTES ? left : MT_SLOT_BYTES);
    memcpy(slot, text, sizeof text);
  }
}

void shim_record_mapping(const struct shim_mapping* mapping) {
  struct shim_thread* thread = prepare();
  if (thread == NULL) return;
  const uint64_t slots = 2U + ((uint64_t)mapping->path_bytes + MT_SLOT_BYTES - 1U) / MT_SLOT_BYTES;
  const bool whole = slots <= shim_session.ring_slots;
  if (!whole && shim_session.on_full == MT_ON_FULL_DROP) {
    lost(thread, MT_LOSS_RING_FULL);
    return;
  }
  thread->open = 1; /* a handler's record must not come in between */
  thread->ready = 0;
  for (uint64_t written = 0; written < slots;) {
    if (!make_room(thread, whole ? slots : 1U)) break;
    shim_section_enter(thread);
    while (written < slots && shim_section_has_room(thread, 1U)) write_mapping_slot(thread, mapping, written++);
    __atomic_store_n(&thread->ring->head, thread->head, __ATOMIC_RELEASE);
    shim_section_leave(thread, 0);
  }
  thread->open = 0;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  thread->ready = 1;
  if (thread->borrowed) shim_thread_release(thread);
}
