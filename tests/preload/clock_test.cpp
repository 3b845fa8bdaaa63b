#include <random>

#include <doctest/doctest.h>

#include "preload/enable_cuts.h"
#include "preload/tick_clock.h"
#include "preload/time_source.h"
#include "tests/support/seed.h"

using namespace memtrack;
using namespace memtrack::preload;

TEST_CASE("a stamp between two anchors gets the time between theirs") {
  TickClock clock;
  clock.add({.ticks = 3'000'000'000, .ns = 1'000'000'000});
  clock.add({.ticks = 6'000'000'000, .ns = 2'000'000'000});
  CHECK(clock.to_ns(3'000'000'000) == 1'000'000'000);
  CHECK(1'500'000'000 - clock.to_ns(4'500'000'000) <= 1);  // rounded down
  CHECK(clock.to_ns(6'000'000'000) == 2'000'000'000);
}

TEST_CASE("stamps outside of the anchors get times that do not run ahead") {
  TickClock clock;
  CHECK(clock.to_ns(5) == 0);
  clock.add({.ticks = 2'000, .ns = 1'000'000'000});
  CHECK(clock.to_ns(5'000) == 1'000'000'000);
  CHECK(clock.to_ns(1'000) == 1'000'000'000);
  clock.add({.ticks = 4'000, .ns = 1'100'000'000});
  CHECK(clock.to_ns(1'000) == 950'000'000);
  CHECK(clock.to_ns(0) == 900'000'000);
  CHECK(clock.to_ns(9'000) == 1'100'000'000);
}

TEST_CASE("an anchor that went back in either clock is ignored") {
  TickClock clock;
  clock.add({.ticks = 1'000, .ns = 1'000'000'000});
  clock.add({.ticks = 900, .ns = 1'100'000'000});
  clock.add({.ticks = 1'100, .ns = 900'000'000});
  CHECK(clock.anchor_count() == 1);
}

TEST_CASE("times never decrease over random stamps while anchors come, and stay near the truth") {
  const std::uint64_t seed = test::test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  constexpr double kTicksPerNs = 2.7;
  TickClock clock;
  std::uint64_t ns = 5'000'000'000;
  std::uint64_t stamp_ns = ns;
  std::uint64_t last = 0;
  const auto ticks_at = [&](std::uint64_t at) {
    return static_cast<std::uint64_t>(static_cast<double>(at) * kTicksPerNs);
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t jitter = random() % 60;  // what the reading of two clocks one after the other costs
    clock.add({.ticks = ticks_at(ns), .ns = ns + jitter});
    for (int j = 0; j < 5; ++j) {
      stamp_ns += random() % ((ns - stamp_ns) / 3 + 1);
      const std::uint64_t time = std::max(last, clock.to_ns(ticks_at(stamp_ns)));
      const auto error = static_cast<std::int64_t>(time - stamp_ns);
      CHECK((error > -100 && error < 200));
      last = time;
    }
    ns += 1'000 + random() % 5'000'000;
  }
  CHECK(clock.anchor_count() <= TickClock::kMaxAnchors);
}

TEST_CASE("ten minutes without an anchor in between stay exact to some nanoseconds") {
  TickClock clock;
  const std::uint64_t minutes = 600'000'000'000;
  clock.add({.ticks = 1'000, .ns = 500});
  clock.add({.ticks = 1'000 + minutes * 3, .ns = 500 + minutes});
  CHECK(clock.to_ns(1'000 + minutes) - 500 <= minutes / 3);
  CHECK(minutes / 3 - (clock.to_ns(1'000 + minutes) - 500) <= 10);
}

TEST_CASE("old anchors thin out and still cover the whole time") {
  TickClock clock;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    clock.add({.ticks = i * 40'000'000, .ns = i * 20'000'000});
  }
  CHECK(clock.anchor_count() <= TickClock::kMaxAnchors);
  for (std::uint64_t i = 0; i < 10'000; i += 97) CHECK(clock.to_ns(i * 40'000'000) == i * 20'000'000);
}

TEST_CASE("the machine's stamps and times agree") {
  for (const mt_clock kind : {best_clock(), MT_CLOCK_MONOTONIC}) {
    MachineTime machine(kind);
    TickClock clock;
    const Anchor first = machine.anchor();
    clock.add(first);
    const std::uint64_t stamp = machine.ticks();
    Anchor second = machine.anchor();
    while (second.ns - first.ns < 1'000'000) second = machine.anchor();
    clock.add(second);
    machine.barrier();
    CHECK(clock.to_ns(stamp) >= first.ns);
    CHECK(clock.to_ns(stamp) <= second.ns);
  }
}

TEST_CASE("cuts tell at which stamps tracking was on") {
  EnableCuts cuts(true);
  CHECK(cuts.on(0));
  CHECK(cuts.on(UINT64_MAX - 1));
  cuts.cut(100, false);
  cuts.cut(200, true);
  cuts.cut(200, true);
  cuts.cut(300, false);
  CHECK(cuts.count() == 4);
  for (const std::uint64_t on : {0u, 99u, 200u, 299u}) CHECK(cuts.on(on));
  for (const std::uint64_t off : {100u, 199u, 300u, 5000u}) CHECK_FALSE(cuts.on(off));
  cuts.forget_before(250);
  CHECK(cuts.count() == 2);
  CHECK(cuts.on(260));
  CHECK_FALSE(cuts.on(300));
  cuts.forget_before(1000);
  CHECK(cuts.count() == 1);
  CHECK_FALSE(cuts.on(2000));
}
