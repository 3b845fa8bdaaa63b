// Records within records, jumps out of them, and threads without a ring.
#include <atomic>
#include <barrier>
#include <cstdint>
#include <map>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/preload/attached.h"

using namespace memtrack::test;

TEST_CASE("what interrupts a call between begin and end is in the thread's second ring") {
  Attached attached(MT_ON_FULL_BLOCK);
  attached.in_thread([&] {
    REQUIRE(shim_record_begin(MT_REALLOC_BEGIN, 1, 1));
    CHECK(own_ring().busy == 0);
    shim_record(MT_MALLOC, 2, 2);
    REQUIRE(shim_record_begin(MT_REALLOC_BEGIN, 3, 3));
    shim_record_end(MT_REALLOC_END, 4, 0);
    CHECK(published() == 1);
    shim_record_end(MT_REALLOC_END, 5, 0);
    CHECK(published() == 2);
    CHECK(slot_at(1).kind == MT_REALLOC_END);
    CHECK(slot_at(1).addr == 5);
    shim_record(MT_MALLOC, 6, 6);
    CHECK(published() == 3);
    CHECK(shim_nested.ring->head == 3);
    CHECK(shim_nested.ring->tid == own_ring().tid);
    CHECK(shim_nested.slots[0].addr == 2);
    CHECK(shim_nested.slots[2].addr == 4);
    CHECK(shim_nested.slots[0].ticks >= slot_at(0).ticks);
    CHECK(shim_nested.slots[2].ticks <= slot_at(1).ticks);
    shim_thread_release(&shim_nested);
  });
  for (const std::uint64_t count : attached.harness.lost()) CHECK(count == 0);
}

TEST_CASE("what interrupts a section is in the second ring, or counted where there is none or it is interrupted, too") {
  for (const std::uint32_t rings : {1u, 2u}) {
    Attached attached(MT_ON_FULL_BLOCK, true, rings);
    attached.in_thread([&] {
      shim_record(MT_MALLOC, 1, 1);
      shim_section_enter(&shim_thread);
      shim_record(MT_MALLOC, 2, 2);
      if (rings == 2) {
        shim_section_enter(&shim_nested);
        shim_record(MT_MALLOC, 3, 3);
        shim_section_leave(&shim_nested, 1);
      }
      shim_section_write(&shim_thread, MT_MALLOC, 4, 4);
      shim_section_leave(&shim_thread, 1);
      CHECK(published() == 2);
      CHECK(slot_at(1).addr == 4);
      CHECK(own_ring().lost[MT_LOSS_SIGNAL_NESTING] == 1);
      CHECK((shim_nested.ring != nullptr) == (rings == 2));
      shim_thread_release(&shim_nested);
    });
  }
}

TEST_CASE("a nested record never waits for room: the tracker could not pass the one that it interrupted") {
  Attached attached(MT_ON_FULL_BLOCK);
  attached.in_thread([&] {
    REQUIRE(shim_record_begin(MT_MUNMAP_BEGIN, 1, 1));
    for (std::uint32_t i = 0; i < kSlots + 3; ++i) shim_record(MT_MALLOC, i, 1);
    CHECK(shim_nested.ring->head == kSlots);
    CHECK(shim_nested.ring->lost[MT_LOSS_SIGNAL_NESTING] == 3);
    shim_record_end(MT_MUNMAP_END, 0, 0);
    shim_thread_release(&shim_nested);
  });
}

TEST_CASE("a jump out of a section counts its event, and the ring goes on") {
  Attached attached(MT_ON_FULL_BLOCK);
  attached.in_thread([&] {
    shim_record(MT_MALLOC, 1, 1);
    shim_section_enter(&shim_thread);
    shim_record_abandon(&shim_thread);
    CHECK(own_ring().busy == 0);
    CHECK(own_ring().lost[MT_LOSS_SIGNAL_NESTING] == 1);
    shim_record(MT_MALLOC, 2, 2);
    CHECK(published() == 2);
    CHECK(slot_at(1).addr == 2);
    shim_record_abandon(&shim_thread);  // nothing is in progress
    CHECK(own_ring().lost[MT_LOSS_SIGNAL_NESTING] == 1);
  });
}

TEST_CASE("a jump out of a call between begin and end gives it an end that says that nothing happened") {
  for (const mt_record_kind begin : {MT_REALLOC_BEGIN, MT_MUNMAP_BEGIN, MT_MREMAP_BEGIN}) {
    for (const bool ending : {false, true}) {
      Attached attached(MT_ON_FULL_BLOCK);
      attached.in_thread([&] {
        REQUIRE(shim_record_begin(begin, 0x1000, 64));
        if (ending) shim_section_enter(&shim_thread);
        shim_record_abandon(&shim_thread);
        CHECK(published() == 2);
        CHECK(slot_at(1).kind == begin + 1);
        CHECK(slot_at(1).addr == 0);
        CHECK(slot_at(1).value == (begin == MT_MUNMAP_BEGIN ? 1 : 0));
        CHECK(own_ring().lost[MT_LOSS_SIGNAL_NESTING] == 1);
        CHECK(own_ring().busy == 0);
        shim_record(MT_MALLOC, 2, 2);
        CHECK(published() == 3);
      });
    }
  }
}

TEST_CASE("more live threads than rings: those without one borrow one for each event, and nobody waits for a thread") {
  constexpr std::uint32_t kRings = 9;  // one of them is lent
  constexpr int kThreads = 20;
  constexpr std::uint64_t kEach = 200;
  Attached attached(MT_ON_FULL_BLOCK, true, kRings);
  std::barrier all_done(kThreads);
  std::vector<std::thread> threads;
  std::atomic<int> running{kThreads};
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        if (i % 2 == 0) {
          shim_record(MT_MALLOC, thread, i);
        } else {
          REQUIRE(shim_record_begin(MT_REALLOC_BEGIN, thread, i));
          shim_record_end(MT_REALLOC_END, thread, i);
        }
      }
      all_done.arrive_and_wait();  // with its ring
      shim_thread_release(&shim_thread);
      running.fetch_sub(1);
    });
  }
  while (running.load() > 0) attached.harness.drain();
  for (std::thread& thread : threads) thread.join();
  attached.harness.drain();
  std::map<std::uint64_t, std::uint64_t> events;
  for (const auto& stream : attached.harness.streams()) {
    for (const mt_record& record : stream.slots) {
      if (record.kind == MT_REALLOC_END) continue;
      CHECK(record.value == events[record.addr]);
      ++events[record.addr];
    }
  }
  CHECK(events.size() == kThreads);
  for (const auto& [thread, count] : events) CHECK(count == kEach);
  for (const std::uint64_t count : attached.harness.lost()) CHECK(count == 0);
}
