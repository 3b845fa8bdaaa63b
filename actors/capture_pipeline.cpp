#include "actors/capture_pipeline.h"

#include <optional>
#include <system_error>
#include <utility>

#include <caf/all.hpp>

#include "actors/capture_board.h"
#include "actors/capture_graph.h"
#include "actors/capture_shared.h"
#include "actors/messages.h"

namespace memtrack::actors {
namespace {

using Clock = CaptureBoard::Clock;

}  // namespace

struct CapturePipeline::State {
  explicit State(std::unique_ptr<CaptureShared> capture) : shared(std::move(capture)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  [[nodiscard]] Clock::time_point deadline() const {
    return CaptureBoard::after(Clock::now(), shared->options.shutdown_deadline);
  }
  template <class... Parts>
  void tell_supervisor(Parts... parts) {
    caf::anon_send(graph->team().supervisor, std::move(parts)...);
  }
  [[nodiscard]] Result<void> check_started() const;
  [[nodiscard]] Result<CaptureSummary> summary(const std::optional<CaptureEnd>& end,
                                               std::string_view what = "the capture") const;

  const std::unique_ptr<CaptureShared> shared;  // outlives the graph
  std::optional<CaptureGraph> graph;            // there from create() on
  bool begun = false;                           // started, or shut down before that
};

CapturePipeline::State::~State() {
  if (begun && !shared->board.end()) {
    tell_supervisor(shutdown_atom::value);
    // For ever: nothing that the stages use may go before they have stopped.
    while (!shared->board.await_end(Clock::now() + std::chrono::hours(1))) {
    }
  }
  if (!begun) shared->writer.discard();  // a capture that never began leaves no file
}

Result<void> CapturePipeline::State::check_started() const {
  if (!begun) return std::unexpected(invalid_argument("the capture has not been started"));
  return {};
}

Result<CaptureSummary> CapturePipeline::State::summary(const std::optional<CaptureEnd>& end,
                                                       std::string_view what) const {
  if (!end) return std::unexpected(shared->stuck_error(what));
  if (end->error) return std::unexpected(*end->error);
  // Every stage has stopped, so the source is this thread's now.
  CaptureSummary summary{.counters = shared->counters.snapshot(),
                         .path = end->written.path,
                         .target = shared->source->target_exit(),
                         .notes = shared->source->notes()};
  if (!end->written.note.empty()) summary.notes.push_back(end->written.note);
  return summary;
}

CapturePipeline::CapturePipeline(std::unique_ptr<State> state) : state_(std::move(state)) {}
CapturePipeline::~CapturePipeline() = default;

Result<std::unique_ptr<CapturePipeline>> CapturePipeline::create(std::unique_ptr<pipeline::EventSource> source,
                                                                 const pipeline::CaptureOptions& options,
                                                                 StageHook hook) {
  auto shared = CaptureShared::create(std::move(source), options, std::move(hook));
  if (!shared) return std::unexpected(std::move(shared.error()));
  CaptureShared& capture = **shared;
  auto state = std::make_unique<State>(std::move(*shared));
  try {
    state->graph.emplace(capture);
  } catch (const std::system_error& error) {
    return std::unexpected(io_error("can't make the threads of the capture", {}, error.code().value()));
  }
  return std::unique_ptr<CapturePipeline>(new CapturePipeline(std::move(state)));
}

Result<void> CapturePipeline::start() {
  if (state_->begun) return std::unexpected(invalid_argument("the capture has already been started"));
  if (auto started = state_->shared->source->start(); !started) return started;
  state_->begun = true;
  state_->tell_supervisor(start_atom::value);
  return {};
}

Result<pipeline::CaptureCounters> CapturePipeline::drain() {
  if (!state_->begun) return stats();
  CaptureBoard& board = state_->shared->board;
  const std::uint64_t ticket = board.open_ticket();
  state_->tell_supervisor(drain_atom::value, ticket);
  if (auto answer = board.await_answer(ticket, state_->deadline(), /*end_counts=*/true)) {
    if (answer->error) return std::unexpected(std::move(*answer->error));
    return answer->counters;
  }
  // After the end everything is on disk, or there is an error that says why not.
  const auto summary = state_->summary(board.end(), "the drain");
  if (!summary) return std::unexpected(summary.error());
  return summary->counters;
}

Result<void> CapturePipeline::set_enabled(bool enabled) {
  if (auto started = state_->check_started(); !started) return started;
  CaptureBoard& board = state_->shared->board;
  const std::uint64_t ticket = board.open_ticket();
  if (enabled) {
    state_->tell_supervisor(enable_atom::value, ticket);
  } else {
    state_->tell_supervisor(disable_atom::value, ticket);
  }
  if (auto answer = board.await_answer(ticket, state_->deadline(), /*end_counts=*/true)) {
    if (answer->error) return std::unexpected(std::move(*answer->error));
    return {};
  }
  const auto end = board.end();
  if (!end) return std::unexpected(state_->shared->stuck_error("switching the source"));
  if (end->error) return std::unexpected(*end->error);
  return std::unexpected(Error{.code = ErrorCode::kClosed, .message = "the capture has already ended"});
}

pipeline::CaptureCounters CapturePipeline::stats() const {
  return state_->shared->counters.snapshot();
}

bool CapturePipeline::ping(std::chrono::nanoseconds timeout) {
  CaptureBoard& board = state_->shared->board;
  const std::uint64_t ticket = board.open_ticket();
  state_->tell_supervisor(ping_atom::value, ticket);
  return board.await_answer(ticket, CaptureBoard::after(Clock::now(), timeout), /*end_counts=*/false).has_value();
}

bool CapturePipeline::wait_for(std::chrono::nanoseconds timeout) {
  return state_->shared->board.await_ending(CaptureBoard::after(Clock::now(), timeout),
                                            state_->shared->options.shutdown_deadline);
}

Result<CaptureSummary> CapturePipeline::wait() {
  if (auto started = state_->check_started(); !started) return std::unexpected(std::move(started.error()));
  return state_->summary(state_->shared->board.await_end_after_source(state_->shared->options.shutdown_deadline));
}

Result<CaptureSummary> CapturePipeline::shutdown() {
  state_->begun = true;  // a capture that never started ends with an artifact without events
  if (!state_->shared->board.end()) state_->tell_supervisor(shutdown_atom::value);
  return state_->summary(state_->shared->board.await_end(state_->deadline()));
}

}  // namespace memtrack::actors
