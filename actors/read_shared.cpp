#include "actors/read_shared.h"

#include <algorithm>
#include <thread>

namespace memtrack::actors {
namespace {

constexpr std::uint64_t kQueuedParts = 64;
// A frame of 65,536 events, and a little of the next.
constexpr std::uint64_t kQueuedBytes = 5u << 20;

/// Frames under way: two for each decoder that can really run, and some in reserve. More would only take memory.
std::uint64_t window_size(std::uint32_t workers) {
  const std::uint64_t processors = std::max(std::thread::hardware_concurrency(), 1u);
  return 2 * std::min<std::uint64_t>(workers, processors) + 2;
}

}  // namespace

ReadShared::ReadShared(const pipeline::ArtifactView& view, const pipeline::ReadOptions& read_options,
                       const pipeline::PartConsumer& part_consumer, pipeline::Splitter& frame_splitter,
                       std::uint32_t workers)
    : consumer(part_consumer),
      pools(2 * window_size(workers)),
      jobs({.items = window_size(workers), .bytes = pipeline::QueueCredits::kMaxBytes}, 1, workers),
      window(window_size(workers)),
      window_bell(/*armed=*/false),
      splitter(frame_splitter),
      reassembler(workers),
      watches(2 + workers) {
  outcome.from_index = splitter.from_index();
  for (std::uint32_t i = 0; i < workers; ++i) {
    parts.emplace_back(pipeline::QueueLimits{.items = kQueuedParts, .bytes = kQueuedBytes}, 1, 1);
    decoders.emplace_back(view, read_options, pools);
  }
}

void ReadShared::stop() {
  over.store(true, std::memory_order_seq_cst);
  jobs.queue.close();
  for (auto& hop : parts) hop.queue.close();
  window_bell.ring();
}

}  // namespace memtrack::actors
