// Hop: one queue of a graph and who uses it.
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/bounded_queue.h"

namespace memtrack::actors {

/// A queue with the handles of everybody who uses it, made before traffic begins.
template <class T>
struct Hop {
  using Queue = pipeline::BoundedQueue<T>;

  Hop(const pipeline::QueueLimits& limits, std::uint32_t producer_count, std::uint32_t consumer_count) : queue(limits) {
    for (std::uint32_t i = 0; i < producer_count; ++i) producers.emplace_back(queue);
    for (std::uint32_t i = 0; i < consumer_count; ++i) consumers.emplace_back(queue);
  }

  Queue queue;  // before its handles: they go first
  std::vector<typename Queue::Producer> producers;
  std::vector<typename Queue::Consumer> consumers;
};

}  // namespace memtrack::actors
