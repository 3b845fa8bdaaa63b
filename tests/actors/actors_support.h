// What the tests of the capture graph share.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include <doctest/doctest.h>

#include "actors/capture_pipeline.h"
#include "tests/actors/scripted_source.h"
#include "tests/pipeline/artifact_support.h"

namespace memtrack::actors {

using pipeline::decode_file;
using pipeline::TemporaryFolder;

/// Holds threads until it is opened.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --waiting_;
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Until some thread is held.
  void await_visitor() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

template <class T>
T value_of(Result<T> result) {
  REQUIRE_MESSAGE(result, (result ? "" : to_string(result.error())));
  return std::move(*result);
}
inline void check_ok(const Result<void>& result) {
  REQUIRE_MESSAGE(result, (result ? "" : to_string(result.error())));
}

/// A running capture of a scripted source into a folder of its own.
struct Capture {
  explicit Capture(pipeline::CaptureOptions wanted = {}, StageHook hook = {}) : options(std::move(wanted)) {
    options.write.directory = folder.path();
    options.poll_interval = std::chrono::milliseconds(1);
    pipe = value_of(CapturePipeline::create(std::make_unique<ScriptedSource>(script), options, std::move(hook)));
  }
  [[nodiscard]] std::string artifact() const { return folder / "77.MemtrackArtifact.msgpack"; }
  [[nodiscard]] std::string part() const { return artifact() + ".part"; }

  /// Until the source has been told to stop.
  void await_stop_request() const {
    std::unique_lock lock(script->mutex);
    script->changed.wait(lock, [this] { return script->stop_requested; });
  }

  TemporaryFolder folder;
  pipeline::CaptureOptions options;
  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::unique_ptr<CapturePipeline> pipe;
};

/// The file holds the scripted events 0 to count - 1.
inline void check_events(const std::string& path, std::uint64_t count) {
  const auto decoded = decode_file(path);
  CHECK_FALSE(decoded.truncated);
  REQUIRE(decoded.events.size() == count);
  for (std::size_t i = 0; i < decoded.events.size(); ++i) {
    REQUIRE(same_fixed_fields(decoded.events[i], scripted_event(i)));
  }
}

}  // namespace memtrack::actors
