#include "pipeline/serial_reader.h"

#include <algorithm>
#include <utility>

#include "pipeline/decoder.h"

namespace memtrack::pipeline {
namespace {

constexpr std::size_t kIdleParts = 2;
constexpr std::size_t kCollectedEvents = 1024;

}  // namespace

ReadOutcome read_serially(const ArtifactView& artifact, const ReadOptions& options, const PartConsumer& consumer) {
  Splitter splitter(artifact, options);
  return read_serially(splitter, artifact, options, consumer);
}

ReadOutcome read_serially(Splitter& splitter, const ArtifactView& artifact, const ReadOptions& options,
                          const PartConsumer& consumer) {
  ReadOutcome outcome{.from_index = splitter.from_index()};
  PartPools pools(kIdleParts);
  Decoder decoder(artifact, options, pools);
  while (auto job = splitter.next()) {
    decoder.begin(std::move(*job));
    while (decoder.busy()) {
      if (!deliver(decoder.next(), consumer, outcome)) return outcome;
    }
  }
  return outcome;
}

PartConsumer collect_into(std::vector<EventBatch>& batches) {
  return [&batches](const PartView& part) {
    for (std::size_t i = 0; i < part.events.size(); ++i) {
      const bool full = batches.empty() || batches.back().room() == 0 || batches.back().payload_bytes() >= kPartBytes;
      if (full) batches.emplace_back(kCollectedEvents);
      batches.back().append_from(part.events, i);
    }
    return true;
  };
}

Result<ModuleEvents> module_events(std::span<const std::byte> artifact) {
  ModuleEvents found;
  const ReadOptions options{.selection = ReadSelection::modules()};
  ReadOutcome outcome = read_serially({.bytes = artifact}, options, collect_into(found.batches));
  if (outcome.error) return std::unexpected(std::move(*outcome.error));
  found.truncated = outcome.truncated;
  found.counters = outcome.counters;
  return found;
}

}  // namespace memtrack::pipeline
