// Processes that run another program before the tracker has seen the first one.
#include <doctest/doctest.h>

#include "tests/preload/fake_capture.h"

using namespace memtrack;
using namespace memtrack::test;

TEST_CASE("a child that has done its exec when it is found is one process, wherever its images lie") {
  for (const bool fork_image_records : {false, true}) {
    FakeCapture capture;
    static_cast<void>(capture.exec_root());
    capture.probe.start(200);
    const auto second = capture.segment.add_image(MT_ORIGIN_EXEC, 200, 100, 2100);
    FakeThread program(capture.segment, second, 200);
    const auto first = capture.segment.add_image(MT_ORIGIN_FORK, 200, 100, 2000);
    Lines expected{"200 Fork of 100"};
    if (fork_image_records) {
      FakeThread child(capture.segment, first, 200);
      child.put(MT_MALLOC, 2050, 1, 8);
      expected.emplace_back("200 Malloc 1 8");
    }
    program.put(MT_MALLOC, 2150, 2, 8);
    capture.time.now = 3000;
    Lines lines = capture.take();
    capture.time.now = 3100;  // the first image is over one sweep after the second one was seen
    for (const std::string& line : capture.take()) lines.push_back(line);
    expected.insert(expected.end(), {"200 Exec", "200 Malloc 2 8"});
    CHECK(lines == expected);
    capture.probe.end(200);
    CHECK(capture.take() == Lines{"200 Exit"});
  }
}
