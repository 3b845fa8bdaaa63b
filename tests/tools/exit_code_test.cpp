#include "tools/exit_code.h"

#include <doctest/doctest.h>

namespace {

using namespace memtrack;
using namespace memtrack::tools;
using pipeline::TargetExit;

LossCounters lost(std::uint64_t count) {
  LossCounters losses;
  losses[LossCause::kRingFull] = count;
  return losses;
}

TEST_CASE("a capture ends with the code of its target, 128+N for signal N (G1)") {
  CHECK(capture_exit_code(TargetExit{false, 0}, {}, false) == 0);
  CHECK(capture_exit_code(TargetExit{false, 3}, {}, false) == 3);
  CHECK(capture_exit_code(TargetExit{false, 255}, {}, false) == 255);
  CHECK(capture_exit_code(TargetExit{true, 6}, {}, false) == 134);
  CHECK(capture_exit_code(TargetExit{true, 9}, {}, false) == 137);
  CHECK(capture_exit_code(std::nullopt, {}, false) == 0);
}

TEST_CASE("lost events make 125 unless that is allowed (D2)") {
  CHECK(capture_exit_code(TargetExit{false, 0}, lost(1), false) == 125);
  CHECK(capture_exit_code(TargetExit{false, 3}, lost(1), false) == 125);
  CHECK(capture_exit_code(std::nullopt, lost(1), false) == 125);
  CHECK(capture_exit_code(TargetExit{false, 3}, lost(1), true) == 3);
  CHECK(capture_exit_code(std::nullopt, lost(1), true) == 0);
}

TEST_CASE("a failed capture ends with 127, 126 or 125") {
  CHECK(capture_failure_exit_code(ErrorCode::kTargetNotFound) == 127);
  CHECK(capture_failure_exit_code(ErrorCode::kTargetNotExecutable) == 126);
  CHECK(capture_failure_exit_code(ErrorCode::kTargetUntrackable) == 125);
  CHECK(capture_failure_exit_code(ErrorCode::kIo) == 125);
  CHECK(capture_failure_exit_code(ErrorCode::kStageStuck) == 125);
}

TEST_CASE("a reader tells damage from what is no artifact") {
  CHECK(reader_exit_code(ErrorCode::kEmptyFile) == 5);
  CHECK(reader_exit_code(ErrorCode::kNotAnArtifact) == 5);
  CHECK(reader_exit_code(ErrorCode::kIo) == 5);
  CHECK(reader_exit_code(ErrorCode::kInvalidArgument) == 5);
  CHECK(reader_exit_code(ErrorCode::kCorruptFrame) == 4);
  CHECK(reader_exit_code(ErrorCode::kMalformedEvent) == 4);
  CHECK(reader_exit_code(ErrorCode::kUnsupportedFrame) == 4);
  CHECK(reader_exit_code(ErrorCode::kLimitExceeded) == 4);
}

}  // namespace
