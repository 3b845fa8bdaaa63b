// Reassembler: the parts of many decoders back in file order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "pipeline/read_parts.h"

namespace memtrack::pipeline {

/// Each decoder takes frames in rising order and hands on their parts in order, so the next part of the file is always
/// the front of some decoder's queue: one place a decoder is all that has to be held. What a decoder may be ahead is
/// bounded by its queue, and the decoder of the first frame never waits for another.
/// How to use: while wants(worker), put() the next part of that worker's queue; take_next() as long as it gives one.
/// Threads: one at a time. Bounds: one part a decoder.
class Reassembler {
 public:
  explicit Reassembler(std::size_t workers) : fronts_(workers) {}

  [[nodiscard]] bool wants(std::size_t worker) const { return !fronts_[worker]; }
  /// Precondition: wants(worker).
  void put(std::size_t worker, Part part);
  /// The part next in order, if it is there.
  [[nodiscard]] std::optional<Part> take_next();
  /// All frames with lower numbers have been given.
  [[nodiscard]] std::uint64_t next_seq() const { return next_seq_; }

 private:
  std::vector<std::optional<Part>> fronts_;
  std::uint64_t next_seq_ = 0;
};

}  // namespace memtrack::pipeline
