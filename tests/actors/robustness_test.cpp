// What must hold where several things go wrong at once, or where one goes wrong outside of a stage's step.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "tests/actors/actors_support.h"

namespace memtrack::actors {
namespace {

constexpr StageId kStages[] = {StageId::kPoller, StageId::kBatcher, StageId::kCompressor, StageId::kWriter};

pipeline::CaptureOptions batches_of_ten() {
  pipeline::CaptureOptions options;
  options.batch.events = 10;
  options.batch.flush_interval = std::chrono::hours(1);
  return options;
}

template <class T>
void check_fails(const Result<T>& result, const std::string& text) {
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::kStageFailed);
  CHECK(result.error().message.find(text) != std::string::npos);
}

}  // namespace

TEST_CASE("B10: a caller that polls wait_for learns that a stage hangs after the source's end") {
  auto gate = std::make_shared<Gate>();
  auto options = batches_of_ten();
  options.shutdown_deadline = std::chrono::milliseconds(50);
  Capture capture(options, [=](StageId stage, std::uint32_t, std::uint64_t) {
    if (stage == StageId::kWriter) gate->pass();
  });
  capture.script->feed(25);
  capture.script->end();
  check_ok(capture.pipe->start());
  gate->await_visitor();
  CHECK(capture.pipe->wait_for(std::chrono::minutes(2)));
  const auto stuck = capture.pipe->wait();
  REQUIRE_FALSE(stuck);
  CHECK(stuck.error().code == ErrorCode::kStageStuck);
  CHECK(stuck.error().message.find("writer") != std::string::npos);
  gate->open();
  // Late is not never: the artifact becomes whole.
  while (!capture.pipe->wait()) std::this_thread::yield();
  check_events(capture.artifact(), 25);
}

TEST_CASE("B10: of several compressors the one that hangs is named by its number") {
  auto gate = std::make_shared<Gate>();
  auto number = std::make_shared<std::atomic<std::uint32_t>>(0);
  auto options = batches_of_ten();
  options.compress.workers = 3;
  options.shutdown_deadline = std::chrono::milliseconds(50);
  Capture capture(options, [=](StageId stage, std::uint32_t worker, std::uint64_t seq) {
    if (stage != StageId::kCompressor || seq != 2) return;
    number->store(worker);
    gate->pass();
  });
  capture.script->feed(100);
  check_ok(capture.pipe->start());
  gate->await_visitor();
  const auto stuck = capture.pipe->shutdown();
  REQUIRE_FALSE(stuck);
  CHECK(stuck.error().message.find("compressor " + std::to_string(number->load())) != std::string::npos);
  gate->open();
}

TEST_CASE("a drain that came too late is answered, and the next one too") {
  auto gate = std::make_shared<Gate>();
  auto options = batches_of_ten();
  options.shutdown_deadline = std::chrono::milliseconds(50);
  Capture capture(options, [=](StageId stage, std::uint32_t, std::uint64_t) {
    if (stage == StageId::kWriter) gate->pass();
  });
  check_ok(capture.pipe->start());
  capture.script->feed(15);
  const auto late = capture.pipe->drain();
  REQUIRE_FALSE(late);
  CHECK(late.error().message.starts_with("the drain did not end within"));
  CHECK_FALSE(capture.pipe->drain());
  gate->open();
  Result<pipeline::CaptureCounters> drained = capture.pipe->drain();
  while (!drained) drained = capture.pipe->drain();
  CHECK(drained->events_written == 15);
  check_events(capture.part(), 15);
}

TEST_CASE("B11: a frame that is under way when another compressor fails stays readable") {
  // Frame 2 is held until another compressor has thrown over frame 3.
  auto gate = std::make_shared<Gate>();
  auto options = batches_of_ten();
  options.compress.workers = 2;
  Capture capture(options, [=](StageId stage, std::uint32_t, std::uint64_t seq) {
    if (stage != StageId::kCompressor) return;
    if (seq == 2) gate->pass();
    if (seq == 3) throw std::runtime_error("injected");
  });
  capture.script->feed(100);
  check_ok(capture.pipe->start());
  gate->await_visitor();
  capture.await_stop_request();  // the supervisor has seen to the failure, queues included
  gate->open();
  check_fails(capture.pipe->wait(), "compressor failed: injected");
  check_events(capture.part(), 30);
}

TEST_CASE("B11: what came before a failure of the source is flushed, partial batch and all") {
  Capture capture(batches_of_ten());
  check_ok(capture.pipe->start());
  capture.script->feed(13);
  while (capture.pipe->stats().events_polled < 13) std::this_thread::yield();
  {
    const std::scoped_lock lock(capture.script->mutex);
    capture.script->poll_fails = true;
    capture.script->changed.notify_all();
  }
  const auto summary = capture.pipe->wait();
  REQUIRE_FALSE(summary);
  CHECK(summary.error().message == "the source broke");
  check_events(capture.part(), 13);
}

TEST_CASE("B11: an exception from the source's drain or switch is the capture's one error") {
  for (const bool drains : {true, false}) {
    CAPTURE(drains);
    auto options = batches_of_ten();
    options.shutdown_deadline = std::chrono::minutes(2);
    Capture capture(options);
    (drains ? capture.script->drain_throws : capture.script->switch_throws) = true;
    check_ok(capture.pipe->start());
    capture.script->feed(20);
    if (drains) {
      check_fails(capture.pipe->drain(), "poller failed: no drain");
    } else {
      check_fails(capture.pipe->set_enabled(false), "poller failed: no switch");
    }
    check_fails(capture.pipe->wait(), "poller failed");
    CHECK(capture.script->stop_requested);
  }
}

TEST_CASE("B10: a caller that polls wait_for goes on watching while a failed capture hangs") {
  auto gate = std::make_shared<Gate>();
  auto options = batches_of_ten();
  options.shutdown_deadline = std::chrono::hours(1);
  Capture capture(options, [=](StageId stage, std::uint32_t, std::uint64_t seq) {
    if (stage == StageId::kWriter) gate->pass();
    if (stage == StageId::kCompressor && seq == 1) throw std::runtime_error("injected");
  });
  capture.script->feed(25);
  check_ok(capture.pipe->start());
  gate->await_visitor();
  capture.await_stop_request();
  // wait() would block now, so wait_for() must not send the caller there.
  CHECK_FALSE(capture.pipe->wait_for(std::chrono::nanoseconds(0)));
  gate->open();
  while (!capture.pipe->wait_for(std::chrono::minutes(2))) {
  }
  check_fails(capture.pipe->wait(), "compressor failed: injected");
}

TEST_CASE("B11: a source that can't be asked to stop fails the capture and hangs nobody") {
  Capture capture(batches_of_ten(), [](StageId stage, std::uint32_t, std::uint64_t) {
    if (stage == StageId::kWriter) throw std::runtime_error("injected");
  });
  capture.script->stop_throws = true;
  capture.script->feed(10);
  capture.script->end();
  check_ok(capture.pipe->start());
  check_fails(capture.pipe->wait(), "writer failed: injected");
}

TEST_CASE("B11: with mappings as a suffix, those that came before a failure are in the file") {
  auto options = batches_of_ten();
  options.write.mappings = pipeline::MappingPlacement::kSuffix;
  Capture capture(options, [](StageId stage, std::uint32_t, std::uint64_t seq) {
    if (stage == StageId::kCompressor && seq == 1) throw std::runtime_error("injected");
  });
  capture.script->gives_mappings = true;
  capture.script->feed(25);
  check_ok(capture.pipe->start());
  check_fails(capture.pipe->wait(), "compressor failed: injected");
  const auto decoded = decode_file(capture.part());
  CHECK(decoded.events.size() == 10);
}

TEST_CASE("B11: what comes after a failure is counted as polled and not as written") {
  auto options = batches_of_ten();
  Capture capture(options, [](StageId stage, std::uint32_t, std::uint64_t seq) {
    if (stage == StageId::kWriter && seq == 1) throw std::runtime_error("injected");
  });
  capture.script->feed(200);
  capture.script->end();
  check_ok(capture.pipe->start());
  check_fails(capture.pipe->wait(), "writer failed");
  CHECK(capture.pipe->stats().events_written == 10);
  CHECK(capture.pipe->stats().events_polled == capture.script->given_now());
}

TEST_CASE("B11: a hook may throw anything, in any stage") {
  for (const StageId failing : kStages) {
    CAPTURE(to_string(failing));
    Capture capture(batches_of_ten(), [=](StageId stage, std::uint32_t, std::uint64_t) {
      if (stage == failing) throw 5;
    });
    check_ok(capture.pipe->start());
    capture.script->feed(20);
    check_fails(capture.pipe->wait(), std::string(to_string(failing)) + " failed");
  }
}

TEST_CASE("a capture that never started leaves no file behind") {
  TemporaryFolder folder;
  pipeline::CaptureOptions options;
  options.write.directory = folder.path();
  value_of(CapturePipeline::create(std::make_unique<ScriptedSource>(std::make_shared<Script>()), options));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("settings out of range are the caller's mistake") {
  const auto code_of = [](const pipeline::CaptureOptions& options) {
    const auto made = CapturePipeline::create(std::make_unique<ScriptedSource>(std::make_shared<Script>()), options);
    REQUIRE_FALSE(made);
    return made.error().code;
  };
  TemporaryFolder folder;
  pipeline::CaptureOptions good;
  good.write.directory = folder.path();
  auto bad = good;
  bad.queue.items = 0;
  CHECK(code_of(bad) == ErrorCode::kInvalidArgument);
  bad = good;
  bad.queue.bytes = 0;
  CHECK(code_of(bad) == ErrorCode::kInvalidArgument);
  bad = good;
  bad.batch.events = (1u << 20) + 1;
  CHECK(code_of(bad) == ErrorCode::kInvalidArgument);
  bad = good;
  bad.compress.workers = 65;
  CHECK(code_of(bad) == ErrorCode::kInvalidArgument);
}

TEST_CASE("limits without end are no overflow") {
  auto options = batches_of_ten();
  options.shutdown_deadline = options.batch.flush_interval = std::chrono::nanoseconds::max();
  Capture capture(options);
  check_ok(capture.pipe->start());
  capture.script->feed(13);
  CHECK(value_of(capture.pipe->drain()).events_written == 13);
  CHECK(capture.pipe->ping(std::chrono::nanoseconds::max()));
  value_of(capture.pipe->shutdown());
  check_events(capture.artifact(), 13);
}

}  // namespace memtrack::actors
