// This process attached to a segment of its own, for tests of the ring's producer.
#pragma once

#include <cstdint>
#include <thread>
#include <unistd.h>

#include <doctest/doctest.h>

#include "preload/shim_ring.h"
#include "tests/preload/segment_harness.h"

namespace memtrack::test {

inline constexpr std::uint32_t kSlots = 128;

/// A segment to which this process is attached. Each test runs in a thread of its own, so that its ring is its own.
class Attached {
 public:
  explicit Attached(mt_on_full on_full, bool enabled = true, std::uint32_t rings = 2)
      : harness({.image_count = 2,
                 .ring_count = rings,
                 .ring_slots = kSlots,
                 .on_full = on_full,
                 .clock = MT_CLOCK_TSC,
                 .enabled = enabled}) {
    shim_state = kShimAttached;
    REQUIRE(shim_session_bind(&harness.segment(), harness.bytes()));
    REQUIRE(shim_session_claim_image(MT_ORIGIN_EXEC, getpid(), getppid()));
  }

  template <typename Body>
  void in_thread(Body body) {
    std::thread([&] {
      body();
      shim_thread_release(&shim_thread);
    }).join();
  }

  SegmentHarness harness;
};

/// The ring that the calling thread writes, as the consumer sees it.
inline mt_ring& own_ring() {
  return *shim_thread.ring;
}
inline std::uint64_t published() {
  return __atomic_load_n(&own_ring().head, __ATOMIC_ACQUIRE);
}
inline void consume(std::uint64_t slots) {
  __atomic_fetch_add(&own_ring().tail, slots, __ATOMIC_SEQ_CST);
}
inline const mt_record& slot_at(std::uint64_t position) {
  return shim_thread.slots[position % kSlots];
}

}  // namespace memtrack::test
