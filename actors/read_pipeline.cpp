#include "actors/read_pipeline.h"

#include <algorithm>
#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "actors/read_graph.h"
#include "actors/read_shared.h"

namespace memtrack::actors {
namespace {

std::uint32_t worker_count(std::uint32_t wanted) {
  const std::uint32_t workers = wanted == 0 ? std::max(std::thread::hardware_concurrency(), 1u) : wanted;
  return std::min(workers, ReadPipeline::kMaxWorkers);
}

Error stage_failed(const char* what) {
  return Error{.code = ErrorCode::kStageFailed, .message = std::string("the reader failed: ") + what};
}

}  // namespace

ReadPipeline::ReadPipeline(const pipeline::ArtifactView& artifact, pipeline::ReadOptions options,
                           pipeline::PartConsumer consumer)
    : artifact_(artifact), options_(std::move(options)), consumer_(std::move(consumer)) {}

pipeline::ReadOutcome ReadPipeline::run() {
  try {
    pipeline::Splitter splitter(artifact_, options_);
    if (splitter.from_index() || artifact_.bytes.size() < options_.parallel_bytes) {
      return pipeline::read_serially(splitter, artifact_, options_, consumer_);
    }
    ReadShared shared(artifact_, options_, consumer_, splitter, worker_count(options_.workers));
    ReadGraph graph(shared);
    graph.run();
    // The reassembler has stopped, so the outcome is this thread's now.
    const Error* failure = shared.first_error.get();
    if (failure != nullptr && !shared.outcome.error) shared.outcome.error = *failure;
    return std::move(shared.outcome);
  } catch (const std::system_error& error) {
    return {.error = io_error("can't make the threads of the reader", {}, error.code().value())};
  } catch (const std::exception& error) {  // of a consumer or `render` in this thread; or no memory
    return {.error = stage_failed(error.what())};
  }
}

Result<pipeline::ModuleEvents> module_events(std::span<const std::byte> artifact, std::uint32_t workers) {
  pipeline::ModuleEvents found;
  const pipeline::ReadOptions options{.selection = pipeline::ReadSelection::modules(), .workers = workers};
  auto outcome = ReadPipeline({.bytes = artifact}, options, pipeline::collect_into(found.batches)).run();
  if (outcome.error) return std::unexpected(std::move(*outcome.error));
  found.truncated = outcome.truncated;
  found.counters = outcome.counters;
  return found;
}

}  // namespace memtrack::actors
