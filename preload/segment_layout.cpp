// Pins the layout of the shared segment: a shim and a tracker of different builds must agree or refuse.
#include <cstddef>

#include "preload/shared_segment.h"

static_assert(sizeof(mt_segment) <= MT_SEGMENT_HEADER_BYTES);
static_assert(offsetof(mt_segment, magic) == 0);
static_assert(offsetof(mt_segment, version) == 8);
static_assert(offsetof(mt_segment, clock) == 12);
static_assert(offsetof(mt_segment, segment_bytes) == 16);
static_assert(offsetof(mt_segment, images_offset) == 24);
static_assert(offsetof(mt_segment, rings_offset) == 32);
static_assert(offsetof(mt_segment, data_offset) == 40);
static_assert(offsetof(mt_segment, image_count) == 48);
static_assert(offsetof(mt_segment, ring_count) == 52);
static_assert(offsetof(mt_segment, ring_slots) == 56);
static_assert(offsetof(mt_segment, on_full) == 60);
static_assert(offsetof(mt_segment, tracker_pid) == 64);
static_assert(offsetof(mt_segment, tracker_start_time) == 72);
static_assert(offsetof(mt_segment, enabled) == 128);
static_assert(offsetof(mt_segment, closed) == 132, "the shim reads both switches in one load");
static_assert(offsetof(mt_segment, tracker_sleeping) == 192);
static_assert(offsetof(mt_segment, ring_hint) == 256);
static_assert(offsetof(mt_segment, image_hint) == 260);
static_assert(offsetof(mt_segment, free_waiters) == 264);
static_assert(offsetof(mt_segment, fences) == 268);
static_assert(offsetof(mt_segment, lost) == 272);
static_assert(offsetof(mt_segment, notice_hint) == 320);
static_assert(offsetof(mt_segment, notices_lost) == 324);
static_assert(offsetof(mt_segment, ring_end) == 328);
static_assert(offsetof(mt_segment, image_end) == 332);
static_assert(offsetof(mt_segment, notices) == 384);

static_assert(sizeof(mt_notice) == 256);
static_assert(offsetof(mt_notice, state) == 0);
static_assert(offsetof(mt_notice, kind) == 4);
static_assert(offsetof(mt_notice, writer) == 8);
static_assert(offsetof(mt_notice, pid) == 12);
static_assert(offsetof(mt_notice, ticks) == 16);
static_assert(offsetof(mt_notice, uid) == 24);
static_assert(offsetof(mt_notice, flags) == 28);
static_assert(offsetof(mt_notice, path_bytes) == 32);
static_assert(offsetof(mt_notice, path) == 48);

static_assert(sizeof(mt_image) == 64, "one cache line");
static_assert(offsetof(mt_image, state) == 0);
static_assert(offsetof(mt_image, origin) == 4);
static_assert(offsetof(mt_image, pid) == 8);
static_assert(offsetof(mt_image, parent_pid) == 12);
static_assert(offsetof(mt_image, ticks) == 16);
static_assert(offsetof(mt_image, uid) == 24);

static_assert(sizeof(mt_ring) == 192);
static_assert(alignof(mt_ring) == MT_CACHE_LINE);
static_assert(offsetof(mt_ring, state) == 0);
static_assert(offsetof(mt_ring, image) == 4);
static_assert(offsetof(mt_ring, tid) == 8);
static_assert(offsetof(mt_ring, head) == 64, "the producer's line");
static_assert(offsetof(mt_ring, busy) == 72);
static_assert(offsetof(mt_ring, lost) == 80);
static_assert(offsetof(mt_ring, tail) == 128, "the consumer's line");
static_assert(offsetof(mt_ring, room_wanted) == 136);
