/* The records that capture sources write: the preload shim into its rings, the eBPF programs into theirs.
 *
 * Plain C, no dependency but <stdint.h>, so that the shim, the eBPF programs and user space all include this very
 * file. Every record is made of 32-byte slots. The first slot is a struct mt_record; kinds with more data are
 * followed by continuation slots, so no record ever needs to be contiguous over the end of a ring.
 * Sizes and offsets are pinned by static assertions in raw_event_layout.cpp.
 *
 * Who and when: `ticks` is a raw stamp of the writing CPU (TSC, or nanoseconds of CLOCK_MONOTONIC where the TSC is
 * not invariant); the process and thread are known from the ring that holds the record (preload) or from a
 * struct mt_record_origin in front of it (eBPF).
 */
#ifndef MEMTRACK_CODEC_RAW_EVENT_H
#define MEMTRACK_CODEC_RAW_EVENT_H

#include <stdint.h>

#define MT_SLOT_BYTES 32u

enum mt_record_kind {
  MT_PAD = 0,           /* never written: a zeroed slot is not a record */
  MT_MALLOC = 1,        /* addr, value = size */
  MT_CALLOC = 2,        /* addr, value = size (product) */
  MT_ALIGNED_ALLOC = 3, /* addr, value = size */
  MT_REALLOC_FRESH = 4, /* realloc(NULL, n): addr, value = size */
  MT_FREE = 5,          /* addr; stamped before the real free */
  MT_REALLOC_BEGIN = 6, /* addr = old address, value = requested size; stamped before the call */
  MT_REALLOC_END = 7,   /* addr = result (0: failed, or freed when the size was 0); stamped after the call */
  MT_MMAP = 8,          /* addr, value = length */
  MT_MUNMAP_BEGIN = 9,  /* addr, value = length; stamped before the call */
  MT_MUNMAP_END = 10,   /* value = 0 success, 1 failure */
  MT_MREMAP_BEGIN = 11, /* addr = old address, value = old length; stamped before the call */
  MT_MREMAP_END = 12,   /* addr = new address (0: failed), value = new length; stamped after the call */
  MT_BRK = 13,          /* addr = new break, value = bytes by which it moved (either way) */
  MT_MAPPING = 14,      /* addr = start, value = length, more = path length; then one MT slot mt_mapping_more,
                           then ceil(more / 32) slots of path bytes */
  MT_RECORD_KIND_COUNT = 15
};

/* First slot of every record. */
struct mt_record {
  uint64_t ticks;
  uint64_t addr;
  uint64_t value;
  uint16_t kind;  /* enum mt_record_kind */
  uint16_t flags; /* must be 0; ignored by readers */
  uint32_t more;  /* by kind; else 0 */
};

/* Second slot of MT_MAPPING. */
struct mt_mapping_more {
  uint64_t dev; /* kernel coding: major << 20 | minor */
  uint64_t ino;
  uint64_t file_offset; /* bytes */
  uint64_t reserved;    /* must be 0 */
};

/* In front of a record where the transport does not tell who wrote it. */
struct mt_record_origin {
  int32_t pid;
  int32_t tid;
};

#endif
