// What the tests of programs under the built shim have in common.
#pragma once

#include <string>
#include <vector>

#include "tests/preload/segment_harness.h"

namespace memtrack::test {

inline const std::string kShim = MEMTRACK_SHIM_PATH;
[[nodiscard]] std::string fixture(const std::string& name);

void check_ok(const RunResult& result);
void check_nothing_lost(const SegmentHarness& harness);
/// The fixture prints the events that it makes, in the words of expected_events.h: exactly those are recorded.
void check_expected_events(const std::string& program, const HarnessOptions& options,
                           const std::string& preload = kShim);

}  // namespace memtrack::test
