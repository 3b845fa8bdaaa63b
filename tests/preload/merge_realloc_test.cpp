// What pairs of BEGIN and END mean.
#include <doctest/doctest.h>

#include "tests/preload/fake_capture.h"

using namespace memtrack;
using namespace memtrack::test;

namespace {

/// A root with two threads.
struct TwoThreads : FakeCapture {
  std::uint32_t image = exec_root();
  FakeThread a{segment, image, 100};
  FakeThread b{segment, image, 101};

  Lines run() {
    time.now = 9000;
    return take();
  }
};

}  // namespace

TEST_CASE_FIXTURE(TwoThreads, "a realloc in place is one event at its end") {
  a.put(MT_REALLOC_BEGIN, 2000, 5, 77);
  a.put(MT_REALLOC_END, 2010, 5);
  b.put(MT_MALLOC, 2005, 6, 8);
  CHECK(run() == Lines{"100 Malloc 6 8", "100 Realloc 5 -> 5 77"});
  CHECK(events.back().timestamp_ns == 2010);
  CHECK(events.back().tid == 100);
}

TEST_CASE_FIXTURE(TwoThreads, "a failing realloc is no event, one to nothing is a free where it began") {
  a.put(MT_REALLOC_BEGIN, 2000, 5, 77);
  a.put(MT_REALLOC_END, 2010, 0);
  a.put(MT_REALLOC_BEGIN, 2020, 5, 0);
  b.put(MT_MALLOC, 2025, 5, 8);
  a.put(MT_REALLOC_END, 2030, 0);
  CHECK(run() == Lines{"100 Free 5", "100 Malloc 5 8"});
}

TEST_CASE_FIXTURE(TwoThreads, "a realloc to nothing that returns a block is a realloc") {
  a.put(MT_REALLOC_BEGIN, 2000, 5, 0);
  a.put(MT_REALLOC_END, 2010, 6);
  CHECK(run() == Lines{"100 Realloc 5 -> 6 0"});
}

TEST_CASE_FIXTURE(TwoThreads, "a moving realloc comes before the allocation that gets its old address") {
  a.put(MT_REALLOC_BEGIN, 2000, 5, 77);
  b.put(MT_MALLOC, 2004, 6, 8);
  b.put(MT_CALLOC, 2005, 5, 8);
  b.put(MT_MALLOC, 2006, 7, 8);
  a.put(MT_REALLOC_END, 2010, 9);
  CHECK(run() == Lines{"100 Malloc 6 8", "100 Realloc 5 -> 9 77", "100 Calloc 5 8", "100 Malloc 7 8"});
  CHECK(events[2].tid == 100);
  CHECK(events[2].timestamp_ns == 2005);
}

TEST_CASE_FIXTURE(TwoThreads, "every kind of allocation brings a pending realloc out") {
  std::uint64_t ticks = 2000;
  for (const mt_record_kind kind : {MT_MALLOC, MT_CALLOC, MT_ALIGNED_ALLOC, MT_REALLOC_FRESH}) {
    a.put(MT_REALLOC_BEGIN, ticks, 5, 77);
    b.put(kind, ticks + 5, 5, 8);
    a.put(MT_REALLOC_END, ticks + 10, 9);
    time.now = ticks + 100;
    const Lines lines = take();
    CHECK(lines.size() == 2);
    CHECK(lines.front() == "100 Realloc 5 -> 9 77");
    ticks += 1000;
  }
}

TEST_CASE_FIXTURE(TwoThreads, "a free or a mapping at the old address brings nothing out") {
  a.put(MT_REALLOC_BEGIN, 2000, 5, 77);
  b.put(MT_FREE, 2005, 5);
  b.put(MT_MMAP, 2006, 5, 4096);
  a.put(MT_REALLOC_END, 2010, 9);
  CHECK(run() == Lines{"100 Free 5", "100 Mmap 5 4096", "100 Realloc 5 -> 9 77"});
}

TEST_CASE_FIXTURE(TwoThreads, "reallocs that move onto each other's old blocks come out in the order of the moves") {
  FakeThread c(segment, image, 102);
  // a moves 1 away to 2; b moves 3 to 1; c moves 4 to 3. Only the chain c after b after a is possible.
  a.put(MT_REALLOC_BEGIN, 2000, 1, 10);
  b.put(MT_REALLOC_BEGIN, 2001, 3, 30);
  c.put(MT_REALLOC_BEGIN, 2002, 4, 40);
  c.put(MT_REALLOC_END, 2010, 3);
  b.put(MT_REALLOC_END, 2011, 1);
  a.put(MT_REALLOC_END, 2012, 2);
  CHECK(run() == Lines{"100 Realloc 1 -> 2 10", "100 Realloc 3 -> 1 30", "100 Realloc 4 -> 3 40"});
}

TEST_CASE_FIXTURE(TwoThreads, "a pending realloc of another process with the same address stays where it is") {
  probe.start(200);
  const auto other = segment.add_image(MT_ORIGIN_FORK, 200, 100, 1500);
  time.now = 1600;
  CHECK(take() == Lines{"200 Fork of 100"});
  FakeThread c(segment, other, 200);
  a.put(MT_REALLOC_BEGIN, 2000, 5, 77);
  c.put(MT_MALLOC, 2005, 5, 8);
  a.put(MT_REALLOC_END, 2010, 9);
  CHECK(run() == Lines{"200 Malloc 5 8", "100 Realloc 5 -> 9 77"});
}

TEST_CASE_FIXTURE(TwoThreads, "a munmap counts where it began if it succeeded") {
  a.put(MT_MUNMAP_BEGIN, 2000, 4096, 8192);
  b.put(MT_MMAP, 2005, 4096, 8192);
  a.put(MT_MUNMAP_END, 2010, 0, 0);
  a.put(MT_MUNMAP_BEGIN, 2020, 4097, 1);
  a.put(MT_MUNMAP_END, 2030, 0, 1);
  CHECK(run() == Lines{"100 Munmap 4096 8192", "100 Mmap 4096 8192"});
}

TEST_CASE_FIXTURE(TwoThreads, "a mremap is a Munmap where it began and a Mmap where it ended") {
  a.put(MT_MREMAP_BEGIN, 2000, 4096, 4096);
  b.put(MT_MMAP, 2005, 4096, 4096);
  a.put(MT_MREMAP_END, 2010, 65536, 8192);
  a.put(MT_MREMAP_BEGIN, 2020, 65536, 8192);
  a.put(MT_MREMAP_END, 2030, 0, 0);
  a.put(MT_MREMAP_BEGIN, 2040, 65536, 0);
  a.put(MT_MREMAP_END, 2050, 131072, 8192);
  CHECK(run() == Lines{"100 Munmap 4096 4096", "100 Mmap 4096 4096", "100 Mmap 65536 8192", "100 Mmap 131072 8192"});
}

TEST_CASE_FIXTURE(TwoThreads, "of a call that a thread died in only what shows is told") {
  a.put(MT_MALLOC, 1990, 5, 8);
  a.put(MT_MALLOC, 1991, 6, 8);
  a.put(MT_REALLOC_BEGIN, 2000, 5, 77);
  a.release();
  b.put(MT_MUNMAP_BEGIN, 2001, 4096, 4096);
  b.put(MT_MUNMAP_END, 2002, 0, 1);
  b.put(MT_MALLOC, 2005, 5, 8);
  CHECK(run() == Lines{"100 Malloc 5 8", "100 Malloc 6 8", "100 Free 5", "100 Malloc 5 8"});
  CHECK(merger.losses().total() == 0);
}

TEST_CASE_FIXTURE(TwoThreads, "pairs cut by the end of a look come out whole") {
  for (std::uint64_t round = 0; round < 200; ++round) {  // the pair straddles the ring's end in some of them
    const std::uint64_t at = 2000 + round * 100;
    a.put(MT_REALLOC_BEGIN, at, 5, 77);
    time.now = at + 10;
    CHECK(take().empty());
    a.put(MT_REALLOC_END, at + 20, 5);
    time.now = at + 30;
    CHECK(take() == Lines{"100 Realloc 5 -> 5 77"});
  }
  CHECK(merger.losses().total() == 0);
}
