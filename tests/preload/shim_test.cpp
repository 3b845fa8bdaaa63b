// The ring's producer, driven in this process against the consumer's half of the contract.
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "preload/shim_arena.h"
#include "tests/preload/attached.h"
#include "tests/support/seed.h"

namespace {

using namespace memtrack::test;

std::uint64_t lost(Attached& attached, mt_loss cause) {
  attached.harness.drain();
  return attached.harness.lost()[cause];
}

}  // namespace

TEST_CASE("a ring of n slots takes n-1, n, and of n+1 records the first n") {
  for (const std::uint64_t count : {kSlots - 1, kSlots, kSlots + 1}) {
    Attached attached(MT_ON_FULL_DROP);
    attached.in_thread([&] {
      for (std::uint64_t i = 0; i < count; ++i) shim_record(MT_MALLOC, 0x1000 + i, i);
      const std::uint64_t kept = std::min<std::uint64_t>(count, kSlots);
      CHECK(published() == kept);
      for (std::uint64_t i = 0; i < kept; ++i) CHECK(slot_at(i).addr == 0x1000 + i);
      CHECK(own_ring().lost[MT_LOSS_RING_FULL] == count - kept);
      CHECK(own_ring().busy == 0);
    });
  }
}

TEST_CASE("a ring equals a queue of bounded length under any mix of records, pairs and takes") {
  const std::uint64_t seed = memtrack::test::test_seed();
  INFO("seed ", seed);
  Attached attached(MT_ON_FULL_DROP);
  attached.in_thread([&] {
    std::mt19937_64 random(seed);
    std::deque<std::uint64_t> model;
    std::uint64_t done = 0;
    std::uint64_t taken = 0;
    std::uint64_t lost_events = 0;
    std::uint64_t last_ticks = 0;
    const auto take = [&](std::uint64_t most) {
      for (; most > 0 && !model.empty(); --most, ++taken) {
        REQUIRE(slot_at(taken).addr == model.front());
        REQUIRE(slot_at(taken).ticks >= last_ticks);
        last_ticks = slot_at(taken).ticks;
        model.pop_front();
        consume(1);
      }
    };
    shim_record(MT_MALLOC, 0, 0);
    model.push_back(0);
    for (int step = 0; step < 200'000; ++step) {
      const std::uint64_t addr = ++done;
      if (random() % 3 != 0) {
        shim_record(MT_FREE, addr, 0);
        if (model.size() < kSlots) {
          model.push_back(addr);
        } else {
          ++lost_events;
        }
      } else {
        const bool begun = shim_record_begin(MT_REALLOC_BEGIN, addr, 1);
        REQUIRE(begun == (model.size() + 2 <= kSlots));
        if (begun) {
          shim_record_end(MT_REALLOC_END, addr, 0);
          model.push_back(addr);
          model.push_back(addr);
        } else {
          ++lost_events;
        }
      }
      REQUIRE(published() - own_ring().tail == model.size());
      if (random() % 64 == 0) take(random() % (2 * kSlots));
    }
    take(kSlots);
    CHECK(own_ring().lost[MT_LOSS_RING_FULL] == lost_events);
    CHECK(lost_events > 0);
    CHECK(taken == published());
  });
}

TEST_CASE("with one slot left a pair is lost as one event and a single record still fits") {
  Attached attached(MT_ON_FULL_DROP);
  attached.in_thread([&] {
    for (std::uint32_t i = 0; i < kSlots - 1; ++i) shim_record(MT_FREE, i, 0);
    CHECK_FALSE(shim_record_begin(MT_MUNMAP_BEGIN, 1, 1));
    CHECK(own_ring().lost[MT_LOSS_RING_FULL] == 1);
    CHECK(published() == kSlots - 1);
    shim_record(MT_FREE, 7, 0);
    CHECK(published() == kSlots);
  });
}

TEST_CASE("a full ring makes its thread wait until there is room, and nothing is lost") {
  Attached attached(MT_ON_FULL_BLOCK);
  constexpr std::uint64_t kRecords = 50'000;
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      if (i % 5 == 0) {
        REQUIRE(shim_record_begin(MT_REALLOC_BEGIN, i, 0));
        shim_record_end(MT_REALLOC_END, i, 0);
      } else {
        shim_record(MT_MALLOC, i, 0);
      }
    }
    shim_thread_release(&shim_thread);
  });
  std::vector<mt_record> taken;
  std::uint64_t events = 0;
  while (events < kRecords) {
    attached.harness.drain();
    events = 0;
    for (const auto& stream : attached.harness.streams()) {
      for (const mt_record& record : stream.slots) events += record.kind != MT_REALLOC_END ? 1 : 0;
    }
  }
  producer.join();
  attached.harness.drain();
  std::uint64_t expected = 0;
  for (const auto& stream : attached.harness.streams()) {
    for (const mt_record& record : stream.slots) {
      if (record.kind == MT_REALLOC_END) continue;
      REQUIRE(record.addr == expected);
      ++expected;
    }
  }
  CHECK(expected == kRecords);
  for (const std::uint64_t count : attached.harness.lost()) CHECK(count == 0);
}

TEST_CASE(
    "a thread that waits for room gives up when the tracker is gone, and its process passes through from then on") {
  Attached attached(MT_ON_FULL_BLOCK);
  shim_session.tracker_start_time += 1;  // another process has the tracker's number by now
  attached.in_thread([&] {
    for (std::uint32_t i = 0; i < kSlots + 1; ++i) shim_record(MT_FREE, i, 0);
    CHECK(published() == kSlots);
    CHECK(own_ring().busy == 0);
    CHECK(own_ring().lost[MT_LOSS_TRACKER_GONE] == 1);
    CHECK(shim_state == kShimInert);
    CHECK(shim_page.live.segment == nullptr);
  });
}

TEST_CASE("a thread that waits for room goes on at once when the capture is closed, and counts nothing") {
  Attached attached(MT_ON_FULL_BLOCK);
  attached.in_thread([&] {
    for (std::uint32_t i = 0; i < kSlots; ++i) shim_record(MT_FREE, i, 0);
    attached.harness.segment().closed = 1;
    shim_record(MT_FREE, 1, 0);
    CHECK(published() == kSlots);
  });
  for (const std::uint64_t count : attached.harness.lost()) CHECK(count == 0);
}

TEST_CASE("switched off there is no record and no ring, but an open pair is ended") {
  Attached attached(MT_ON_FULL_BLOCK, false);
  mt_segment& segment = attached.harness.segment();
  attached.in_thread([&] {
    shim_record(MT_MALLOC, 1, 1);
    CHECK(shim_thread.ring == nullptr);
    segment.enabled = 1;
    REQUIRE(shim_record_begin(MT_MREMAP_BEGIN, 2, 2));
    segment.enabled = 0;
    shim_record_end(MT_MREMAP_END, 3, 3);
    shim_record(MT_MALLOC, 4, 4);
    CHECK_FALSE(shim_record_begin(MT_MREMAP_BEGIN, 5, 5));
    CHECK(published() == 2);
  });
  for (const std::uint64_t count : attached.harness.lost()) CHECK(count == 0);
}

TEST_CASE("without a free ring events are counted, and the search goes on after one was freed") {
  Attached attached(MT_ON_FULL_DROP, true, 1);
  attached.in_thread([&] {
    shim_record(MT_MALLOC, 1, 1);
    attached.in_thread([&] {
      for (int i = 0; i < 3; ++i) shim_record(MT_MALLOC, 2, 2);
      CHECK(shim_thread.ring == nullptr);
    });
  });
  CHECK(lost(attached, MT_LOSS_NO_RING) == 3);
  attached.in_thread([&] {
    shim_record(MT_MALLOC, 3, 3);
    CHECK(published() == 1);
    CHECK(own_ring().lost[MT_LOSS_NO_RING] == 0);
  });
}

TEST_CASE("a thread that waits for a ring gets the one that was freed") {
  Attached attached(MT_ON_FULL_BLOCK, true, 1);
  attached.in_thread([&] { shim_record(MT_MALLOC, 1, 1); });  // released, not yet freed
  std::thread waiting([&] {
    shim_record(MT_MALLOC, 2, 2);
    CHECK(shim_thread.ring != nullptr);
    shim_thread_release(&shim_thread);
  });
  while (attached.harness.streams().size() < 2) attached.harness.drain();
  waiting.join();
  for (const std::uint64_t count : attached.harness.lost()) CHECK(count == 0);
}

TEST_CASE("stamps are ordered against other threads from the second ring on, before anything is in it") {
  Attached attached(MT_ON_FULL_BLOCK);
  attached.in_thread([&] {
    shim_record(MT_MALLOC, 1, 1);
    CHECK(shim_session.ordered == 0);
    attached.in_thread([&] {
      REQUIRE(shim_thread_claim(&shim_thread));
      CHECK(published() == 0);
      CHECK(shim_session.ordered == 1);
    });
    shim_record(MT_FREE, 1, 0);
    CHECK(slot_at(1).ticks >= slot_at(0).ticks);
  });
}

TEST_CASE("a sleeping tracker is woken when an eighth of the ring was written") {
  Attached attached(MT_ON_FULL_BLOCK);
  mt_segment& segment = attached.harness.segment();
  attached.in_thread([&] {
    shim_record(MT_FREE, 0, 0);
    segment.tracker_sleeping = 1;
    for (std::uint32_t i = 1; i < kSlots / 8; ++i) shim_record(MT_FREE, i, 0);
    CHECK(segment.tracker_sleeping == 1);
    shim_record(MT_FREE, 1, 0);
    CHECK(segment.tracker_sleeping == 0);
  });
}

TEST_CASE("a mapping is written whole, wraps around the end, and may be longer than the ring") {
  for (const std::size_t length : {std::size_t{1}, std::size_t{32}, std::size_t{33}, std::size_t{4095}}) {
    Attached attached(MT_ON_FULL_BLOCK, false);
    std::string path(length, 'x');
    for (std::size_t i = 0; i < length; ++i) path[i] = static_cast<char>('a' + i % 26);
    const shim_mapping mapping{.start = 0x7000,
                               .length = 0x3000,
                               .file_offset = 0x1000,
                               .dev = 0x800001,
                               .ino = 99,
                               .path = path.data(),
                               .path_bytes = static_cast<std::uint32_t>(length)};
    std::thread producer([&] {
      for (int i = 0; i < 20; ++i) shim_record_mapping(&mapping);
      shim_thread_release(&shim_thread);
    });
    const std::size_t slots = 2 + (length + 31) / 32;
    std::size_t taken = 0;
    while (taken < 20 * slots) {
      attached.harness.drain();
      taken = attached.harness.streams().empty() ? 0 : attached.harness.streams()[0].slots.size();
    }
    producer.join();
    const auto records = parse_records(attached.harness.streams()[0].slots);
    REQUIRE(records.size() == 20);
    for (const auto& record : records) {
      CHECK(record.first.kind == MT_MAPPING);
      CHECK(record.first.addr == 0x7000);
      CHECK(record.first.value == 0x3000);
      CHECK(record.path == path);
      CHECK(record.mapping.dev == 0x800001);
      CHECK(record.mapping.ino == 99);
      CHECK(record.mapping.file_offset == 0x1000);
    }
  }
}

TEST_CASE("a segment that is not ours is refused") {
  const auto refuses = [](auto spoil) {
    SegmentHarness harness({.image_count = 2, .ring_count = 2, .ring_slots = kSlots});
    spoil(harness.segment());
    return !shim_session_bind(&harness.segment(), harness.bytes());
  };
  CHECK_FALSE(refuses([](mt_segment&) {}));
  CHECK(refuses([](mt_segment& segment) { segment.magic ^= 1; }));
  CHECK(refuses([](mt_segment& segment) { segment.version += 1; }));
  CHECK(refuses([](mt_segment& segment) { segment.segment_bytes += 1; }));
  CHECK(refuses([](mt_segment& segment) { segment.ring_slots = 100; }));
  CHECK(refuses([](mt_segment& segment) { segment.ring_slots = 64; }));
  CHECK(refuses([](mt_segment& segment) { segment.ring_count = UINT32_MAX; }));
  CHECK(refuses([](mt_segment& segment) { segment.data_offset = ~std::uint64_t{63}; }));
  CHECK(refuses([](mt_segment& segment) { segment.images_offset = 0; }));
}

TEST_CASE("the arena hands out zeroed, aligned, distinct blocks until it is used up, and knows them") {
  char* last = nullptr;
  std::size_t handed = 0;
  for (;;) {
    char* block = static_cast<char*>(shim_arena_allocate(5000, 64));
    if (block == nullptr) break;
    CHECK(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
    CHECK(shim_arena_owns(block));
    CHECK(shim_arena_size(block) == 5000);
    CHECK((last == nullptr || block >= last + 5000));
    CHECK(block[0] == 0);
    std::memset(block, 0xff, 5000);
    last = block;
    handed += 5000;
  }
  CHECK(handed >= 128 * 1024);
  CHECK(shim_arena_allocate(SIZE_MAX, 16) == nullptr);
  CHECK_FALSE(shim_arena_owns(&last));
  CHECK_FALSE(shim_arena_owns(nullptr));
}
