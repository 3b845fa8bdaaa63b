#include "pipeline/reassembler.h"

#include <cassert>
#include <utility>

namespace memtrack::pipeline {

void Reassembler::put(std::size_t worker, Part part) {
  assert(wants(worker));
  fronts_[worker].emplace(std::move(part));
}

std::optional<Part> Reassembler::take_next() {
  for (std::optional<Part>& front : fronts_) {
    if (!front || front->frame_seq != next_seq_) continue;
    std::optional<Part> part = std::exchange(front, std::nullopt);
    if (part->last) ++next_seq_;
    return part;
  }
  return std::nullopt;
}

}  // namespace memtrack::pipeline
