#include "tools/live_blocks.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace memtrack::tools {
namespace {

constexpr std::size_t kFirstSlots = 64;
constexpr std::uint64_t kLargestSize = std::numeric_limits<std::uint64_t>::max() - 1;

}  // namespace

// Fibonacci hashing: the high bits of the product are well mixed though addresses end in the same few bits.
std::size_t LiveBlocks::home(std::uint64_t addr) const {
  const int bits = std::countr_zero(slots_.size());
  return static_cast<std::size_t>((addr * 0x9E3779B97F4A7C15ull) >> (64 - bits));
}

// The slot of `addr`, or the empty one where it would go. Precondition: there is an empty slot.
std::size_t LiveBlocks::find(std::uint64_t addr) const {
  std::size_t i = home(addr);
  while (slots_[i].size_plus_one != 0 && slots_[i].addr != addr) i = (i + 1) & (slots_.size() - 1);
  return i;
}

std::optional<std::uint64_t> LiveBlocks::insert(std::uint64_t addr, std::uint64_t size) {
  if (count_ * 4 >= slots_.size() * 3) grow();
  Slot& slot = slots_[find(addr)];
  const std::uint64_t before = std::exchange(slot.size_plus_one, std::min(size, kLargestSize) + 1);
  slot.addr = addr;
  if (before != 0) return before - 1;
  ++count_;
  return std::nullopt;
}

std::optional<std::uint64_t> LiveBlocks::erase(std::uint64_t addr) {
  if (count_ == 0) return std::nullopt;
  std::size_t hole = find(addr);
  const std::uint64_t before = slots_[hole].size_plus_one;
  if (before == 0) return std::nullopt;
  // Close the gap: a later slot of the same run moves into the hole if its home does not lie behind the hole.
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = (hole + 1) & mask; slots_[i].size_plus_one != 0; i = (i + 1) & mask) {
    const std::size_t from_home = (i - home(slots_[i].addr)) & mask;
    const std::size_t from_hole = (i - hole) & mask;
    if (from_home < from_hole) continue;
    slots_[hole] = slots_[i];
    hole = i;
  }
  slots_[hole] = Slot{};
  --count_;
  return before - 1;
}

void LiveBlocks::clear() {
  slots_.clear();
  slots_.shrink_to_fit();
  count_ = 0;
}

void LiveBlocks::grow() {
  std::vector<Slot> old(slots_.empty() ? kFirstSlots : slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.size_plus_one != 0) slots_[find(slot.addr)] = slot;
  }
}

}  // namespace memtrack::tools
