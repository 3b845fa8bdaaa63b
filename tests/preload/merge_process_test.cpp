// The lives of processes: fork, exec, spawn, exit, numbers used again.
#include <algorithm>

#include <doctest/doctest.h>

#include "tests/preload/fake_capture.h"

using namespace memtrack;
using namespace memtrack::test;

TEST_CASE("the root has an Exec and no Fork, and an Exit after its last record") {
  FakeCapture capture;
  const auto image = capture.segment.add_image(MT_ORIGIN_EXEC, 100, 1, 1100);
  FakeThread a(capture.segment, image, 100);
  a.put(MT_MALLOC, 1200, 1, 8);
  capture.time.now = 1300;
  CHECK(capture.take() == Lines{"100 Exec", "100 Malloc 1 8"});
  CHECK(capture.events[0].timestamp_ns == 1100);
  a.put(MT_MALLOC, 1400, 2, 8);
  a.set_busy(true);  // killed within a section
  capture.probe.end(100);
  capture.time.now = 1500;
  CHECK_FALSE(capture.merger.root_gone());
  CHECK(capture.take() == Lines{"100 Malloc 2 8", "100 Exit"});
  CHECK(capture.events.back().timestamp_ns == 1500);
  CHECK(capture.merger.root_gone());
  CHECK(capture.merger.all_gone());
  CHECK(a.ring().state == MT_STATE_FREE);
  CHECK(capture.segment.image(image).state == MT_STATE_FREE);
  CHECK(capture.segment.view().header->free_waiters > 0);
}

TEST_CASE("a root that never loaded the shim still has Exec and Exit") {
  FakeCapture capture;
  capture.probe.end(100);
  CHECK(capture.take() == Lines{"100 Exec", "100 Exit"});
  CHECK_FALSE(capture.merger.root_was_seen());
}

TEST_CASE("a forked child comes after what its parent did before") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  capture.probe.start(200);
  a.put(MT_MALLOC, 1990, 1, 8);
  const auto child_image = capture.segment.add_image(MT_ORIGIN_FORK, 200, 100, 2000);
  FakeThread child(capture.segment, child_image, 200);
  child.put(MT_FREE, 2001, 1);
  a.put(MT_FREE, 2002, 1);
  capture.time.now = 3000;
  CHECK(capture.take() == Lines{"100 Malloc 1 8", "200 Fork of 100", "200 Free 1", "100 Free 1"});
}

TEST_CASE("a birth waits for a parent that is held back, but not for ever") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  capture.probe.start(200);
  a.put(MT_MUNMAP_BEGIN, 1990, 4096, 4096);
  const auto child_image = capture.segment.add_image(MT_ORIGIN_FORK, 200, 100, 2000);
  FakeThread child(capture.segment, child_image, 200);
  child.put(MT_MALLOC, 2001, 1, 8);
  capture.time.now = 3000;
  CHECK(capture.take().empty());
  SUBCASE("the parent goes on") {
    a.put(MT_MUNMAP_END, 3100, 0, 0);
    capture.time.now = 3200;
    CHECK(capture.take() == Lines{"100 Munmap 4096 4096", "200 Fork of 100", "200 Malloc 1 8"});
  }
  SUBCASE("the parent stays where it is") {
    capture.time.now += preload::ProcessTable::kBirthHoldNs + 1;
    CHECK(capture.take() == Lines{"200 Fork of 100", "200 Malloc 1 8"});
  }
  SUBCASE("the parent is killed") {
    capture.probe.end(100);
    capture.time.now = 3200;
    const Lines lines = capture.take();
    CHECK(lines == Lines{"200 Fork of 100", "200 Malloc 1 8", "100 Exit"});
  }
}

TEST_CASE("grandchildren that are found together with children are born after them") {
  FakeCapture capture;
  static_cast<void>(capture.exec_root());
  capture.probe.start(300);
  capture.probe.start(200);
  const auto grandchild = capture.segment.add_image(MT_ORIGIN_FORK, 300, 200, 2100);
  const auto child = capture.segment.add_image(MT_ORIGIN_FORK, 200, 100, 2000);
  FakeThread g(capture.segment, grandchild, 300);
  FakeThread c(capture.segment, child, 200);
  g.put(MT_MALLOC, 2150, 1, 8);
  c.put(MT_MALLOC, 2050, 2, 8);
  c.put(MT_MALLOC, 2200, 3, 8);
  capture.time.now = 3000;
  CHECK(capture.take() ==
        Lines{"200 Fork of 100", "200 Malloc 2 8", "300 Fork of 200", "300 Malloc 1 8", "200 Malloc 3 8"});
}

TEST_CASE("a spawned program has a Fork and an Exec") {
  FakeCapture capture;
  static_cast<void>(capture.exec_root());
  capture.probe.start(200);
  const auto image = capture.segment.add_image(MT_ORIGIN_EXEC, 200, 100, 2000);
  FakeThread c(capture.segment, image, 200);
  c.put(MT_MALLOC, 2100, 1, 8);
  capture.time.now = 3000;
  CHECK(capture.take() == Lines{"200 Fork of 100", "200 Exec", "200 Malloc 1 8"});
}

TEST_CASE("an Exec comes after all records of the program before it, whatever they say") {
  FakeCapture capture;
  const auto first = capture.exec_root();
  FakeThread a(capture.segment, first, 100);
  FakeThread b(capture.segment, first, 101);
  a.put(MT_MALLOC, 2000, 1, 8);
  b.put(MT_MALLOC, 2100, 2, 8);
  b.put(MT_REALLOC_BEGIN, 2110, 2, 9);  // killed by the exec of another thread
  a.set_busy(true);
  const auto second = capture.segment.add_image(MT_ORIGIN_EXEC, 100, 1, 2200);
  FakeThread c(capture.segment, second, 100);
  c.put(MT_MALLOC, 2300, 3, 8);
  capture.time.now = 3000;
  Lines lines = capture.take();
  for (std::string& line : capture.take()) lines.push_back(std::move(line));
  CHECK(lines == Lines{"100 Malloc 1 8", "100 Malloc 2 8", "100 Exec", "100 Malloc 3 8"});
  CHECK(a.ring().state == MT_STATE_FREE);
  CHECK(b.ring().state == MT_STATE_FREE);
  CHECK(c.ring().state == MT_STATE_LIVE);
  CHECK(capture.segment.image(first).state == MT_STATE_FREE);
  CHECK(capture.merger.losses().total() == 0);
}

TEST_CASE("a ring that the old program claimed behind the look is not forgotten at an exec") {
  FakeCapture capture;
  const auto first = capture.exec_root();
  capture.time.now = 2000;
  const auto second = capture.segment.add_image(MT_ORIGIN_EXEC, 100, 1, 2200);
  capture.time.now = 3000;
  CHECK(capture.take().empty());  // the first look at the new image can't be sure of the old one's rings
  FakeThread a(capture.segment, first, 101);
  a.put(MT_MALLOC, 2100, 1, 8);
  CHECK(capture.take() == Lines{"100 Malloc 1 8", "100 Exec"});
  CHECK(capture.segment.image(second).state == MT_STATE_LIVE);
}

TEST_CASE("several execs between two looks are all told in order") {
  FakeCapture capture;
  static_cast<void>(capture.exec_root());
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto image = capture.segment.add_image(MT_ORIGIN_EXEC, 100, 1, 2000 + i * 100);
    FakeThread thread(capture.segment, image, 100);
    thread.put(MT_MALLOC, 2050 + i * 100, i + 1, 8);
  }
  capture.time.now = 3000;
  Lines lines;
  for (int i = 0; i < 4; ++i) {
    for (std::string& line : capture.take()) lines.push_back(std::move(line));
  }
  CHECK(lines == Lines{"100 Exec", "100 Malloc 1 8", "100 Exec", "100 Malloc 2 8", "100 Exec", "100 Malloc 3 8"});
}

TEST_CASE("an exec followed by the end between two looks is no new process") {
  for (const bool reaped : {true, false}) {
    FakeCapture capture;
    static_cast<void>(capture.exec_root());
    const auto image = capture.segment.add_image(MT_ORIGIN_EXEC, 100, 1, 2000);
    FakeThread thread(capture.segment, image, 100);
    thread.put(MT_MALLOC, 2100, 1, 8);
    capture.probe.end(100, reaped);
    capture.time.now = 3000;
    CHECK(capture.take() == Lines{"100 Exec", "100 Malloc 1 8", "100 Exit"});
  }
}

TEST_CASE("a child that was gone before it could be looked up has its whole life told") {
  FakeCapture capture;
  static_cast<void>(capture.exec_root());
  const auto image = capture.segment.add_image(MT_ORIGIN_FORK, 200, 100, 2000);
  FakeThread thread(capture.segment, image, 200);
  thread.put(MT_MALLOC, 2100, 1, 8);
  capture.time.now = 3000;
  Lines lines = capture.take();
  for (std::string& line : capture.take()) lines.push_back(std::move(line));
  CHECK(lines == Lines{"200 Fork of 100", "200 Malloc 1 8", "200 Exit"});
  CHECK(thread.ring().state == MT_STATE_FREE);
}

TEST_CASE("a number used again means an Exit of the old process first") {
  FakeCapture capture;
  static_cast<void>(capture.exec_root());
  capture.probe.start(200);
  const auto old_image = capture.segment.add_image(MT_ORIGIN_FORK, 200, 100, 2000);
  FakeThread old_thread(capture.segment, old_image, 200);
  old_thread.put(MT_MALLOC, 2010, 1, 8);
  capture.time.now = 2100;
  CHECK(capture.take() == Lines{"200 Fork of 100", "200 Malloc 1 8"});
  old_thread.put(MT_MALLOC, 2110, 2, 8);
  capture.probe.end(200);
  capture.probe.start(200);

  mt_image_origin origin = MT_ORIGIN_FORK;
  Lines birth{"200 Fork of 100"};
  SUBCASE("by a fork") {}
  SUBCASE("by a spawn") {
    origin = MT_ORIGIN_EXEC;
    birth.push_back("200 Exec");
  }
  const auto image = capture.segment.add_image(origin, 200, 100, 2500);
  FakeThread thread(capture.segment, image, 200);
  thread.put(MT_MALLOC, 2600, 3, 8);
  capture.time.now = 3000;
  Lines lines = capture.take();
  for (std::string& line : capture.take()) lines.push_back(std::move(line));
  Lines expected{"200 Malloc 2 8", "200 Exit"};
  expected.insert(expected.end(), birth.begin(), birth.end());
  expected.push_back("200 Malloc 3 8");
  CHECK(lines == expected);
  capture.probe.end(200);
  CHECK(capture.take() == Lines{"200 Exit"});
}

TEST_CASE("rings of ended threads are drained and freed while their process goes on") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  a.put(MT_MALLOC, 1500, 1, 8);
  for (std::uint64_t i = 0; i < 100; ++i) {  // many more threads than rings
    FakeThread thread(capture.segment, image, static_cast<std::int32_t>(200 + i));
    thread.put(MT_MALLOC, 2000 + i * 10, i + 10, 8);
    thread.ring().lost[MT_LOSS_SIGNAL_NESTING] = 1;
    thread.release();
    capture.time.now = 2005 + i * 10;
    CHECK(capture.take().back() == "100 Malloc " + std::to_string(i + 10) + " 8");
    CHECK(thread.ring().state == MT_STATE_FREE);
    CHECK(thread.ring().tail == 0);
  }
  CHECK(capture.merger.losses()[LossCause::kSignalNesting] == 100);
  CHECK(capture.merger.losses().total() == 100);
}

TEST_CASE("threads that died without a word lose their rings once rings are scarce") {
  FakeCapture capture({.rss_interval_ns = 0}, 128, 8);
  const auto image = capture.exec_root();
  std::vector<FakeThread> threads;
  for (std::int32_t i = 0; i < 7; ++i) threads.emplace_back(capture.segment, image, 300 + i);
  threads[2].put(MT_MALLOC, 2000, 1, 8);
  threads[2].set_busy(true);
  capture.probe.dead_threads[{100, 302}] = true;
  capture.time.now = 3000;
  static_cast<void>(capture.take());  // sees that rings are scarce
  capture.time.now += 1'000'000'000;
  static_cast<void>(capture.take());
  CHECK(threads[2].ring().state == MT_STATE_FREE);
  CHECK(threads[3].ring().state == MT_STATE_LIVE);
  CHECK(std::count_if(capture.events.begin(), capture.events.end(),
                      [](const Event& event) { return event.kind == EventKind::kMalloc; }) == 1);
}

TEST_CASE("mappings are told once an image, again after an exec, and not again for a fork") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  const std::string long_path = "/opt/" + std::string(200, 'x') + "/lib.so";
  a.put_mapping(2000, 4096, 8192, 7, "/bin/tool");
  a.put_mapping(2001, 65536, 8192, 8, long_path);
  a.put_mapping(2002, 4096, 8192, 7, "/bin/tool");
  capture.time.now = 2100;
  CHECK(capture.take() == Lines{"100 Mapping 4096 /bin/tool", "100 Mapping 65536 " + long_path});
  capture.probe.start(200);
  const auto child = capture.segment.add_image(MT_ORIGIN_FORK, 200, 100, 2200);
  FakeThread c(capture.segment, child, 200);
  c.put_mapping(2210, 4096, 8192, 7, "/bin/tool");
  capture.time.now = 2300;
  CHECK(capture.take() == Lines{"200 Fork of 100"});
  const auto next = capture.segment.add_image(MT_ORIGIN_EXEC, 200, 100, 2400);
  FakeThread d(capture.segment, next, 200);
  d.put_mapping(2410, 4096, 8192, 7, "/bin/tool");
  capture.time.now = 2500;
  static_cast<void>(capture.take());
  static_cast<void>(capture.take());
  CHECK(capture.events.back().kind == EventKind::kMapping);
  CHECK(capture.events.back().pid == 200);
}

TEST_CASE("a file mapped where another one was in between is told again") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  a.put_mapping(2000, 4096, 8192, 7, "/a");
  a.put_mapping(2001, 8192, 8192, 8, "/b");  // overlaps the end of the first
  a.put_mapping(2002, 4096, 8192, 7, "/a");
  capture.time.now = 2100;
  CHECK(capture.take() == Lines{"100 Mapping 4096 /a", "100 Mapping 8192 /b", "100 Mapping 4096 /a"});
}

TEST_CASE("live processes are looked at now and then") {
  FakeCapture capture({.rss_interval_ns = 1'000'000});
  capture.probe.maps[100] = {{.start = 4096, .len = 4096, .file_offset = 0, .dev = 1, .ino = 5, .path = "/bin/x"}};
  capture.probe.memory[100] = {.file_bytes = 10, .anon_bytes = 20, .shmem_bytes = 0};
  static_cast<void>(capture.segment.add_image(MT_ORIGIN_EXEC, 100, 1, 1100));
  capture.time.now = 1200;
  CHECK(capture.take() == Lines{"100 Exec"});
  capture.time.now = 1300;
  CHECK(capture.take() == Lines{"100 Mapping 4096 /bin/x", "100 Rss 0 10", "100 Rss 1 20", "100 Rss 3 0"});
  capture.probe.memory[100].anon_bytes = 30;
  capture.time.now += 2'000'000;
  static_cast<void>(capture.take());
  capture.time.now += 10;
  static_cast<void>(capture.take());
  CHECK(FakeCapture::text(capture.events.back(), EventBatch(1)) == "100 Rss 1 30");
  const std::size_t count = capture.events.size();
  capture.time.now += 2'000'000;
  static_cast<void>(capture.take());
  capture.time.now += 10;
  static_cast<void>(capture.take());
  CHECK(capture.events.size() == count);  // nothing changed
}

TEST_CASE("what is published at the end is taken, whoever still runs, and the survivors are named") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  FakeThread b(capture.segment, image, 101);
  a.put(MT_MALLOC, 2000, 1, 8);
  a.set_busy(true);
  b.put(MT_MALLOC, 2100, 2, 8);
  b.put(MT_REALLOC_BEGIN, 2200, 2, 8);
  capture.probe.start(200);
  static_cast<void>(capture.segment.add_image(MT_ORIGIN_FORK, 200, 100, 2050));
  capture.time.now = 3000;
  CHECK(capture.take() == Lines{"100 Malloc 1 8"});
  capture.merger.finish();
  CHECK(capture.take() == Lines{"200 Fork of 100", "100 Malloc 2 8"});
  const auto survivors = capture.merger.survivors();
  REQUIRE(survivors.size() == 2);
  CHECK(survivors[1].pid == 200);
  CHECK(survivors[1].name == "name200");
  CHECK(a.ring().state == MT_STATE_LIVE);  // its owner may still look at it
  CHECK_FALSE(capture.merger.root_gone());
}

TEST_CASE("losses of the segment, of live rings and of freed ones add up") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  FakeThread b(capture.segment, image, 101);
  capture.segment.view().header->lost[MT_LOSS_NO_RING] = 5;
  a.ring().lost[MT_LOSS_RING_FULL] = 7;
  b.ring().lost[MT_LOSS_RING_FULL] = 11;
  b.release();
  static_cast<void>(capture.take());
  CHECK(b.ring().state == MT_STATE_FREE);
  CHECK(capture.merger.losses()[LossCause::kNoRing] == 5);
  CHECK(capture.merger.losses()[LossCause::kRingFull] == 18);
}

TEST_CASE("rings and images that go back are the first to be claimed again") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  mt_segment& header = *capture.segment.view().header;
  FakeThread a(capture.segment, image, 100);
  FakeThread b(capture.segment, image, 101);
  FakeThread c(capture.segment, image, 102);
  header.ring_hint = 3;
  header.image_hint = 1;
  CHECK(capture.take().empty());
  c.release();
  CHECK(capture.take().empty());
  CHECK(header.ring_hint == c.index());
  a.release();
  b.release();
  CHECK(capture.take().empty());
  CHECK(header.ring_hint == a.index());
  const auto second = capture.segment.add_image(MT_ORIGIN_EXEC, 100, 1, 2000);
  header.image_hint = second + 1;
  capture.time.now = 3000;
  CHECK(capture.take().empty());
  CHECK(capture.take() == Lines{"100 Exec"});
  CHECK(header.image_hint == image);
}

TEST_CASE("a ring of an image that is claimed while the tracker looks is not taken for nonsense") {
  FakeCapture capture;
  const auto image = capture.exec_root();
  FakeThread a(capture.segment, image, 100);
  FakeThread b(capture.segment, image, 101);
  a.release();
  b.release();
  CHECK(capture.take().empty());  // two rings and one image were ever in use
  capture.probe.start(200);
  capture.probe.start(201);
  const auto child = capture.segment.add_image(MT_ORIGIN_FORK, 200, 100, 2000);
  FakeThread c(capture.segment, child, 200);
  capture.probe.on_watch = [&](std::int32_t pid) {
    if (pid != 200) return;
    const auto sibling = capture.segment.add_image(MT_ORIGIN_FORK, 201, 100, 2010);
    FakeThread d(capture.segment, sibling, 201);
    d.put(MT_MALLOC, 2020, 1, 8);
  };
  capture.time.now = 3000;
  static_cast<void>(capture.take());
  static_cast<void>(capture.take());
  CHECK(capture.merger.losses().total() == 0);
  REQUIRE(capture.events.size() == 4);
  CHECK(capture.events.back().pid == 201);
  CHECK(capture.events.back().kind == EventKind::kMalloc);
}
