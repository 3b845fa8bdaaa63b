#include "actors/capture_pipeline.h"

#include <algorithm>
#include <array>
#include <utility>

#include <caf/all.hpp>

#include "actors/batcher_actor.h"
#include "actors/capture_graph.h"
#include "actors/compressor_actor.h"
#include "actors/messages.h"
#include "actors/poller_actor.h"
#include "actors/supervisor.h"
#include "actors/writer_actor.h"

namespace memtrack::actors {
namespace {

using Clock = CaptureGraph::Clock;

/// Every stage has a thread of its own (a stuck one then stops nobody else, and waking takes 10 us); only the
/// supervisor is scheduled.
struct SystemConfig : caf::actor_system_config {
  SystemConfig() {
    set("scheduler.max-threads", 1);
    set("logger.verbosity", caf::atom("quiet"));
  }
};

/// The stage that has been inside one step for the longest time.
const StageWatch* stuck_stage(const CaptureGraph& graph) {
  std::vector<const StageWatch*> watches = {&graph.poller_watch, &graph.batcher_watch, &graph.writer_watch};
  for (const CompressorSeat& seat : graph.compressors) watches.push_back(&seat.watch);
  const auto* longest = *std::ranges::min_element(watches, {}, &StageWatch::since_ns);
  return longest->since_ns() == StageWatch::kIdle ? nullptr : longest;
}

Error stuck_error(const CaptureGraph& graph) {
  const StageWatch* stuck = stuck_stage(graph);
  const std::string name = stuck == nullptr ? "no stage in particular" : std::string(to_string(stuck->stage()));
  const auto seconds = std::chrono::duration<double>(graph.options.shutdown_deadline).count();
  return {.code = ErrorCode::kStageStuck,
          .message = "the capture did not end within " + std::to_string(seconds) + " s; stuck: " + name +
                     "; what is written so far is in the .part file"};
}

}  // namespace

std::string_view to_string(StageId stage) {
  static constexpr std::array<std::string_view, 4> kNames = {"poller", "batcher", "compressor", "writer"};
  return kNames[static_cast<std::size_t>(stage)];
}

struct CapturePipeline::State {
  explicit State(std::unique_ptr<CaptureGraph> new_graph) : system(config), graph(std::move(new_graph)) {}
  ~State();

  void spawn();
  void connect_bells();
  void stop();
  template <class Done>
  bool wait_until_deadline(Done&& done, std::optional<Clock::time_point> from);
  Result<void> request(const caf::message& message, std::chrono::nanoseconds timeout);
  Result<CaptureSummary> summary();

  SystemConfig config;
  caf::actor_system system;
  std::unique_ptr<CaptureGraph> graph;  // goes before the system: its bells hold actors
  caf::actor poller;
  caf::actor batcher;
  std::vector<caf::actor> compressors;
  caf::actor writer;
  caf::actor supervisor;
  std::uint64_t last_ticket = 0;
  bool started = false;
};

CapturePipeline::State::~State() {
  stop();
  {
    std::unique_lock lock(graph->mutex);
    graph->changed.wait(lock, [this] { return graph->over; });
  }
  caf::anon_send_exit(supervisor, caf::exit_reason::user_shutdown);
  system.await_all_actors_done();
}

/// The source hears it at once, even in the middle of a poll; the message is for a poller that was never started.
void CapturePipeline::State::stop() {
  graph->source->request_stop();
  caf::anon_send(poller, shutdown_atom::value);
}

void CapturePipeline::State::spawn() {
  writer = system.spawn<caf::detached>(writer_actor, graph.get());
  for (CompressorSeat& seat : graph->compressors) {
    compressors.push_back(system.spawn<caf::detached>(compressor_actor, graph.get(), &seat));
  }
  batcher = system.spawn<caf::detached>(batcher_actor, graph.get(), writer);
  poller = system.spawn<caf::detached>(poller_actor, graph.get(), batcher);
  std::vector<caf::actor> stages = {poller, batcher, writer};
  stages.insert(stages.end(), compressors.begin(), compressors.end());
  supervisor = system.spawn(actors::supervisor, graph.get(), stages);
  connect_bells();
}

/// A bell is one message: an idle consumer hears that there is work, a refused producer that there is room.
void CapturePipeline::State::connect_bells() {
  const auto work = [](const caf::actor& to) { return [to] { caf::anon_send(to, work_atom::value); }; };
  const auto room = [](const caf::actor& to) { return [to] { caf::anon_send(to, room_atom::value); }; };
  graph->poller_output.on_room(room(poller));
  graph->batcher_input.on_work(work(batcher));
  graph->batcher_output.on_room(room(batcher));
  graph->window_bell.on_ring(room(batcher));
  for (std::size_t i = 0; i < compressors.size(); ++i) {
    graph->compressors[i].input.on_work(work(compressors[i]));
    graph->compressors[i].output.on_room(room(compressors[i]));
  }
  graph->writer_input.on_work(work(writer));
  graph->on_failed = [to = supervisor] { caf::anon_send(to, failed_atom::value); };
}

/// Waits for `done` (evaluated under the graph's lock), at most the shutdown deadline from `from`; without `from` the
/// time begins when the source ends. False: the deadline passed.
template <class Done>
bool CapturePipeline::State::wait_until_deadline(Done&& done, std::optional<Clock::time_point> from) {
  std::unique_lock lock(graph->mutex);
  if (!from) {
    graph->changed.wait(lock, [&] { return done() || graph->ending_since.has_value(); });
    if (done()) return true;
    from = graph->ending_since;
  }
  return graph->changed.wait_until(lock, *from + graph->options.shutdown_deadline, done);
}

/// Sends a request to the poller and waits for its Reply; a stage that does not answer in time is stuck.
Result<void> CapturePipeline::State::request(const caf::message& message, std::chrono::nanoseconds timeout) {
  Result<void> result = {};
  caf::scoped_actor self(system);
  self->request(poller, timeout, message)
      .receive([&](Reply& reply) { result = std::move(reply.result); },
               [&](const caf::error& error) {
                 if (error == caf::sec::request_timeout) {
                   result = std::unexpected(stuck_error(*graph));
                 } else {
                   result =
                       std::unexpected(Error{.code = ErrorCode::kClosed, .message = "the capture has ended already"});
                 }
               });
  return result;
}

/// After every stage has ended.
Result<CaptureSummary> CapturePipeline::State::summary() {
  if (const Error* error = graph->first_error.get()) return std::unexpected(*error);
  const std::scoped_lock lock(graph->mutex);
  return CaptureSummary{
      .counters = graph->counters(), .path = graph->path, .target = graph->target_exit, .notes = graph->notes};
}

CapturePipeline::CapturePipeline(std::unique_ptr<State> state) : state_(std::move(state)) {}
CapturePipeline::~CapturePipeline() = default;

Result<std::unique_ptr<CapturePipeline>> CapturePipeline::create(std::unique_ptr<pipeline::EventSource> source,
                                                                 const pipeline::CaptureOptions& options,
                                                                 StageHook hook) {
  auto graph = CaptureGraph::create(std::move(source), options, std::move(hook));
  if (!graph) return std::unexpected(std::move(graph.error()));
  auto state = std::make_unique<State>(std::move(*graph));
  state->spawn();
  return std::unique_ptr<CapturePipeline>(new CapturePipeline(std::move(state)));
}

Result<void> CapturePipeline::start() {
  state_->started = true;
  return state_->request(caf::make_message(start_atom::value), state_->graph->options.shutdown_deadline);
}

Result<pipeline::CaptureCounters> CapturePipeline::drain() {
  CaptureGraph& graph = *state_->graph;
  if (!state_->started) return graph.counters();
  const std::uint64_t ticket = ++state_->last_ticket;
  caf::anon_send(state_->poller, drain_atom::value, ticket);
  const auto done = [&] { return graph.over || graph.drained_ticket >= ticket; };
  if (!state_->wait_until_deadline(done, Clock::now())) return std::unexpected(stuck_error(graph));
  if (const Error* error = graph.first_error.get()) return std::unexpected(*error);
  return graph.counters();
}

Result<void> CapturePipeline::set_enabled(bool enabled) {
  const auto message = enabled ? caf::make_message(enable_atom::value) : caf::make_message(disable_atom::value);
  return state_->request(message, state_->graph->options.shutdown_deadline);
}

pipeline::CaptureCounters CapturePipeline::stats() const {
  return state_->graph->counters();
}

bool CapturePipeline::ping(std::chrono::nanoseconds timeout) {
  bool alive = false;
  caf::scoped_actor self(state_->system);
  self->request(state_->supervisor, timeout, ping_atom::value)
      .receive([&](ping_atom) { alive = true; }, [](const caf::error&) {});
  return alive;
}

bool CapturePipeline::wait_for(std::chrono::nanoseconds timeout) {
  CaptureGraph& graph = *state_->graph;
  std::unique_lock lock(graph.mutex);
  if (graph.changed.wait_for(lock, timeout, [&] { return graph.over; })) return true;
  return graph.ending_since && Clock::now() >= *graph.ending_since + graph.options.shutdown_deadline;
}

Result<CaptureSummary> CapturePipeline::wait() {
  CaptureGraph& graph = *state_->graph;
  if (!state_->wait_until_deadline([&] { return graph.over; }, std::nullopt)) {
    return std::unexpected(stuck_error(graph));
  }
  return state_->summary();
}

Result<CaptureSummary> CapturePipeline::shutdown() {
  CaptureGraph& graph = *state_->graph;
  state_->stop();
  if (!state_->wait_until_deadline([&] { return graph.over; }, Clock::now())) {
    return std::unexpected(stuck_error(graph));
  }
  return state_->summary();
}

}  // namespace memtrack::actors
