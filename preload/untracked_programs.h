// UntrackedPrograms: names the programs of the tree that never attached, and why; and allocators that pass the shim by.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "preload/segment.h"

namespace memtrack::preload {

/// Takes the shim's notices (struct mt_notice) out of the segment and waits for an image to answer each.
///
/// Use: collect() at each sweep, answer() for each image, notes() at the end of the capture.
/// Bounds: kMaxPending notices, kMaxPrograms programs, kMaxNotes allocators; what is beyond is counted without a name.
/// Threads: one.
class UntrackedPrograms {
 public:
  static constexpr std::size_t kMaxPending = 4096;
  static constexpr std::size_t kMaxPrograms = 256;
  static constexpr std::size_t kMaxNotes = 12;
  static constexpr std::size_t kMaxAnswers = 16'384;
  /// A program that has not attached in this time never will.
  static constexpr std::uint64_t kPatienceNs = 10'000'000'000;

  explicit UntrackedPrograms(const SegmentView& segment) : segment_(segment) {}

  void collect(std::uint64_t now_ns);
  [[nodiscard]] bool has_news() const;
  /// An image of `pid` was born at `ticks`: that program is tracked.
  void answer(std::int32_t pid, std::uint64_t ticks);
  /// Sentences, those with most processes first. What is pending counts as never attached.
  [[nodiscard]] std::vector<std::string> notes();

 private:
  struct Pending {
    std::int32_t pid = 0;
    std::uint64_t ticks = 0;
    std::uint64_t found_ns = 0;
    std::uint32_t uid = 0;
    std::uint32_t flags = 0;
    std::string path = {};
  };
  struct Program {
    std::uint64_t processes = 0;
    std::uint32_t uid = 0;
  };

  void take(mt_notice& notice, std::uint64_t now_ns);
  void sort_in(std::uint32_t kind, Pending pending);
  [[nodiscard]] bool answered(const Pending& pending) const;
  void never_attached(const Pending& pending);
  void bypassed(const Pending& pending);
  void add_bypasses(std::vector<std::string>& notes) const;

  SegmentView segment_;
  std::deque<Pending> pending_;                                              // by age
  std::map<std::pair<std::string, std::uint32_t>, Program> programs_;        // by path and flags
  std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> bypasses_;  // processes, by path and enum mt_bypass
  std::uint64_t unnamed_ = 0;
  std::uint64_t unnamed_bypasses_ = 0;
  // Stamps of the latest image of each process; of two generations the older one is dropped when the other is full.
  std::unordered_map<std::int32_t, std::uint64_t> answers_;
  std::unordered_map<std::int32_t, std::uint64_t> old_answers_;
};

}  // namespace memtrack::preload
