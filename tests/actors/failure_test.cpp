#include <filesystem>
#include <stdexcept>
#include <thread>

#include "tests/actors/actors_support.h"

namespace memtrack::actors {
namespace {

constexpr StageId kStages[] = {StageId::kPoller, StageId::kBatcher, StageId::kCompressor, StageId::kWriter};

pipeline::CaptureOptions small_batches() {
  pipeline::CaptureOptions options;
  options.batch.events = 10;
  return options;
}

}  // namespace

TEST_CASE("B10: the deadline names the stage that hangs") {
  for (const StageId hanging : kStages) {
    CAPTURE(to_string(hanging));
    auto gate = std::make_shared<Gate>();
    auto options = small_batches();
    options.shutdown_deadline = std::chrono::milliseconds(50);
    Capture capture(options, [=](StageId stage, std::uint32_t, std::uint64_t) {
      if (stage == hanging) gate->pass();
    });
    check_ok(capture.pipe->start());
    capture.script->feed(25);
    gate->await_visitor();
    const auto stuck = capture.pipe->shutdown();
    REQUIRE_FALSE(stuck);
    CHECK(stuck.error().code == ErrorCode::kStageStuck);
    CHECK(stuck.error().message.find(to_string(hanging)) != std::string::npos);
    const auto drained = capture.pipe->drain();
    REQUIRE_FALSE(drained);
    CHECK(drained.error().code == ErrorCode::kStageStuck);
    gate->open();
    CHECK(capture.pipe->wait_for(std::chrono::minutes(1)));
  }
}

TEST_CASE("B10: who looks with wait_for sees the deadline pass after the source's own end") {
  auto gate = std::make_shared<Gate>();
  auto options = small_batches();
  options.shutdown_deadline = std::chrono::milliseconds(50);
  Capture capture(options, [=](StageId stage, std::uint32_t, std::uint64_t) {
    if (stage == StageId::kWriter) gate->pass();
  });
  capture.script->feed(25);
  capture.script->end();
  check_ok(capture.pipe->start());
  while (!capture.pipe->wait_for(std::chrono::milliseconds(1))) {
  }
  const auto stuck = capture.pipe->wait();
  REQUIRE_FALSE(stuck);
  CHECK(stuck.error().message.find("writer") != std::string::npos);
  gate->open();
}

TEST_CASE("B11: a stage that throws ends the capture with one error, and earlier frames stay readable") {
  for (const StageId failing : {StageId::kCompressor, StageId::kWriter}) {
    CAPTURE(to_string(failing));
    Capture capture(small_batches(), [=](StageId stage, std::uint32_t, std::uint64_t seq) {
      if (stage == failing && seq == 3) throw std::runtime_error("injected");
    });
    capture.script->feed(100);
    check_ok(capture.pipe->start());
    const auto summary = capture.pipe->wait();
    REQUIRE_FALSE(summary);
    CHECK(summary.error().code == ErrorCode::kStageFailed);
    CHECK(to_string(summary.error()) == "the " + std::string(to_string(failing)) + " failed: injected");
    CHECK(capture.script->stop_requested);
    CHECK_FALSE(std::filesystem::exists(capture.artifact()));
    check_events(capture.part(), 30);
    CHECK_FALSE(capture.pipe->drain());
    CHECK_FALSE(capture.pipe->shutdown());
  }
}

TEST_CASE("B11: a failure in front of the frames stops everything, too") {
  for (const StageId failing : {StageId::kPoller, StageId::kBatcher}) {
    CAPTURE(to_string(failing));
    Capture capture(small_batches(), [=](StageId stage, std::uint32_t, std::uint64_t seq) {
      if (stage == failing && seq == 1) throw std::runtime_error("injected");
    });
    check_ok(capture.pipe->start());
    capture.script->feed(20);
    static_cast<void>(capture.pipe->drain());  // the failure may come before or after it
    capture.script->feed(20);
    const auto summary = capture.pipe->wait();
    REQUIRE_FALSE(summary);
    CHECK(summary.error().message == "the " + std::string(to_string(failing)) + " failed: injected");
    CHECK(capture.script->stop_requested);
  }
}

TEST_CASE("a source that fails keeps what it had given") {
  Capture capture(small_batches());
  check_ok(capture.pipe->start());
  capture.script->feed(20);
  value_of(capture.pipe->drain());
  {
    const std::scoped_lock lock(capture.script->mutex);
    capture.script->poll_fails = true;
    capture.script->changed.notify_all();
  }
  const auto summary = capture.pipe->wait();
  REQUIRE_FALSE(summary);
  CHECK(summary.error().message == "the source broke");
  check_events(capture.part(), 20);
}

TEST_CASE("B12: a missing folder is told before anything runs") {
  pipeline::CaptureOptions options;
  options.write.directory = "/nonexistent/folder";
  auto script = std::make_shared<Script>();
  const auto created = CapturePipeline::create(std::make_unique<ScriptedSource>(script), options);
  REQUIRE_FALSE(created);
  CHECK(created.error().code == ErrorCode::kIo);
}

TEST_CASE("B3: a writer that stands still stops the polling, and nothing is lost") {
  auto gate = std::make_shared<Gate>();
  auto options = small_batches();
  options.queue.items = 2;
  Capture capture(options, [=](StageId stage, std::uint32_t, std::uint64_t) {
    if (stage == StageId::kWriter) gate->pass();
  });
  constexpr std::uint64_t kEvents = 100'000;
  capture.script->feed(kEvents);
  capture.script->end();
  check_ok(capture.pipe->start());
  gate->await_visitor();
  // What is under way is bounded by the window (4 batches), the queues (2 items each) and one item a stage. It stays
  // there, however long one looks.
  for (int i = 0; i < 2000; ++i) std::this_thread::yield();
  CHECK(capture.script->given_now() <= 10 * (4 + 2 + 2 + 2));
  gate->open();
  CHECK(value_of(capture.pipe->wait()).counters.events_written == kEvents);
  check_events(capture.artifact(), kEvents);
}

TEST_CASE("B9: the end comes while stages wait for input, for room and for the window") {
  auto gate = std::make_shared<Gate>();
  auto options = small_batches();
  options.queue.items = 1;
  Capture capture(options, [=](StageId stage, std::uint32_t, std::uint64_t seq) {
    if (stage != StageId::kWriter) return;
    gate->pass();
    if (seq == 2) throw std::runtime_error("injected");
  });
  capture.script->endless = true;
  check_ok(capture.pipe->start());
  gate->await_visitor();
  gate->open();
  CHECK_FALSE(capture.pipe->wait());
  CHECK(capture.script->stop_requested);
}

}  // namespace memtrack::actors
