/* The shared memory between the shim (in every tracked process) and the tracker.
 *
 * Plain C: the shim is C and needs libc only; the tracker includes the same file. Offsets are pinned by static
 * assertions in segment_layout.cpp. All integers are native; the segment never leaves the machine.
 *
 *   offset 0            struct mt_segment                  one, MT_SEGMENT_HEADER_BYTES
 *   images_offset       struct mt_image[image_count]       one program image of one process
 *   rings_offset        struct mt_ring[ring_count]         one live thread each
 *   data_offset         ring_count * ring_slots slots      of MT_SLOT_BYTES
 *
 * Trust: the tracker wrote the layout fields and keeps its own copy; it never reads them back. Everything a target
 * writes is copied, checked, then used: a hostile target can spoil its own events, never the tracker.
 *
 * Atomics: fields marked [a] are accessed by C11/C++ atomics (__atomic builtins) on both sides. Fields that are
 * written before a state is published with release and read after it was seen with acquire need none.
 *
 * WHO WRITES WHAT
 *   image: free --CAS by shim--> claimed --shim--> ready --tracker (process gone or image replaced, drained)--> free
 *   ring:  free --CAS by shim--> claimed --shim--> live --shim (thread ends)--> released --tracker (drained)--> free
 *          live --tracker (thread or process gone, drained)--> free
 *   notice: free --CAS by shim--> claimed --shim--> live --shim (withdrawn), by CAS--> free, or
 *           live --CAS by tracker--> claimed --tracker (copied)--> free
 *          claimed --tracker (writer gone)--> free
 *   head: only the owning thread. tail: only the tracker.
 *
 * ORDER (see docs/preload.md for the argument)
 *   A thread sets `busy` before it reads the stamp of a record and clears it after it has published the head, so it
 *   is set for some 20 ns and never while the real allocator runs. The tracker reads the time L0, executes
 *   membarrier(GLOBAL_EXPEDITED), then reads busy and head of every ring of a process (busy first): a ring that is not
 *   busy can only get stamps above L0; a busy one only stamps at or above its last published one. Records below
 *   the lowest such bound of the process are complete and can be merged by ticks. Where membarrier can't be
 *   registered, the shim sets `busy` with a full fence (segment->fences).
 *   A ring's stamps never decrease. Equal stamps: frees, begins and unmaps go before allocations.
 *   *_BEGIN records are published before the real call, the *_END record of the same call is the next record of
 *   the same ring; what lies behind a BEGIN in other rings waits until its END is there.
 */
#ifndef MEMTRACK_PRELOAD_SHARED_SEGMENT_H
#define MEMTRACK_PRELOAD_SHARED_SEGMENT_H

#include <stdint.h>

#include "codec/raw_event.h"

#define MT_SEGMENT_MAGIC 0x31474553544D454Dull /* "MEMTSEG1" read as little-endian bytes M E M T S E G 1 */
#define MT_SEGMENT_VERSION 2u
#define MT_SEGMENT_HEADER_BYTES 20480u
#define MT_CACHE_LINE 64u

/* The environment variable that tells the shim where the segment is: a path, e.g. /dev/shm/memtrack-3f9c... A program
 * that is to be left out gets it empty. */
#define MT_SEGMENT_ENV "MEMTRACK_SEGMENT"
/* Prefix of the segment's name under /dev/shm: <prefix><tracker pid>-<16 hex digits>, so that the next start finds
 * those whose tracker is gone. */
#define MT_SEGMENT_PREFIX "memtrack-"

enum mt_clock { MT_CLOCK_TSC = 0, MT_CLOCK_MONOTONIC = 1 };
enum mt_on_full { MT_ON_FULL_BLOCK = 0, MT_ON_FULL_DROP = 1 };
enum mt_slot_state { MT_STATE_FREE = 0, MT_STATE_CLAIMED = 1, MT_STATE_LIVE = 2, MT_STATE_RELEASED = 3 };
enum mt_image_origin { MT_ORIGIN_EXEC = 1, MT_ORIGIN_FORK = 2 };

enum mt_notice_kind {
  MT_NOTICE_EXEC = 1,        /* `pid` is about to run `path` */
  MT_NOTICE_EXEC_FAILED = 2, /* it did not: takes back the MT_NOTICE_EXEC of `pid` with the same `ticks` */
  MT_NOTICE_SPAWN = 3,       /* `pid` was started with `path` by `writer`; written after it began to run */
  MT_NOTICE_SHELL = 4,       /* `writer` is about to start `path` through the C library; `pid` is 0, not known */
  MT_NOTICE_ALLOCATOR = 5    /* `pid`, which has an image, allocates by functions in `path` that don't come by the shim;
                                `flags` of enum mt_bypass. Nothing is about to run, and nothing answers it */
};
/* Why the program will not attach, where the shim knows that already. */
enum mt_notice_flags {
  MT_NOTICE_OTHER_SESSION = 1, /* its environment names another segment, or none on purpose */
  MT_NOTICE_UNCHANGED = 2,     /* its environment could not be completed: no memory, or too long with our variables */
  MT_NOTICE_UNREACHABLE = 4    /* the library can't be read from where it runs (chroot, mount namespace, rights) */
};
enum mt_bypass {
  MT_BYPASS_MALLOC = 1, /* malloc and all the rest: linked into the program, or in a library in front of the shim */
  MT_BYPASS_NEW = 2     /* operator new and delete */
};
#define MT_NOTICE_STATE(state) ((state) & 0xffu)
#define MT_NOTICE_COUNT 64u
#define MT_NOTICE_PATH_BYTES 208u

/* Loss counters of the segment and of each ring, in the order of memtrack::LossCause (codec/loss.h). */
enum mt_loss {
  MT_LOSS_RING_FULL = 0,
  MT_LOSS_NO_RING = 1,
  MT_LOSS_SIGNAL_NESTING = 2,
  MT_LOSS_TRACKER_GONE = 3,
  MT_LOSS_BAD_RECORD = 4,
  MT_LOSS_EARLY_CALL = 5,
  MT_LOSS_COUNT = 6
};

/* Tells of a program that is about to run, so that the tracker can name those that never attach (static, setuid, of
 * another architecture or C library). Notices are free again as soon as the tracker has copied them.
 *
 * An image with the same pid and ticks not below the notice's answers it, and may have come, and be gone, before the
 * notice: MT_NOTICE_SPAWN is written when the child runs already. A notice without an answer whose process still runs
 * `path`, or has ended, is of an untracked program. `pid` and `writer` are numbers of the writer's PID namespace. */
struct mt_notice {
  uint32_t state; /* [a] MT_NOTICE_STATE() of it: free, claimed, live. The other bits of a live one differ from use to
                     use: the tracker copies, then exchanges the value that it saw for free; if that fails, the notice
                     was withdrawn */
  uint32_t kind;  /* enum mt_notice_kind */
  int32_t writer; /* the process that wrote this; set first */
  int32_t pid;    /* the process that runs the program */
  uint64_t ticks; /* stamp of before the call */
  uint32_t uid;   /* of the writer: effective */
  uint32_t flags; /* enum mt_notice_flags, or by kind */
  uint32_t path_bytes; /* of the whole path, also where only MT_NOTICE_PATH_BYTES of it are here */
  uint32_t reserved[3];
  char path[MT_NOTICE_PATH_BYTES]; /* absolute where that could be found out; not terminated */
};

struct mt_segment {
  /* Written by the tracker before the target starts; constant. */
  uint64_t magic;
  uint32_t version;
  uint32_t clock; /* enum mt_clock */
  uint64_t segment_bytes;
  uint64_t images_offset;
  uint64_t rings_offset;
  uint64_t data_offset;
  uint32_t image_count;
  uint32_t ring_count;
  uint32_t ring_slots; /* power of two, 128 (one page) at least */
  uint32_t on_full;    /* enum mt_on_full */
  int32_t tracker_pid;
  uint32_t reserved0;
  uint64_t tracker_start_time; /* field 22 of /proc/PID/stat of the tracker */

  /* Switches of the tracker; own cache line, read by every hook. */
  uint32_t enabled __attribute__((aligned(64))); /* [a] 0: hooks record no allocation, mmap or brk events */
  uint32_t closed;                               /* [a] 1: the capture is over, hooks pass through for good */

  /* The tracker sleeps here: it stores 1 and futex-waits; a shim that finds 1 after publishing a wake-up mark
   * (each ring_slots / 8 records, and before it waits for room) exchanges it for 0 and futex-wakes. */
  uint32_t tracker_sleeping __attribute__((aligned(64))); /* [a] */

  /* Written by shims, rarely. */
  uint32_t ring_hint __attribute__((aligned(64))); /* [a] where the next search for a free ring begins; the tracker
                                                      sets it back to what it freed, so that few rings are used */
  uint32_t image_hint;                             /* [a] likewise */
  uint32_t free_waiters;                           /* [a] futex: threads that wait for a free ring or image; the
                                                      tracker increments it and wakes after it freed one */
  uint32_t fences;                                 /* [a] set to 1 by a shim that could not register for membarrier */
  uint64_t lost[MT_LOSS_COUNT];                    /* [a] losses that no ring can count */
  uint32_t notice_hint;                            /* [a] where the next search for a free notice begins */
  uint32_t notices_lost;                           /* [a] the table was full */
  uint32_t ring_end;                               /* [a] no ring from here on was ever claimed; raised by a shim that
                                                      claims one, before its first record. The tracker looks no further */
  uint32_t image_end;                              /* [a] likewise */
  struct mt_notice notices[MT_NOTICE_COUNT] __attribute__((aligned(64)));
};

struct mt_image {
  uint32_t state;  /* [a] free, claimed, live */
  uint32_t origin; /* enum mt_image_origin */
  int32_t pid;
  int32_t parent_pid;
  uint64_t ticks; /* stamp of the birth: after fork in the child, or in the shim's constructor */
  uint32_t uid;
  uint32_t reserved;
  uint64_t reserved1[4];
};

struct mt_ring {
  /* Set by the shim between claimed and live. */
  uint32_t state; /* [a] */
  uint32_t image; /* index of the thread's image */
  int32_t tid;
  uint32_t reserved0;

  /* Producer's line. */
  uint64_t head __attribute__((aligned(64))); /* [a] slots published since the ring was claimed; release */
  uint32_t busy;                              /* [a] see ORDER */
  uint32_t reserved1;
  uint64_t lost[MT_LOSS_COUNT]; /* [a] written by the owner only */

  /* Consumer's line. */
  uint64_t tail __attribute__((aligned(64))); /* [a] slots taken; head - tail <= ring_slots */
  uint32_t room_wanted; /* [a] futex: the producer stores 1, looks at tail once more, waits; the tracker exchanges it
                           for 0 after it moved the tail, and wakes where it was 1 */
  uint32_t reserved2;
};

#endif
