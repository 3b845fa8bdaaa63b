// Pins the layout of raw_event.h: shim, eBPF programs and user space are compiled apart and must agree on it.
#include <cstddef>

#include "codec/raw_event.h"

static_assert(MT_SLOT_BYTES == 32);

static_assert(sizeof(mt_record) == MT_SLOT_BYTES && alignof(mt_record) == 8);
static_assert(offsetof(mt_record, ticks) == 0);
static_assert(offsetof(mt_record, addr) == 8);
static_assert(offsetof(mt_record, value) == 16);
static_assert(offsetof(mt_record, kind) == 24);
static_assert(offsetof(mt_record, flags) == 26);
static_assert(offsetof(mt_record, more) == 28);

static_assert(sizeof(mt_mapping_more) == MT_SLOT_BYTES && alignof(mt_mapping_more) == 8);
static_assert(offsetof(mt_mapping_more, dev) == 0);
static_assert(offsetof(mt_mapping_more, ino) == 8);
static_assert(offsetof(mt_mapping_more, file_offset) == 16);
static_assert(offsetof(mt_mapping_more, reserved) == 24);

static_assert(sizeof(mt_record_origin) == 8 && alignof(mt_record_origin) == 4);
static_assert(offsetof(mt_record_origin, pid) == 0);
static_assert(offsetof(mt_record_origin, tid) == 4);

static_assert(MT_MALLOC == 1 && MT_CALLOC == 2 && MT_ALIGNED_ALLOC == 3 && MT_REALLOC_FRESH == 4 && MT_FREE == 5);
static_assert(MT_REALLOC_BEGIN == 6 && MT_REALLOC_END == 7 && MT_MMAP == 8 && MT_MUNMAP_BEGIN == 9);
static_assert(MT_MUNMAP_END == 10 && MT_MREMAP_BEGIN == 11 && MT_MREMAP_END == 12 && MT_BRK == 13);
static_assert(MT_MAPPING == 14 && MT_RECORD_KIND_COUNT == 15);
