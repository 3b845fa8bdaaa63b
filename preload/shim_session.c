#include "preload/shim_session.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/shim_proc.h"
#include "preload/shim_stamp.h"

struct shim_session shim_session = {.image = MT_SHIM_NONE};
union shim_page shim_page __attribute__((aligned(kShimPageBytes)));
uint32_t shim_state = kShimNew;

/* True if `count` objects of `size` bytes at `offset` lie within `total` bytes. */
static bool fits(uint64_t offset, uint64_t count, uint64_t size, uint64_t total) {
  return offset % MT_CACHE_LINE == 0 && offset >= MT_SEGMENT_HEADER_BYTES && offset <= total &&
         count <= (total - offset) / size;
}

bool shim_session_bind(void* base, uint64_t bytes) {
  if (bytes < MT_SEGMENT_HEADER_BYTES) return false;
  struct mt_segment* segment = (struct mt_segment*)base;
  if (segment->magic != MT_SEGMENT_MAGIC || segment->version != MT_SEGMENT_VERSION) return false;
  const uint32_t slots = segment->ring_slots;
  if (segment->segment_bytes > bytes || slots < 128U || (slots & (slots - 1U)) != 0) return false;
  const uint64_t data_slots = (uint64_t)segment->ring_count * slots;
  if (!fits(segment->images_offset, segment->image_count, sizeof(struct mt_image), bytes) ||
      !fits(segment->rings_offset, segment->ring_count, sizeof(struct mt_ring), bytes) ||
      !fits(segment->data_offset, data_slots, MT_SLOT_BYTES, bytes)) {
    return false;
  }
  shim_session = (struct shim_session){
      .segment = segment,
      .images = (struct mt_image*)(void*)((char*)base + segment->images_offset),
      .rings = (struct mt_ring*)(void*)((char*)base + segment->rings_offset),
      .slots = (struct mt_record*)(void*)((char*)base + segment->data_offset),
      .image_count = segment->image_count,
      .ring_count = segment->ring_count,
      .ring_slots = slots,
      .clock = segment->clock,
      .on_full = segment->on_full,
      .image = MT_SHIM_NONE,
      .tracker_pid = segment->tracker_pid,
      .tracker_start_time = segment->tracker_start_time,
  };
  return true;
}

enum lock { kLocked, kUnlocked, kUnseen };

static enum lock look_at_lock(void) {
  if (shim_session.path == NULL) return kUnseen;
  const long fd = shim_syscall(SYS_openat, AT_FDCWD, (long)(uintptr_t)shim_session.path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
  if (shim_failed(fd)) return kUnseen;
  const long result = shim_syscall(SYS_flock, fd, LOCK_SH | LOCK_NB, 0, 0, 0, 0);
  shim_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
  return result == 0 ? kUnlocked : kLocked;
}

bool shim_session_attach(const char* path) {
  const long fd = shim_syscall(SYS_openat, AT_FDCWD, (long)(uintptr_t)path, O_RDWR | O_CLOEXEC, 0, 0, 0);
  if (shim_failed(fd)) return false;
  const long bytes = shim_syscall(SYS_lseek, fd, 0, SEEK_END, 0, 0, 0);
  long base = -1;
  if (bytes > 0) base = shim_syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  shim_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
  if (shim_failed(base)) return false;
  if (!shim_session_bind((void*)(uintptr_t)base, (uint64_t)bytes)) {
    shim_syscall(SYS_munmap, base, bytes, 0, 0, 0, 0);
    return false;
  }
  shim_session.path = path;
  shim_session.foreign_pids =
      !shim_proc_alive(shim_session.tracker_pid, shim_session.tracker_start_time) && look_at_lock() == kLocked;
  shim_syscall(SYS_madvise, base, bytes, MADV_DONTDUMP, 0, 0, 0); /* core files of the target stay small */
  return true;
}

void shim_session_register_barrier(void) {
  const long result = shim_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0, 0, 0, 0);
  if (shim_failed(result)) __atomic_store_n(&shim_session.segment->fences, 1U, __ATOMIC_SEQ_CST);
}

void shim_session_lost(enum mt_loss cause, uint64_t events) {
  __atomic_fetch_add(&shim_session.segment->lost[cause], events, __ATOMIC_RELAXED);
}

void shim_session_give_up(void) {
  __atomic_store_n(&shim_state, (uint32_t)kShimInert, __ATOMIC_RELEASE);
  __atomic_store_n(&shim_page.live.segment, NULL, __ATOMIC_RELEASE);
}

/* A tracker that was woken goes to sleep again when it has looked at everything. */
static bool is_silent(void) {
  if (__atomic_load_n(&shim_session.segment->tracker_sleeping, __ATOMIC_RELAXED) != 0) {
    __atomic_store_n(&shim_session.silent_looks, 0U, __ATOMIC_RELAXED);
    return false;
  }
  return __atomic_add_fetch(&shim_session.silent_looks, 1U, __ATOMIC_RELAXED) >= kShimSilentLooks;
}

bool shim_session_tracker_gone(void) {
  if (!shim_session.foreign_pids && shim_proc_alive(shim_session.tracker_pid, shim_session.tracker_start_time)) {
    return false;
  }
  const enum lock lock = look_at_lock();
  if (lock == kLocked || (lock == kUnseen && shim_session.foreign_pids && !is_silent())) return false;
  shim_session_give_up();
  return true;
}

void shim_session_wake_tracker(void) {
  uint32_t* sleeping = &shim_session.segment->tracker_sleeping;
  if (__atomic_load_n(sleeping, __ATOMIC_SEQ_CST) == 0) return;
  if (__atomic_exchange_n(sleeping, 0U, __ATOMIC_SEQ_CST) == 1U) shim_futex_wake(sleeping, 1);
}

bool shim_session_wait_for_free(uint32_t seen) {
  struct mt_segment* segment = shim_session.segment;
  if (shim_session.on_full == MT_ON_FULL_DROP) {
    shim_session_lost(MT_LOSS_NO_RING, 1);
    return false;
  }
  shim_session_wake_tracker();
  shim_futex_wait(&segment->free_waiters, seen, kShimWaitMs);
  if (__atomic_load_n(&segment->closed, __ATOMIC_RELAXED) != 0) return false;
  if (__atomic_load_n(&segment->free_waiters, __ATOMIC_RELAXED) == seen && shim_session_tracker_gone()) {
    shim_session_lost(MT_LOSS_TRACKER_GONE, 1);
    return false;
  }
  return true;
}

void shim_session_raise(uint32_t* mark, uint32_t to) {
  uint32_t seen = __atomic_load_n(mark, __ATOMIC_RELAXED);
  while (seen < to && !__atomic_compare_exchange_n(mark, &seen, to, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
}

static bool try_claim_image(enum mt_image_origin origin, int32_t pid, int32_t parent_pid) {
  struct mt_segment* segment = shim_session.segment;
  const uint32_t first = __atomic_load_n(&segment->image_hint, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < shim_session.image_count; ++i) {
    const uint32_t index = (uint32_t)(((uint64_t)first + i) % shim_session.image_count);
    struct mt_image* image = &shim_session.images[index];
    uint32_t expected = MT_STATE_FREE;
    if (__atomic_load_n(&image->state, __ATOMIC_RELAXED) != MT_STATE_FREE) continue;
    if (!__atomic_compare_exchange_n(&image->state, &expected, (uint32_t)MT_STATE_CLAIMED, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED)) {
      continue;
    }
    shim_session_raise(&segment->image_end, index + 1U);
    image->pid = pid; /* first, so that the tracker can find a claimer that died here */
    image->parent_pid = parent_pid;
    image->origin = origin;
    image->uid = (uint32_t)shim_syscall(SYS_getuid, 0, 0, 0, 0, 0, 0);
    image->ticks = shim_stamp(shim_session.clock, true);
    __atomic_store_n(&image->state, (uint32_t)MT_STATE_LIVE, __ATOMIC_RELEASE);
    __atomic_store_n(&segment->image_hint, index + 1U, __ATOMIC_RELAXED);
    shim_session.image = index;
    return true;
  }
  return false;
}

bool shim_session_claim_image(enum mt_image_origin origin, int32_t pid, int32_t parent_pid) {
  for (;;) {
    const uint32_t seen = __atomic_load_n(&shim_session.segment->free_waiters, __ATOMIC_ACQUIRE);
    if (try_claim_image(origin, pid, parent_pid)) {
      shim_session_wake_tracker(); /* so that it sees this process while it lives */
      return true;
    }
    if (!shim_session_wait_for_free(seen)) return false;
  }
}
