// ReallocLedger: moving reallocs of a process that have begun and are not emitted yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace memtrack::preload {

/// A moving realloc frees its old block somewhere between its BEGIN and its END. Its event comes at END's place, unless
/// the old address is handed out again before: then just before that.
///
/// Bounds: kMaxEntries (one a thread is the most that a sane process has); then the oldest goes.
class ReallocLedger {
 public:
  static constexpr std::size_t kMaxEntries = 1024;
  struct Entry {
    std::uint64_t old_addr = 0;
    std::uint64_t addr = 0;
    std::uint64_t size = 0;
    std::int32_t tid = 0;
    bool finished = true;  ///< false: the call never came back, so all that is known is that old_addr may be free
  };

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  void add(const Entry& entry) {
    if (entries_.size() >= kMaxEntries) entries_.erase(entries_.begin());
    entries_.push_back(entry);
  }
  /// Takes out the entry whose old address is `old_addr`.
  [[nodiscard]] std::optional<Entry> take(std::uint64_t old_addr) {
    for (Entry& entry : entries_) {
      if (entry.old_addr == old_addr) return remove(entry);
    }
    return std::nullopt;
  }
  /// Takes out the entry that thread `tid` began for `old_addr`; nothing where it has been emitted already.
  [[nodiscard]] std::optional<Entry> take(std::uint64_t old_addr, std::int32_t tid) {
    for (Entry& entry : entries_) {
      if (entry.old_addr == old_addr && entry.tid == tid) return remove(entry);
    }
    return std::nullopt;
  }
  void clear() { entries_.clear(); }

 private:
  Entry remove(Entry& entry) {
    const Entry taken = entry;
    entry = entries_.back();
    entries_.pop_back();
    return taken;
  }

  std::vector<Entry> entries_;
};

}  // namespace memtrack::preload
