// Random programs with a true order, seen only through their rings: what comes out must be a possible history, whole.
#include <algorithm>
#include <map>
#include <random>

#include <doctest/doctest.h>

#include "tests/preload/fake_capture.h"
#include "tests/support/history.h"
#include "tests/support/seed.h"

using namespace memtrack;
using namespace memtrack::test;

namespace {

/// A heap with few addresses, so that each is used again at once, and threads that are interrupted between any two
/// steps of a call: stamp, publish, the real call.
class Model {
 public:
  Model(FakeCapture& capture, std::uint32_t image, std::int32_t pid, std::uint64_t seed, std::size_t thread_count)
      : capture_(capture), random_(seed) {
    for (std::uint64_t address = 1; address <= 12; ++address) free_.push_back(address);
    for (std::size_t i = 0; i < thread_count; ++i) {
      threads_.push_back({.shim = FakeThread(capture.segment, image, pid + static_cast<std::int32_t>(i))});
    }
  }

  /// One step of one thread.
  void step() {
    capture_.time.now += random_() % 3;  // equal stamps happen
    Thread& thread = threads_[random_() % threads_.size()];
    switch (thread.state) {
      case Thread::State::kIdle:
        return begin(thread);
      case Thread::State::kFreeStamped:
        publish(thread, {.ticks = thread.stamp, .addr = thread.address, .value = 0, .kind = MT_FREE});
        thread.state = Thread::State::kFreePublished;
        return;
      case Thread::State::kFreePublished:
        free_.push_back(thread.address);
        thread.state = Thread::State::kIdle;
        return;
      case Thread::State::kMallocDone:
        thread.stamp = capture_.time.now;
        thread.shim.set_busy(true);
        thread.state = Thread::State::kMallocStamped;
        return;
      case Thread::State::kMallocStamped:
        publish(thread, {.ticks = thread.stamp, .addr = thread.address, .value = 8, .kind = MT_MALLOC});
        live_.push_back(thread.address);  // only now can the program free it
        thread.state = Thread::State::kIdle;
        return;
      default:
        return step_realloc(thread);
    }
  }
  [[nodiscard]] bool idle() const {
    return std::all_of(threads_.begin(), threads_.end(),
                       [](const Thread& thread) { return thread.state == Thread::State::kIdle; });
  }
  [[nodiscard]] std::uint64_t published() const { return published_; }
  [[nodiscard]] std::vector<std::uint64_t> live() const { return live_; }
  void stop_new_calls() { stopping_ = true; }

 private:
  struct Thread {
    enum class State : std::uint8_t {
      kIdle,
      kFreeStamped,
      kFreePublished,
      kMallocDone,
      kMallocStamped,
      kReallocStamped,
      kReallocBegun,
      kReallocMoved,
      kReallocDone,
      kReallocEndStamped,
    };
    FakeThread shim;
    State state = State::kIdle;
    std::uint64_t stamp = 0;
    std::uint64_t address = 0;
    std::uint64_t result = 0;
    std::uint64_t size = 0;
  };
  struct Slot {
    std::uint64_t ticks;
    std::uint64_t addr;
    std::uint64_t value;
    mt_record_kind kind;
  };

  std::uint64_t take(std::vector<std::uint64_t>& from) {
    const std::size_t at = random_() % from.size();
    const std::uint64_t address = from[at];
    from[at] = from.back();
    from.pop_back();
    return address;
  }

  void publish(Thread& thread, const Slot& slot) {
    thread.shim.put(slot.kind, slot.ticks, slot.addr, slot.value);
    thread.shim.set_busy(false);
    ++published_;
  }

  void begin(Thread& thread) {
    if (stopping_ || thread.shim.room() < 4) return;
    const std::uint64_t choice = random_() % 10;
    if (choice < 4) {
      if (free_.empty()) return;
      thread.address = take(free_);  // the real call comes before the stamp
      thread.state = Thread::State::kMallocDone;
    } else if (!live_.empty()) {
      ++capture_.time.now;  // the block was handed over from one thread to another meanwhile
      thread.address = take(live_);
      thread.size = choice == 9 ? 0 : 100;
      thread.stamp = capture_.time.now;
      thread.shim.set_busy(true);
      thread.state = choice < 7 ? Thread::State::kFreeStamped : Thread::State::kReallocStamped;
    }
  }

  void step_realloc(Thread& thread) {
    switch (thread.state) {
      case Thread::State::kReallocStamped:
        publish(thread, {thread.stamp, thread.address, thread.size, MT_REALLOC_BEGIN});
        thread.state = Thread::State::kReallocBegun;
        return;
      case Thread::State::kReallocBegun:  // the real call takes the new block first and frees the old one later
        thread.result = 0;
        if (thread.size != 0) thread.result = random_() % 2 == 0 || free_.empty() ? thread.address : take(free_);
        thread.state = Thread::State::kReallocMoved;
        return;
      case Thread::State::kReallocMoved:
        if (thread.size != 0 && random_() % 8 == 0 && thread.result != thread.address) {
          free_.push_back(thread.result);  // it fails after all
          thread.result = 0;
        } else if (thread.result != thread.address) {
          free_.push_back(thread.address);
        }
        thread.state = Thread::State::kReallocDone;
        return;
      case Thread::State::kReallocDone:
        thread.stamp = capture_.time.now;
        thread.shim.set_busy(true);
        thread.state = Thread::State::kReallocEndStamped;
        return;
      default:
        publish(thread, {thread.stamp, thread.result, 0, MT_REALLOC_END});
        if (thread.result != 0) live_.push_back(thread.result);
        if (thread.result == 0 && thread.size != 0) live_.push_back(thread.address);
        thread.state = Thread::State::kIdle;
        return;
    }
  }

  FakeCapture& capture_;
  std::mt19937_64 random_;
  std::vector<Thread> threads_;
  std::vector<std::uint64_t> free_;
  std::vector<std::uint64_t> live_;
  std::uint64_t published_ = 0;
  bool stopping_ = false;
};

void check_history(const FakeCapture& capture) {
  HistoryChecker checker({.tolerate_inherited = false});
  for (const Event& event : capture.events) checker.add(event);
  CHECK_MESSAGE(checker.violation_count() == 0, checker.report());
}

}  // namespace

TEST_CASE("random threads with random interruptions give a possible history, whenever one looks") {
  const std::uint64_t seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (int run = 0; run < 150; ++run) {
    FakeCapture capture;
    const auto image = capture.exec_root();
    Model model(capture, image, FakeCapture::kRoot, random(), 1 + random() % 6);
    // Within a sweep, too: threads go on between the low water and the look.
    capture.time.on_barrier = [&] {
      for (std::uint64_t i = random() % 4; i > 0; --i) model.step();
    };
    for (int i = 0; i < 3'000; ++i) {
      model.step();
      if (random() % 20 == 0) static_cast<void>(capture.take(1 + random() % 30));
    }
    model.stop_new_calls();
    while (!model.idle()) model.step();
    capture.time.on_barrier = [] {};
    capture.time.now += 100;
    static_cast<void>(capture.take());
    check_history(capture);
    CHECK(capture.merger.losses().total() == 0);

    // Whole: what is live in the end is what the model holds.
    HistoryChecker checker;
    for (const Event& event : capture.events) checker.add(event);
    CHECK(checker.live_blocks(FakeCapture::kRoot) == model.live().size());
  }
}

TEST_CASE("killed in the middle of anything, the history is still possible") {
  const std::uint64_t seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (int run = 0; run < 300; ++run) {
    FakeCapture capture;
    const auto image = capture.exec_root();
    Model model(capture, image, FakeCapture::kRoot, random(), 1 + random() % 6);
    for (std::uint64_t i = random() % 400; i > 0; --i) {
      model.step();
      if (random() % 50 == 0) static_cast<void>(capture.take(1 + random() % 30));
    }
    capture.probe.end(FakeCapture::kRoot);
    capture.time.now += 100;
    static_cast<void>(capture.take());
    check_history(capture);
    CHECK(capture.merger.all_gone());
    CHECK(capture.merger.losses().total() == 0);
    for (std::uint32_t ring = 0; ring < 16; ++ring) CHECK(capture.segment.ring(ring).state == MT_STATE_FREE);
  }
}

TEST_CASE("two processes with the same addresses do not disturb each other") {
  const std::uint64_t seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (int run = 0; run < 50; ++run) {
    FakeCapture capture;
    const auto image = capture.exec_root();
    capture.probe.start(500);
    const auto other = capture.segment.add_image(MT_ORIGIN_EXEC, 500, FakeCapture::kRoot, capture.time.now);
    capture.time.now += 10;
    Model first(capture, image, FakeCapture::kRoot, random(), 3);
    Model second(capture, other, 500, random(), 3);
    for (int i = 0; i < 2'000; ++i) {
      (random() % 2 == 0 ? first : second).step();
      if (random() % 20 == 0) static_cast<void>(capture.take(1 + random() % 30));
    }
    capture.merger.finish();
    static_cast<void>(capture.take());
    check_history(capture);
  }
}
