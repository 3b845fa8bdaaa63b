/* The state of a thread, in initial-exec TLS: all zero at first, never allocated.
 *
 * A thread owns a ring from its first event to its end. `ready` is 1 while the ring may take a record: it owns one, is
 * in no section, and no call is open between its BEGIN and END. A hook that finds it 0 is the first of its thread or
 * has interrupted another one: it is a signal handler's, and records into a second ring of the thread. Where there are
 * more threads than rings, a thread borrows one for each event from a few that are kept for that.
 *
 * A handler that leaves a hook by a jump is noticed by the jump (shim_jump.c), which mends what the hook left. */
#ifndef MEMTRACK_PRELOAD_SHIM_THREAD_H
#define MEMTRACK_PRELOAD_SHIM_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/shim_session.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(hidden)

struct shim_thread {
  struct mt_ring* ring;    /* NULL: none */
  struct mt_record* slots; /* of the ring */
  uint64_t head;           /* next slot to write; == ring->head outside of a section */
  uint64_t stop_at;        /* head may go up to here without a look at the tail or at the tracker */
  uint64_t wake_at;        /* head from which on the tracker is woken, if it sleeps */
  uint64_t last_ticks;     /* a ring's stamps never decrease */
  uint32_t slot_mask;
  uint32_t stack; /* low half of the stack pointer in the last section */
  uint8_t ready;
  uint8_t open;        /* between BEGIN and END, or within a record that is published in pieces */
  uint8_t nested_open; /* of shim_thread: shim_nested is open */
  uint8_t borrowed;    /* the ring goes back after this event */
  uint8_t starting;    /* resolves the real functions or attaches: its calls are the shim's own */
  uint8_t exit_rounds;
};
/* The thread's ring, and the one of signal handlers that interrupt a record. */
extern __thread struct shim_thread shim_thread __attribute__((tls_model("initial-exec"), aligned(64)));
extern __thread struct shim_thread shim_nested __attribute__((tls_model("initial-exec"), aligned(64)));

/* Gives the calling thread a ring, waiting for one if the session blocks. False if there is none to be had; that is
 * counted. */
bool shim_thread_claim(struct shim_thread* thread);
/* The same in a signal handler: never waits, counts nothing. */
bool shim_thread_claim_nested(struct shim_thread* nested);
/* Hands the ring back: everything in it is published; the tracker takes what is left and frees it. */
void shim_thread_release(struct shim_thread* thread);
/* In a fork child: the rings belong to the parent's thread, forget them without touching them. */
void shim_thread_forget(void);
/* Makes the key whose destructor releases the rings of ending threads. Once a process. */
void shim_thread_make_key(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
