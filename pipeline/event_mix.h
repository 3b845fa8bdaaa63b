// Internal to the synthetic source: what makes the events of each mix.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "codec/event_batch.h"
#include "pipeline/random.h"
#include "pipeline/synthetic_source.h"

namespace memtrack::pipeline {

inline constexpr std::int32_t kSyntheticPid = 4242;

/// Whether switched-off tracking leaves this kind out: everything but process events and stack definitions.
[[nodiscard]] constexpr bool is_switched_kind(EventKind kind) {
  return kind != EventKind::kFork && kind != EventKind::kExec && kind != EventKind::kExit &&
         kind != EventKind::kMapping && kind != EventKind::kRss && kind != EventKind::kStack;
}

/// An endless row of events, made in order.
class EventMix {
 public:
  virtual ~EventMix() = default;
  /// Makes up to `count` events, fewer where the payload passes `payload_bytes`; returns how many. Appends them to
  /// `out`, those of switched kinds only if `enabled`.
  virtual std::size_t make(std::size_t count, std::size_t payload_bytes, bool enabled, EventBatch& out) = 0;
};

/// SyntheticMix::kRealistic. O(1) an event; holds at most kMaxLive blocks.
class RealisticMix final : public EventMix {
 public:
  explicit RealisticMix(const SyntheticOptions& options);
  std::size_t make(std::size_t count, std::size_t payload_bytes, bool enabled, EventBatch& out) override;

 private:
  static constexpr std::size_t kMaxLive = 65'536;
  static constexpr std::uint32_t kStacks = 256;

  /// A block's place; its address follows from it.
  struct Block {
    std::uint32_t slot : 31;
    std::uint32_t large : 1;
  };
  /// Places of one size class: those given back are used again first, as an allocator does.
  struct Places {
    std::vector<std::uint32_t> free = {};
    std::uint32_t fresh = 0;
  };

  static std::uint64_t address(Block block);
  [[nodiscard]] Block take(bool large);
  void give_back(Block block) { places_[block.large].free.push_back(block.slot); }
  [[nodiscard]] std::size_t pick(std::uint64_t random) const;

  Event next_event(EventKind kind);
  Event ordinary();
  Event allocation(std::uint64_t random);
  Event release(std::uint64_t random);
  Event reallocation(std::uint64_t random);
  void set_size_and_stack(Event& event, std::uint64_t size, std::uint64_t random) const;
  void special(EventBatch& out);
  void module_event(EventBatch& out);
  void define_stack(EventBatch& out);
  [[nodiscard]] bool wants_stack() const { return options_.stack_hashes && stacks_ < kStacks && index_ % 64 == 1; }

  const SyntheticOptions options_;
  SplitMix64 random_;
  std::uint64_t index_ = 0;         // of the next event
  std::uint64_t next_special_ = 0;  // index of the next process or module event
  std::uint64_t module_at_;
  std::uint64_t child_exec_at_ = 0;
  std::uint64_t child_exit_at_ = 0;
  std::uint64_t modules_ = 0;
  std::int32_t child_ = kSyntheticPid + 100;
  std::uint64_t now_ns_ = 1'700'000'000'000'000'000;
  std::int32_t tid_ = kSyntheticPid;
  std::uint32_t stacks_ = 0;  // defined so far
  std::vector<Block> live_;
  std::array<Places, 2> places_ = {};
};

/// SyntheticMix::kUniform.
class UniformMix final : public EventMix {
 public:
  explicit UniformMix(const SyntheticOptions& options) : stack_hashes_(options.stack_hashes), random_(options.seed) {}
  std::size_t make(std::size_t count, std::size_t payload_bytes, bool enabled, EventBatch& out) override;

 private:
  std::uint64_t number();
  std::int32_t number32() { return static_cast<std::int32_t>(static_cast<std::uint32_t>(number())); }
  void set_fields(Event& event);
  void append_mapping(const Event& event, EventBatch& out);
  void append_stack(const Event& event, EventBatch& out);

  const bool stack_hashes_;
  SplitMix64 random_;
};

}  // namespace memtrack::pipeline
