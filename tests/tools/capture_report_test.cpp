#include "tools/capture_report.h"

#include <doctest/doctest.h>

#include "tools/log.h"

namespace {

using namespace memtrack;
using namespace memtrack::tools;

actors::CaptureSummary small_summary() {
  actors::CaptureSummary summary;
  summary.counters.events_written = 1'234'567;
  summary.counters.frames_written = 19;
  summary.counters.file_bytes = 12'345'670;
  summary.path = "/tmp/out dir/77.MemtrackArtifact.msgpack";
  summary.target = pipeline::TargetExit{.signaled = false, .code = 3};
  return summary;
}

TEST_CASE("the summary says how much, where, how the target ended and what to type next") {
  const std::vector<std::string> expected{
      "recorded 1,234,567 events in 2.50 s, 0 lost",
      "artifact: /tmp/out dir/77.MemtrackArtifact.msgpack (11.8 MiB in 19 frames, 10.0 bytes an event)",
      "the target exited with 3",
      "next: memtrack-pipeline stat '/tmp/out dir/77.MemtrackArtifact.msgpack'",
  };
  CHECK(summary_lines(small_summary(), std::chrono::milliseconds(2500), SourceKind::kPreload) == expected);
}

TEST_CASE("a target that was killed or has not ended is told so; a replay has none") {
  actors::CaptureSummary summary = small_summary();
  summary.target = pipeline::TargetExit{.signaled = true, .code = 9};
  CHECK(summary_lines(summary, {}, SourceKind::kPreload)[2] == "the target was killed by signal 9 (Killed)");
  summary.target.reset();
  CHECK(summary_lines(summary, {}, SourceKind::kPreload)[2] == "the target has not ended");
  CHECK(summary_lines(summary, {}, SourceKind::kReplay).size() == 3);
}

TEST_CASE("a loss is told with its number, its causes and what to do (D2)") {
  LossCounters losses;
  losses[LossCause::kRingFull] = 1200;
  losses[LossCause::kNoRing] = 34;
  CHECK(loss_text(losses) == "1,234 events were lost (ring full: 1,200, no free ring: 34)");
  Config config;
  config.preload.ring_bytes = 4096;
  CHECK(
      loss_advice(losses, config) ==
      "to avoid this, use source.on_full = \"block\", or a larger source.preload.ring_size (now 4KiB); or give more "
      "threads a ring with a larger source.preload.segment_size (now 256MiB) or a smaller ring_size; or accept losses "
      "with --allow-loss");
  config.allow_loss = true;
  losses = {};
  losses[LossCause::kEarlyCall] = 1;
  CHECK(loss_text(losses) == "1 event was lost (call before the segment was reachable: 1)");
  CHECK(loss_advice(losses, config) == "the artifact is incomplete");
}

TEST_CASE("the progress line has the rate of the last interval and losses where there are any") {
  pipeline::CaptureCounters before;
  before.events_polled = 1000;
  pipeline::CaptureCounters now;
  now.events_polled = 3000;
  now.file_bytes = 2048;
  CHECK(progress_text(now, before, std::chrono::milliseconds(500)) ==
        "recording: 3,000 events, 2.0 KiB, 4,000 events/s");
  now.losses[LossCause::kRingFull] = 5;
  CHECK(progress_text(now, before, std::chrono::milliseconds(500)).ends_with(", 5 lost"));
}

TEST_CASE("a path becomes one word of a shell command") {
  CHECK(shell_word("./a-b_1.msgpack") == "./a-b_1.msgpack");
  CHECK(shell_word("a b") == "'a b'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("$HOME") == "'$HOME'");
}

TEST_CASE("a message stays one line whatever a file is named") {
  CHECK(printable("a\nb\tc\x1b[2Jd") == "a\\nb\\tc\\x1b[2Jd");
  CHECK(printable("\u20AC plain") == "\u20AC plain");
}

}  // namespace
