// A target may write anything into the segment.
#include <algorithm>
#include <cstring>
#include <random>

#include <doctest/doctest.h>

#include "tests/preload/fake_capture.h"
#include "tests/support/seed.h"

using namespace memtrack;
using namespace memtrack::test;

namespace {

struct OneThread : FakeCapture {
  std::uint32_t image = exec_root();
  FakeThread a{segment, image, 100};

  Lines run() {
    time.now = 9000;
    return take();
  }
  std::uint64_t bad() { return merger.losses()[LossCause::kBadRecord]; }
};

}  // namespace

TEST_CASE_FIXTURE(OneThread, "unknown kinds are counted and passed over") {
  a.put(MT_MALLOC, 2000, 1, 8);
  a.put(MT_PAD, 2001, 2, 8);
  a.put(MT_RECORD_KIND_COUNT, 2002, 3, 8);
  a.write({.ticks = 2003, .addr = 3, .value = 8, .kind = 65535, .flags = 0, .more = 0});
  a.publish();
  a.put(MT_MALLOC, 2004, 4, 8);
  CHECK(run() == Lines{"100 Malloc 1 8", "100 Malloc 4 8"});
  CHECK(bad() == 3);
}

TEST_CASE_FIXTURE(OneThread, "stamps that go back or lie in the future are counted and passed over") {
  a.put(MT_MALLOC, 2000, 1, 8);
  a.put(MT_MALLOC, 1999, 2, 8);
  a.put(MT_MALLOC, UINT64_MAX, 3, 8);
  a.put(MT_MALLOC, 2000, 4, 8);
  CHECK(run() == Lines{"100 Malloc 1 8", "100 Malloc 4 8"});
  CHECK(bad() == 2);
}

TEST_CASE_FIXTURE(OneThread, "halves of pairs are counted and passed over") {
  a.put(MT_REALLOC_BEGIN, 2000, 1, 8);
  a.put(MT_MALLOC, 2001, 2, 8);
  a.put(MT_REALLOC_END, 2002, 3);
  a.put(MT_MUNMAP_BEGIN, 2003, 4096, 8);
  a.put(MT_MREMAP_END, 2004, 4096, 8);
  a.put(MT_MALLOC, 2005, 4, 8);
  CHECK(run() == Lines{"100 Malloc 2 8", "100 Malloc 4 8"});
  CHECK(bad() == 4);
}

TEST_CASE_FIXTURE(OneThread, "an end that is older than its begin is no end") {
  a.put(MT_REALLOC_BEGIN, 2000, 1, 8);
  a.put(MT_REALLOC_END, 1999, 3);
  a.put(MT_MALLOC, 2005, 4, 8);
  CHECK(run() == Lines{"100 Malloc 4 8"});
  CHECK(bad() == 2);
}

TEST_CASE_FIXTURE(OneThread, "a head that runs over the tail, or backwards, costs that ring's records only") {
  FakeThread b(segment, image, 101);
  b.put(MT_MALLOC, 2000, 9, 8);
  SUBCASE("over") {
    a.ring().head = 129;
  }
  SUBCASE("far over") {
    a.ring().head = UINT64_MAX;
  }
  SUBCASE("backwards") {
    a.put(MT_MALLOC, 2000, 1, 8);
    time.now = 2500;
    CHECK(take().size() == 2);
    a.ring().head = 0;
    b.put(MT_MALLOC, 2600, 10, 8);
  }
  CHECK(run().size() == 1);
  CHECK(bad() == 1);
  b.put(MT_MALLOC, 9001, 11, 8);
  time.now = 9100;
  CHECK(take() == Lines{"100 Malloc 11 8"});
}

TEST_CASE_FIXTURE(OneThread, "a path that is too long is not read") {
  std::vector<mt_record> slots = FakeThread::mapping_slots(2000, 4096, 4096, 5, "/x", 0);
  slots[0].more = preload::kMaxPathBytes + 1;
  a.write(slots[0]);
  a.publish();
  a.put(MT_MALLOC, 2001, 1, 8);
  CHECK(run() == Lines{"100 Malloc 1 8"});
  CHECK(bad() == 1);
}

TEST_CASE_FIXTURE(OneThread, "the longest path goes through the smallest ring, piece by piece") {
  const std::string path = "/" + std::string(preload::kMaxPathBytes - 1, 'p');
  const auto slots = FakeThread::mapping_slots(2000, 4096, 4096, 5, path, 0);
  REQUIRE(slots.size() > 128);
  std::size_t at = 0;
  Lines lines;
  for (int round = 0; at < slots.size(); ++round) {
    REQUIRE(round < 100);
    for (std::uint64_t room = std::min<std::uint64_t>(a.room(), 50); room > 0 && at < slots.size(); --room) {
      a.write(slots[at++]);
    }
    a.publish();
    time.now = 2500;
    for (std::string& line : take()) lines.push_back(std::move(line));
  }
  CHECK(lines == Lines{"100 Mapping 4096 " + path});
  a.put(MT_MALLOC, 2600, 1, 8);
  CHECK(run() == Lines{"100 Malloc 1 8"});
  CHECK(bad() == 0);
}

TEST_CASE_FIXTURE(OneThread, "a mapping whose writer died within is left out") {
  const auto slots = FakeThread::mapping_slots(2000, 4096, 4096, 5, std::string(100, 'p'), 0);
  a.write(slots[0]);
  a.write(slots[1]);
  a.publish();
  probe.end(100);
  CHECK(run() == Lines{"100 Exit"});
  CHECK(bad() == 0);
}

TEST_CASE_FIXTURE(OneThread, "what changes in the segment after it was looked at changes nothing") {
  a.put(MT_REALLOC_BEGIN, 2000, 1, 8);
  a.put(MT_REALLOC_END, 2001, 2);
  time.now = 3000;
  merger.sweep();
  std::memset(segment.view().slots(a.index()), 0xff, 2 * MT_SLOT_BYTES);
  EventBatch out(10);
  CHECK_FALSE(merger.merge(out, 10));
  REQUIRE(out.size() == 1);
  CHECK(FakeCapture::text(out[0], out) == "100 Realloc 1 -> 2 8");
}

TEST_CASE_FIXTURE(OneThread, "rings and images that make no sense are left alone and counted once") {
  FakeThread lost(segment, 9999, 101);
  FakeThread none(segment, 7, 101);
  segment.image(5) = {};
  segment.view().header->image_end = 7;
  segment.image(5).state = MT_STATE_LIVE;  // pid 0
  segment.image(6) = {};
  segment.image(6).state = MT_STATE_LIVE;
  segment.image(6).pid = 300;
  segment.image(6).origin = 17;
  lost.put(MT_MALLOC, 2000, 1, 8);
  none.put(MT_MALLOC, 2000, 1, 8);
  for (int i = 0; i < 5; ++i) CHECK(run().empty());
  CHECK(bad() == 4);
}

TEST_CASE_FIXTURE(OneThread, "processes that claim each other as parents are born all the same") {
  probe.start(200);
  probe.start(300);
  static_cast<void>(segment.add_image(MT_ORIGIN_FORK, 200, 300, 2000));
  static_cast<void>(segment.add_image(MT_ORIGIN_FORK, 300, 200, 2000));
  static_cast<void>(segment.add_image(MT_ORIGIN_FORK, 300, 300, 2000));
  time.now = 3000;
  static_cast<void>(take());
  time.now += preload::ProcessTable::kBirthHoldNs + 1;
  for (int i = 0; i < 5; ++i) static_cast<void>(take());
  const auto forks =
      std::count_if(events.begin(), events.end(), [](const Event& event) { return event.kind == EventKind::kFork; });
  CHECK(forks == 3);
}

TEST_CASE("a swarm of reallocs that never come back costs bounded memory and no stack") {
  FakeCapture capture({.rss_interval_ns = 0}, 4096);
  const auto image = capture.exec_root();
  std::uint64_t ticks = 2000;
  for (int round = 0; round < 200; ++round) {
    FakeThread thread(capture.segment, image, 500);
    // A chain: each moves onto the old block of the next.
    for (std::uint64_t i = 0; i < 2000; ++i) {
      thread.put(MT_REALLOC_BEGIN, ++ticks, 10 + i, 8);
      thread.put(MT_REALLOC_END, ++ticks, 11 + i);
    }
    thread.put(MT_REALLOC_BEGIN, ++ticks, 10, 8);
    thread.release();
    capture.time.now = ticks + 10;
    static_cast<void>(capture.take());
    capture.events.clear();
  }
  CHECK(capture.merger.losses().total() == 0);
}

TEST_CASE("random garbage anywhere in the segment crashes nothing and ends") {
  const std::uint64_t seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (int run = 0; run < 60; ++run) {
    FakeCapture capture({.rss_interval_ns = 1'000});
    const auto image = capture.exec_root();
    for (std::int32_t i = 0; i < 4; ++i) capture.probe.start(200 + i);
    std::vector<FakeThread> threads;
    for (std::int32_t i = 0; i < 5; ++i) threads.emplace_back(capture.segment, image, 100 + i);
    const preload::SegmentLayout& layout = capture.segment.view().layout;
    capture.segment.view().header->ring_end = UINT32_MAX;
    capture.segment.view().header->image_end = UINT32_MAX;
    for (int step = 0; step < 60; ++step) {
      capture.time.now += random() % 10'000;
      const std::uint64_t where = random() % 4;
      const std::uint64_t first = where == 0   ? layout.images_offset
                                  : where == 1 ? layout.rings_offset
                                               : layout.data_offset;
      const std::uint64_t bytes = (where == 0   ? layout.rings_offset
                                   : where == 1 ? layout.data_offset
                                                : layout.bytes) -
                                  first;
      for (int i = 0; i < 200; ++i) {
        const std::uint64_t at = first + random() % bytes / 4 * 4;
        // Small numbers as well as large ones: states, kinds and pids are small.
        const std::uint32_t value = static_cast<std::uint32_t>(random()) >> (random() % 32);
        std::memcpy(capture.segment.memory() + at, &value, sizeof value);
      }
      for (FakeThread& thread : threads) {
        if (random() % 2 == 0) {
          thread.put(static_cast<mt_record_kind>(random() % 16), capture.time.now - random() % 50, random() % 64,
                     random() % 4);
        }
        thread.ring().head += random() % 3;
      }
      if (step == 50) capture.probe.end(100);
      if (step == 55) capture.merger.finish();
      static_cast<void>(capture.take(1 + random() % 50));
    }
    for (const Event& event : capture.events) CHECK(static_cast<std::size_t>(event.kind) < kEventKindCount);
    static_cast<void>(capture.merger.survivors());
    static_cast<void>(capture.merger.losses());
  }
}
