#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "pipeline/event_mix.h"

namespace memtrack::pipeline {
namespace {

constexpr std::uint64_t kModuleEvery = 3333;
constexpr std::uint64_t kChildLife = 1000;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t kHeapStart = 0x5555'5555'9000;
constexpr std::uint64_t kSmallStride = 528;
constexpr std::uint64_t kLargeStart = 0x7F00'0000'0000;
constexpr std::uint64_t kLargeStride = (1u << 20) + 4096;
constexpr std::array<std::uint64_t, 8> kSmallSizes = {16, 24, 32, 48, 64, 128, 256, 512};

constexpr std::array<std::string_view, 4> kModules = {"/usr/bin/bench", "/usr/lib/x86_64-linux-gnu/libc.so.6",
                                                      "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30",
                                                      "/usr/lib/x86_64-linux-gnu/libm.so.6"};

// One random number an event; each decision takes bits of its own.
constexpr std::uint64_t bits(std::uint64_t random, unsigned first, unsigned count) {
  return (random >> first) & ((std::uint64_t{1} << count) - 1);
}
constexpr std::uint64_t scaled(std::uint64_t random, unsigned first, unsigned count, std::uint64_t bound) {
  return (bits(random, first, count) * bound) >> count;
}

std::uint64_t stack_hash(std::uint64_t number) {
  return SplitMix64(number).next();
}

}  // namespace

RealisticMix::RealisticMix(const SyntheticOptions& options)
    : options_(options), random_(options.seed), module_at_(kModuleEvery) {
  live_.reserve(kMaxLive);
}

std::size_t RealisticMix::make(std::size_t count, std::size_t payload_bytes, bool enabled, EventBatch& out) {
  std::size_t made = 0;
  for (; made < count && out.payload_bytes() < payload_bytes; ++made, ++index_) {
    if (index_ == next_special_) {
      special(out);
    } else if (wants_stack()) {
      define_stack(out);
    } else {
      const Event event = ordinary();
      if (enabled) out.append(event);
    }
  }
  return made;
}

std::uint64_t RealisticMix::address(Block block) {
  return block.large != 0 ? kLargeStart + block.slot * kLargeStride : kHeapStart + block.slot * kSmallStride;
}

RealisticMix::Block RealisticMix::take(bool large) {
  Places& places = places_[large ? 1 : 0];
  std::uint32_t slot = places.fresh;
  if (places.free.empty()) {
    ++places.fresh;
  } else {
    slot = places.free.back();
    places.free.pop_back();
  }
  return Block{.slot = slot & 0x7FFF'FFFF, .large = large ? 1u : 0u};
}

/// Which live block goes: 15 of 16 times a young one, as in most programs (which also keeps the source fast: an old
/// one is a cache miss).
std::size_t RealisticMix::pick(std::uint64_t random) const {
  const std::uint64_t range = bits(random, 59, 4) != 0 ? std::min<std::uint64_t>(live_.size(), 64) : live_.size();
  return live_.size() - 1 - scaled(random, 12, 20, range);
}

Event RealisticMix::next_event(EventKind kind) {
  Event event{};
  event.timestamp_ns = now_ns_;
  event.pid = kSyntheticPid;
  event.tid = tid_;
  event.kind = kind;
  return event;
}

Event RealisticMix::ordinary() {
  const std::uint64_t random = random_.next();
  now_ns_ += 100 + bits(random, 32, 11);
  if (bits(random, 43, 2) == 0 && bits(random, 57, 2) == 0)
    tid_ = kSyntheticPid + static_cast<std::int32_t>(bits(random, 45, 2));
  const std::uint64_t percent = scaled(random, 0, 10, 100);
  if (live_.empty()) return allocation(random);
  if (percent < 48 && live_.size() < kMaxLive) return allocation(random);
  return percent < 90 ? release(random) : reallocation(random);
}

void RealisticMix::set_size_and_stack(Event& event, std::uint64_t size, std::uint64_t random) const {
  event.alloc.size = size;
  if (stacks_ == 0) return;
  event.flags |= Event::kHasStackHash;
  event.alloc.stack_hash = stack_hash(scaled(random, 24, 8, stacks_));
}

Event RealisticMix::allocation(std::uint64_t random) {
  const std::uint64_t choice = bits(random, 47, 4);
  const bool large = scaled(random, 51, 7, 100) < 5;
  const Block block = take(large);
  live_.push_back(block);
  Event event = next_event(choice == 0   ? EventKind::kCalloc
                           : choice == 1 ? EventKind::kAlignedAlloc
                                         : EventKind::kMalloc);
  event.addr = address(block);
  set_size_and_stack(event, large ? 513 + scaled(random, 12, 20, 1u << 20) : kSmallSizes[bits(random, 58, 3)], random);
  return event;
}

Event RealisticMix::release(std::uint64_t random) {
  const std::size_t at = pick(random);
  const Block block = live_[at];
  live_[at] = live_.back();
  live_.pop_back();
  give_back(block);
  Event event = next_event(EventKind::kFree);
  event.addr = address(block);
  return event;
}

/// Half of them stay in place, half move.
Event RealisticMix::reallocation(std::uint64_t random) {
  const std::size_t at = pick(random);
  const Block old = live_[at];
  if (bits(random, 47, 1) != 0) {
    live_[at] = take(old.large != 0);
    give_back(old);
  }
  Event event = next_event(EventKind::kRealloc);
  event.flags = Event::kHasOldAddr;
  event.addr = address(live_[at]);
  event.alloc.old_addr = address(old);
  const bool large = old.large != 0;
  set_size_and_stack(event, large ? 513 + scaled(random, 12, 20, 1u << 20) : kSmallSizes[bits(random, 58, 3)], random);
  return event;
}

/// The root's Exec comes first and its Exit last; in between module events, and children that live for a while.
void RealisticMix::special(EventBatch& out) {
  const std::uint64_t last = options_.events - 1;
  now_ns_ += 1000;
  Event event = next_event(EventKind::kExec);
  if (index_ == 0) {
    event.tid = event.pid;
    out.append(event);
  } else if (index_ == last) {
    event.kind = EventKind::kExit;
    event.tid = event.pid;
    out.append(event);
  } else if (index_ == child_exec_at_ || index_ == child_exit_at_) {
    if (index_ == child_exit_at_) event.kind = EventKind::kExit;
    event.pid = event.tid = child_;
    out.append(event);
  } else {
    module_event(out);
    module_at_ += kModuleEvery;
  }
  next_special_ = kNever;
  for (const std::uint64_t at : {last, child_exec_at_, child_exit_at_, module_at_}) {
    if (at > index_) next_special_ = std::min(next_special_, at);
  }
}

void RealisticMix::module_event(EventBatch& out) {
  const std::uint64_t number = modules_++;
  Event event = next_event(EventKind::kMapping);
  if (number % 3 == 2 && index_ + 3 < options_.events) {
    event.kind = EventKind::kFork;
    event.pid = event.tid = ++child_;
    event.fork.parent_pid = kSyntheticPid;
    child_exec_at_ = index_ + 1;
    child_exit_at_ = std::min(index_ + kChildLife, options_.events - 2);
    out.append(event);
    return;
  }
  event.addr = 0x7F80'0000'0000 + number * 0x60'0000;
  event.mapping = {.dev = 8u << 20 | 1,
                   .ino = 1000 + number % kModules.size(),
                   .file_offset = number % 64 * 4096,
                   .len = (1 + number % 500) * 4096};
  out.append_mapping(event, kModules[number % kModules.size()]);
}

void RealisticMix::define_stack(EventBatch& out) {
  const std::uint64_t hash = stack_hash(stacks_++);
  SplitMix64 content(hash);
  Event event = next_event(EventKind::kStack);
  event.stack.hash = hash;
  event.stack.sp = 0x7FFD'0000'0000 + (content.next() & 0xF'FFF0);
  std::array<std::uint64_t, 17> registers;
  std::array<std::uint64_t, 32> chain;
  std::array<std::uint64_t, 64> memory;
  for (std::uint64_t& value : registers) value = content.next() >> (content.next() % 64);
  for (std::uint64_t& value : chain) value = kHeapStart + (content.next() & 0xF'FFFF);
  for (std::uint64_t& value : memory) value = content.next() >> (content.next() % 64);
  out.append_stack(event, {.regs = registers,
                           .bytes = std::as_bytes(std::span(memory)),
                           .fp_chain = std::span(chain).first(4 + content.below(28))});
}

}  // namespace memtrack::pipeline
