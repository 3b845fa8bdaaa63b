// Order of events among the rings of a process.
#include <doctest/doctest.h>

#include "tests/preload/fake_capture.h"

using namespace memtrack;
using namespace memtrack::test;

TEST_CASE("records of two threads come out by their stamps") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  FakeThread b(capture.segment, image, 101);
  a.put(MT_MALLOC, 2000, 1, 8);
  b.put(MT_MALLOC, 2001, 2, 8);
  a.put(MT_FREE, 2002, 2);
  b.put(MT_CALLOC, 2003, 3, 80);
  b.put(MT_ALIGNED_ALLOC, 2004, 4, 64);
  a.put(MT_REALLOC_FRESH, 2005, 5, 9);
  a.put(MT_MMAP, 2006, 4096, 8192);
  b.put(MT_BRK, 2007, 12288, 4096);
  capture.time.now = 3000;
  CHECK(capture.take() == Lines{"100 Malloc 1 8", "100 Malloc 2 8", "100 Free 2", "100 Calloc 3 80",
                                "100 AlignedAlloc 4 64", "100 Realloc 5 9", "100 Mmap 4096 8192",
                                "100 Brk 12288 4096"});
  CHECK(capture.events[1].tid == 100);
  CHECK(capture.events[2].tid == 101);
  CHECK(capture.events[2].timestamp_ns == 2001);
  CHECK_FALSE(capture.events[6].has(Event::kHasOldAddr));
}

TEST_CASE("the same comes out however small the batches are") {
  for (const std::size_t batch : {1u, 2u, 3u, 7u, 100u}) {
    FakeCapture capture;
    const auto image = capture.exec_root();
    FakeThread a(capture.segment, image, 100);
    FakeThread b(capture.segment, image, 101);
    Lines expected;
    for (std::uint64_t i = 0; i < 40; ++i) {
      (i % 3 == 0 ? a : b).put(MT_MALLOC, 2000 + i, i + 1, 8);
      expected.push_back("100 Malloc " + std::to_string(i + 1) + " 8");
    }
    capture.time.now = 3000;
    CHECK(capture.take(batch) == expected);
  }
}

TEST_CASE("of equal stamps the free comes before the allocation") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  FakeThread b(capture.segment, image, 101);
  a.put(MT_MALLOC, 1500, 7, 8);
  a.put(MT_MALLOC, 2000, 7, 8);
  b.put(MT_FREE, 2000, 7);
  capture.time.now = 3000;
  CHECK(capture.take() == Lines{"100 Malloc 7 8", "100 Free 7", "100 Malloc 7 8"});
}

TEST_CASE("a busy thread holds back what is later than its last record") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  FakeThread b(capture.segment, image, 101);
  a.put(MT_MALLOC, 2000, 1, 8);
  b.put(MT_MALLOC, 1999, 2, 8);
  b.put(MT_MALLOC, 2500, 3, 8);
  a.set_busy(true);  // it has read a stamp, 2400, and has not published yet
  capture.time.now = 3000;
  CHECK(capture.take() == Lines{"100 Malloc 2 8", "100 Malloc 1 8"});
  CHECK(capture.take().empty());
  a.put(MT_FREE, 2400, 2);
  a.set_busy(false);
  CHECK(capture.take() == Lines{"100 Free 2", "100 Malloc 3 8"});
}

TEST_CASE("a thread that was idle at an earlier look holds back only what is later than that look") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  FakeThread b(capture.segment, image, 101);
  capture.time.now = 2000;
  CHECK(capture.take().empty());
  a.set_busy(true);
  b.put(MT_MALLOC, 1990, 1, 8);
  b.put(MT_MALLOC, 2010, 2, 8);
  capture.time.now = 3000;
  CHECK(capture.take() == Lines{"100 Malloc 1 8"});
}

TEST_CASE("records stamped after the low water wait for the next sweep") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  FakeThread b(capture.segment, image, 101);
  capture.time.now = 2000;
  // After the low water was taken: a's record is published before the look, b's older one only after it.
  capture.time.on_barrier = [&] {
    a.put(MT_MALLOC, 2020, 1, 8);
    capture.time.now = 2030;
  };
  CHECK(capture.take().empty());
  capture.time.on_barrier = [] {};
  b.put(MT_FREE, 2010, 1);
  capture.time.now = 3000;
  CHECK(capture.take() == Lines{"100 Free 1", "100 Malloc 1 8"});
}

TEST_CASE("a ring that is claimed behind the look can't be overtaken") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  capture.time.now = 2000;
  std::optional<FakeThread> b;
  capture.time.on_barrier = [&] { a.put(MT_MALLOC, 2020, 1, 8); };
  CHECK(capture.take().empty());
  capture.time.on_barrier = [] {};
  b.emplace(capture.segment, image, 101);
  b->put(MT_FREE, 2015, 1);
  capture.time.now = 3000;
  CHECK(capture.take() == Lines{"100 Free 1", "100 Malloc 1 8"});
}

TEST_CASE("a process that is held back holds back no other") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  capture.probe.start(200);
  const auto other = capture.segment.add_image(MT_ORIGIN_FORK, 200, 100, 1500);
  FakeThread a(capture.segment, image, 100);
  FakeThread b(capture.segment, image, 101);
  FakeThread c(capture.segment, other, 200);
  capture.time.now = 1600;
  CHECK(capture.take() == Lines{"200 Fork of 100"});
  a.put(MT_MALLOC, 2000, 1, 8);
  a.set_busy(true);
  b.put(MT_MALLOC, 2100, 2, 8);
  c.put(MT_MALLOC, 2200, 3, 8);
  capture.time.now = 3000;
  CHECK(capture.take() == Lines{"100 Malloc 1 8", "200 Malloc 3 8"});
}

TEST_CASE("a call that has begun holds back what is later until it is over") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  FakeThread b(capture.segment, image, 101);
  a.put(MT_MALLOC, 1990, 9, 8);
  a.put(MT_REALLOC_BEGIN, 2000, 9, 100);
  b.put(MT_MALLOC, 1995, 2, 8);
  b.put(MT_MALLOC, 2100, 3, 8);
  capture.time.now = 3000;
  CHECK(capture.take() == Lines{"100 Malloc 9 8", "100 Malloc 2 8"});
  CHECK(capture.take().empty());
  a.put(MT_REALLOC_END, 2050, 10);
  CHECK(capture.take() == Lines{"100 Realloc 9 -> 10 100", "100 Malloc 3 8"});
}

TEST_CASE("consumed slots go back to the producer, also while one batch is filled") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  for (std::uint64_t i = 0; i < 128; ++i) a.put(MT_MALLOC, 2000 + i, i + 1, 8);
  CHECK(a.room() == 0);
  a.ring().room_wanted = 1;
  capture.time.now = 3000;
  capture.merger.sweep();
  EventBatch out(64);
  CHECK(capture.merger.merge(out, 64));
  CHECK(a.room() == 64);
  CHECK(a.ring().room_wanted == 0);
  out.clear();
  static_cast<void>(capture.merger.merge(out, 64));
  CHECK(a.room() == 128);
}

TEST_CASE("a ring may be filled over its end many times") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  for (const std::uint64_t step : {127u, 128u, 1u, 100u, 128u, 37u, 128u}) {
    for (std::uint64_t i = 0; i < step; ++i, ++written) a.put(MT_MALLOC, 2000 + written, written + 1, 8);
    capture.time.now = 4000 + written;
    for (const std::string& line : capture.take()) CHECK(line == "100 Malloc " + std::to_string(++read) + " 8");
    CHECK(read == written);
    CHECK(a.room() >= 128 - 16);  // up to an eighth may be handed back later
  }
  CHECK(capture.merger.losses().total() == 0);
}

TEST_CASE("times of a process never decrease and lie at its records' stamps") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  for (std::uint64_t i = 0; i < 100; ++i) a.put(MT_MALLOC, 2000 + i * 7, i + 1, 8);
  capture.time.now = 5'000'000;
  CHECK(capture.take().size() == 100);
  for (std::size_t i = 1; i < capture.events.size(); ++i) {
    CHECK(capture.events[i].timestamp_ns == 2000 + (i - 1) * 7);
  }
}

TEST_CASE("a drain is reached when what was there has been given, though the producer never pauses") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  a.put(MT_MALLOC, 2000, 1, 8);
  capture.time.now = 2500;
  capture.merger.begin_drain();
  CHECK_FALSE(capture.merger.drain_reached());
  capture.time.on_barrier = [&] { a.put(MT_MALLOC, ++capture.time.now, 5, 8); };
  CHECK(capture.take() == Lines{"100 Malloc 1 8"});
  CHECK(capture.merger.drain_reached());
}

TEST_CASE("a drain waits for a call that is not over, but not for ever") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  a.put(MT_MUNMAP_BEGIN, 2000, 4096, 4096);
  capture.time.now = 2500;
  capture.merger.begin_drain();
  CHECK(capture.take().empty());
  CHECK_FALSE(capture.merger.drain_reached());
  capture.time.now += 2'000'000'000;
  CHECK(capture.take().empty());
  CHECK(capture.merger.drain_reached());
}

TEST_CASE("switching off and on cuts exactly at the stamps of the switches") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  a.put(MT_MALLOC, 2000, 1, 8);
  capture.time.now = 2100;
  capture.merger.set_enabled(false);
  CHECK(capture.segment.view().header->enabled == 0);
  a.put(MT_MALLOC, 2100, 2, 8);  // was on its way
  a.put(MT_MALLOC, 2150, 3, 8);
  a.put_mapping(2160, 4096, 4096, 5, "/lib/x");  // module events are told in any case
  capture.time.now = 2200;
  capture.merger.set_enabled(true);
  CHECK(capture.segment.view().header->enabled == 1);
  a.put(MT_FREE, 2200, 3);
  a.put(MT_REALLOC_BEGIN, 2210, 3, 5);
  capture.time.now = 2220;
  capture.merger.set_enabled(false);
  a.put(MT_REALLOC_END, 2230, 4);
  capture.time.now = 3000;
  CHECK(capture.take() == Lines{"100 Malloc 1 8", "100 Mapping 4096 /lib/x", "100 Free 3"});
}

TEST_CASE("a capture that starts switched off gives process events only") {
  FakeCapture capture({.rss_interval_ns = 0, .start_enabled = false});
  const auto image = capture.segment.add_image(MT_ORIGIN_EXEC, 100, 1, 1100);
  FakeThread a(capture.segment, image, 100);
  a.put(MT_MALLOC, 1200, 1, 8);
  capture.time.now = 2000;
  CHECK(capture.take() == Lines{"100 Exec"});
}
