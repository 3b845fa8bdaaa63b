// The protocol of BoundedQueue and its doorbells as state machines, run through every interleaving of their atomic
// steps. Stress tests pass even with a wrong protocol (the window is a few nanoseconds); this one can't.
#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include <doctest/doctest.h>

namespace memtrack::pipeline {
namespace {

enum class Variant {
  kCorrect,
  kPlainStoreArm,   // arm() is a plain store: it may reach memory after the second look
  kNoSecondLook,    // a waiter sleeps right after arming
  kRingBeforeItem,  // a producer rings before it publishes
  kNoDrainedRing,   // the pop that drains a closed queue rings nobody
};

enum Step : std::uint8_t {
  kTry,  // take credits, or claim an item
  kPublish,
  kRingWork,  // `at` counts the bells
  kRingRoom,
  kRingDrained,
  kCheckDrained,
  kArm,
  kLook,
  kLookDrained,
  kDisarm,
  kSleep,
  kClose,
  kEnd
};

struct Actor {
  std::uint8_t step = kTry;
  std::uint8_t at = 0;
  std::uint8_t left = 0;       // items to push
  bool drained = false;        // what its own pop left
  bool armed = false;          // its bell, as others see it
  bool arm_in_buffer = false;  // a plain store that is not visible yet
  std::uint8_t rings = 0;      // not yet heard
  bool operator==(const Actor&) const = default;
};

struct State {
  std::uint8_t reserved = 0;
  std::uint8_t published = 0;
  bool closed = false;
  std::array<Actor, 2> producers = {};
  std::array<Actor, 2> consumers = {};
  Actor closer = {};
  bool operator==(const State&) const = default;
};

static_assert(std::has_unique_object_representations_v<State>);
struct StateHash {
  std::size_t operator()(const State& state) const {
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(&state), sizeof(state)});
  }
};

struct Shape {
  std::uint8_t producers;
  std::uint8_t consumers;
  std::uint8_t items_each;
  std::uint8_t capacity;
  bool close;
};

class Model {
 public:
  Model(const Shape& shape, Variant variant) : shape_(shape), variant_(variant) {}

  /// Walks all interleavings; true if some end has a waiter that nobody will wake though it has something to do.
  bool loses_a_wake_up() {
    State first;
    for (std::uint8_t i = 0; i < 2; ++i) {
      first.producers[i].left = shape_.items_each;
      if (i >= shape_.producers) first.producers[i].step = kEnd;
      first.consumers[i].armed = i < shape_.consumers;
      if (i >= shape_.consumers) first.consumers[i].step = kEnd;
    }
    first.closer.step = shape_.close ? kClose : kEnd;
    std::vector<State> todo{first};
    seen_.insert(first);
    bool lost = false;
    while (!todo.empty()) {
      const State state = todo.back();
      todo.pop_back();
      if (!expand(state, todo)) lost = lost || is_lost(state);
    }
    return lost;
  }
  [[nodiscard]] std::size_t states() const { return seen_.size(); }

 private:
  bool expand(const State& state, std::vector<State>& todo) {
    bool moved = false;
    const auto consider = [&](auto&& member, bool (Model::*step)(State&, Actor&)) {
      State next = state;
      if (!(this->*step)(next, member(next))) return;
      moved = true;
      if (seen_.insert(next).second) todo.push_back(next);
    };
    for (std::size_t i = 0; i < 2; ++i) {
      const auto producer = [i](State& s) -> Actor& { return s.producers[i]; };
      const auto consumer = [i](State& s) -> Actor& { return s.consumers[i]; };
      consider(producer, &Model::step_producer);
      consider(consumer, &Model::step_consumer);
      consider(producer, &Model::flush_store);
      consider(consumer, &Model::flush_store);
    }
    consider([](State& s) -> Actor& { return s.closer; }, &Model::step_closer);
    return moved;
  }

  bool is_lost(const State& state) const {
    bool all_ended = true;
    bool producers_ended = true;
    for (const Actor& actor : state.producers) producers_ended = producers_ended && actor.step == kEnd;
    for (const Actor& actor : state.consumers) all_ended = all_ended && actor.step == kEnd;
    if (shape_.close) return !producers_ended || !all_ended;
    return !producers_ended || state.published != 0;  // without close, consumers sleep in the end
  }

  bool drained(const State& s) const { return s.closed && s.reserved == 0; }

  bool flush_store(State&, Actor& me) {
    if (!me.arm_in_buffer) return false;
    me.arm_in_buffer = false;
    me.armed = true;
    return true;
  }
  void arm(Actor& me) const {
    if (variant_ == Variant::kPlainStoreArm) {
      me.arm_in_buffer = true;
    } else {
      me.armed = true;
    }
    me.step = variant_ == Variant::kNoSecondLook ? kSleep : kLook;
  }
  static bool ring(Actor& other) {
    if (!other.armed) return false;
    other.armed = false;
    ++other.rings;
    return true;
  }
  /// Steps that are the same on both sides; false where this one is none of them or can't go on.
  bool step_waiting(Actor& me) const {
    switch (me.step) {
      case kArm:
        arm(me);
        return true;
      case kDisarm:
        me.arm_in_buffer = false;
        me.armed = false;
        me.step = kTry;
        return true;
      case kSleep:
        if (me.rings == 0) return false;
        --me.rings;
        me.step = kTry;
        return true;
      default:
        return false;
    }
  }
  static void go(Actor& me, Step step) {
    me.step = step;
    me.at = 0;
  }
  static void pushed(Actor& me) { go(me, --me.left == 0 ? kEnd : kTry); }

  bool step_producer(State& s, Actor& me) {
    const bool room = s.reserved < shape_.capacity;
    switch (me.step) {
      case kTry:
        if (s.closed) {
          go(me, kEnd);
        } else if (!room) {
          go(me, kArm);
        } else {
          ++s.reserved;
          go(me, variant_ == Variant::kRingBeforeItem ? kRingWork : kPublish);
        }
        return true;
      case kPublish:
        ++s.published;
        if (variant_ == Variant::kRingBeforeItem) {
          pushed(me);
        } else {
          go(me, kRingWork);
        }
        return true;
      case kRingWork:
        if (!ring(s.consumers[me.at]) && ++me.at < shape_.consumers) return true;
        if (variant_ == Variant::kRingBeforeItem) {
          go(me, kPublish);
        } else {
          pushed(me);
        }
        return true;
      case kLook:
        me.step = s.closed || room ? kDisarm : kSleep;
        return true;
      default:
        return step_waiting(me);
    }
  }

  bool step_consumer(State& s, Actor& me) {
    switch (me.step) {
      case kTry:
        me.step = s.published > 0 ? kPublish : kCheckDrained;
        if (s.published > 0) --s.published;
        return true;
      case kPublish:  // it has dequeued, and gives the credits back
        --s.reserved;
        me.drained = drained(s) && variant_ != Variant::kNoDrainedRing;
        go(me, kRingRoom);
        return true;
      case kRingRoom:
        ring(s.producers[me.at]);
        if (++me.at == shape_.producers) go(me, me.drained ? kRingDrained : kTry);
        return true;
      case kRingDrained:
        ring(s.consumers[me.at]);
        if (++me.at == shape_.consumers) go(me, kTry);
        return true;
      case kCheckDrained:
        go(me, drained(s) ? kEnd : kArm);
        return true;
      case kLook:
        me.step = s.published > 0 ? kDisarm : kLookDrained;
        return true;
      case kLookDrained:
        me.step = drained(s) ? kDisarm : kSleep;
        return true;
      default:
        return step_waiting(me);
    }
  }

  bool step_closer(State& s, Actor& me) {
    switch (me.step) {
      case kClose:
        s.closed = true;
        go(me, kRingWork);
        return true;
      case kRingWork:
        ring(s.consumers[me.at]);
        if (++me.at == shape_.consumers) go(me, kRingRoom);
        return true;
      case kRingRoom:
        ring(s.producers[me.at]);
        if (++me.at == shape_.producers) go(me, kEnd);
        return true;
      default:
        return false;
    }
  }

  const Shape shape_;
  const Variant variant_;
  std::unordered_set<State, StateHash> seen_;
};

constexpr Shape kShapes[] = {
    {.producers = 1, .consumers = 1, .items_each = 3, .capacity = 1, .close = false},
    {.producers = 1, .consumers = 1, .items_each = 3, .capacity = 2, .close = true},
    {.producers = 2, .consumers = 1, .items_each = 2, .capacity = 1, .close = false},
    {.producers = 1, .consumers = 2, .items_each = 2, .capacity = 1, .close = true},
    {.producers = 1, .consumers = 2, .items_each = 3, .capacity = 2, .close = false},
    {.producers = 2, .consumers = 2, .items_each = 1, .capacity = 1, .close = false},
    {.producers = 2, .consumers = 1, .items_each = 1, .capacity = 1, .close = true},
};

bool some_shape_loses(Variant variant) {
  for (const Shape& shape : kShapes) {
    if (Model(shape, variant).loses_a_wake_up()) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("no interleaving of the doorbell protocol loses a wake-up") {
  for (const Shape& shape : kShapes) {
    Model model(shape, Variant::kCorrect);
    CHECK_FALSE(model.loses_a_wake_up());
    CHECK(model.states() > 100);
  }
}

TEST_CASE("the model finds what a weaker protocol would lose") {
  CHECK(some_shape_loses(Variant::kPlainStoreArm));
  CHECK(some_shape_loses(Variant::kNoSecondLook));
  CHECK(some_shape_loses(Variant::kRingBeforeItem));
  CHECK(some_shape_loses(Variant::kNoDrainedRing));
}

}  // namespace memtrack::pipeline
