/* The producer of a ring. One thread, no lock, no system call but for waiting and waking.
 *
 * A section is what lies between busy = 1 and busy = 0: read the stamp, write the slot, publish the head. Nothing in it
 * waits. What a section checks (room, the tracker's switches) it checks inside, so that a signal handler that records
 * just before can't make the check stale, and so that a disable is exact: after the tracker has stored 0 and seen
 * `busy` clear there is no further record. */
#ifndef MEMTRACK_PRELOAD_SHIM_RING_H
#define MEMTRACK_PRELOAD_SHIM_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/shim_proc.h"
#include "preload/shim_session.h"
#include "preload/shim_stamp.h"
#include "preload/shim_thread.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(hidden)

/* The low half of the stack pointer: enough to tell which of two frames of one stack is the older. */
static inline uint32_t shim_stack_position(void) {
  uintptr_t position;
#if defined(__x86_64__)
  __asm__ volatile("mov %%rsp, %0" : "=r"(position));
#elif defined(__aarch64__)
  __asm__ volatile("mov %0, sp" : "=r"(position));
#endif
  return (uint32_t)position;
}

static inline void shim_section_enter(struct shim_thread* thread) {
  thread->stack = shim_stack_position(); /* for shim_jump.c */
  __atomic_store_n(&thread->ready, 0, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&thread->ring->busy, 1U, __ATOMIC_RELAXED); /* the tracker: membarrier, then load busy */
  if (shim_unlikely(__atomic_load_n(&shim_session.segment->fences, __ATOMIC_RELAXED) != 0)) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  }
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Ends the section. `ready` says whether the next record may follow at once. */
static inline void shim_section_leave(struct shim_thread* thread, uint8_t ready) {
  __atomic_store_n(&thread->ring->busy, 0U, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&thread->ready, ready, __ATOMIC_RELAXED);
}

static inline bool shim_section_has_room(const struct shim_thread* thread, uint64_t slots) {
  return (int64_t)(thread->stop_at - thread->head) >= (int64_t)slots;
}

/* The present time, never below the ring's last one. */
static inline uint64_t shim_section_stamp(struct shim_thread* thread) {
  /* The thread that sets `ordered` does so before its first record. Who sees anything that this thread did later sees
   * that, too (x86 keeps the order of loads and of stores). With fences in place of membarrier, the stamp must not run
   * ahead of the fence. */
  const bool ordered = (__atomic_load_n(&shim_session.ordered, __ATOMIC_RELAXED) |
                        __atomic_load_n(&shim_session.segment->fences, __ATOMIC_RELAXED)) != 0;
  uint64_t ticks = shim_stamp(shim_session.clock, ordered);
  if (shim_unlikely(ticks < thread->last_ticks)) ticks = thread->last_ticks;
  thread->last_ticks = ticks;
  return ticks;
}

/* Within a section that has room for it: stamps, writes and publishes one record. */
static inline void shim_section_write(struct shim_thread* thread, enum mt_record_kind kind, uint64_t addr,
                                      uint64_t value) {
  const uint64_t head = thread->head;
  struct mt_record* slot = &thread->slots[head & thread->slot_mask];
  slot->ticks = shim_section_stamp(thread);
  slot->addr = addr;
  slot->value = value;
  slot->kind = (uint16_t)kind;
  slot->flags = 0;
  slot->more = 0;
  thread->head = head + 1U;
  __atomic_store_n(&thread->ring->head, head + 1U, __ATOMIC_RELEASE); /* the tracker: load head, then the slots */
}

/* The general way: claims a ring, makes room, counts losses; where it interrupted another hook of its thread within a
 * record, it takes the thread's second ring. True if the record was published; with `open` the ring then takes no other
 * record before shim_record_end. */
bool shim_record_slow(enum mt_record_kind kind, uint64_t addr, uint64_t value, bool open);

static inline __attribute__((always_inline)) bool shim_record_any(enum mt_record_kind kind, uint64_t addr,
                                                                  uint64_t value, bool open) {
  struct shim_thread* thread = &shim_thread;
  if (shim_likely(thread->ready)) {
    shim_section_enter(thread);
    if (shim_likely(shim_section_has_room(thread, open ? 2U : 1U)) &&
        shim_likely(shim_session_switched_on(shim_session.segment))) {
      shim_section_write(thread, kind, addr, value);
      if (open) thread->open = 1;
      shim_section_leave(thread, open ? 0 : 1);
      return true;
    }
    shim_section_leave(thread, 1);
  }
  return shim_record_slow(kind, addr, value, open);
}

/* Records an event of one slot, or counts it as lost, or nothing while recording is switched off. */
static inline __attribute__((always_inline)) void shim_record(enum mt_record_kind kind, uint64_t addr, uint64_t value) {
  shim_record_any(kind, addr, value, false);
}

/* Records a *_BEGIN with room kept for its END. If it returns true, shim_record_end must follow the real call. */
static inline __attribute__((always_inline)) bool shim_record_begin(enum mt_record_kind kind, uint64_t addr,
                                                                    uint64_t value) {
  return shim_record_any(kind, addr, value, true);
}

static inline void shim_record_end(enum mt_record_kind kind, uint64_t addr, uint64_t value) {
  struct shim_thread* thread = shim_unlikely(shim_thread.nested_open) ? &shim_nested : &shim_thread;
  if (shim_unlikely(!thread->open)) return; /* forked by a signal handler in between: the parent writes it */
  shim_section_enter(thread);
  shim_section_write(thread, kind, addr, value);
  shim_thread.nested_open = 0;
  thread->open = 0;
  shim_section_leave(thread, 1);
  if (shim_unlikely(thread->borrowed)) shim_thread_release(thread);
}

/* A jump leaves the hook that is in the middle of a record of `thread`: what is not published is lost and counted, a
 * BEGIN without its END gets one that says that nothing happened, and the ring is ready again. */
void shim_record_abandon(struct shim_thread* thread);

/* Records an MT_MAPPING, whatever the switches say. */
void shim_record_mapping(const struct shim_mapping* mapping);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
