// LiveBlocks: the heap blocks of one process at a moment, as compact as it gets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace memtrack::tools {

/// A hash table from address to size: 16 bytes a slot, at most three quarters full, no allocation a block.
/// Bounds: grows with the blocks that are live at once, not with events. One thread.
class LiveBlocks {
 public:
  /// The size of the block that stood at this address before, if one did.
  std::optional<std::uint64_t> insert(std::uint64_t addr, std::uint64_t size);
  /// The size of the block that is gone; nothing where there was none.
  std::optional<std::uint64_t> erase(std::uint64_t addr);
  void clear();
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  struct Slot {
    std::uint64_t addr = 0;
    std::uint64_t size_plus_one = 0;  // 0: empty
  };
  [[nodiscard]] std::size_t home(std::uint64_t addr) const;
  [[nodiscard]] std::size_t find(std::uint64_t addr) const;
  void grow();

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace memtrack::tools
