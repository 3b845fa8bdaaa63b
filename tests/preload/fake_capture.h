// A merger over a fake segment, for tests that drive it step by step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/preload/fake_shim.h"

namespace memtrack::test {

/// A merger over a fake segment. Events come out as text: "pid Kind addr size".
class FakeCapture {
 public:
  static constexpr std::int32_t kRoot = 100;

  explicit FakeCapture(preload::RecordMerger::Options options = {.rss_interval_ns = 0}, std::uint32_t ring_slots = 128,
                       std::uint32_t rings = 16)
      : segment(rings, 32, ring_slots), merger((probe.start(kRoot), segment.view()), time, probe, options) {
    merger.expect_root(kRoot);
  }
  /// The root's first image, its Exec taken.
  std::uint32_t exec_root() {
    const std::uint32_t image = segment.add_image(MT_ORIGIN_EXEC, kRoot, 1, time.now);
    time.now += 10;
    static_cast<void>(take());
    return image;
  }
  /// One sweep and all that it gives, `batch` events at a time.
  std::vector<std::string> take(std::size_t batch = 1000) {
    std::vector<std::string> lines;
    merger.sweep();
    for (bool more = true; more;) {
      EventBatch out(batch);
      more = merger.merge(out, batch);
      for (const Event& event : out.events()) {
        lines.push_back(text(event, out));
        events.push_back(event);
      }
    }
    return lines;
  }
  static std::string text(const Event& event, const EventBatch& batch) {
    std::string line = std::to_string(event.pid) + " " + std::string(to_string(event.kind));
    switch (event.kind) {
      case EventKind::kFork:
        return line + " of " + std::to_string(event.fork.parent_pid);
      case EventKind::kExec:
      case EventKind::kExit:
        return line;
      case EventKind::kMapping:
        return line + " " + std::to_string(event.addr) + " " + std::string(batch.path(event));
      case EventKind::kRss:
        return line + " " + std::to_string(event.rss.member) + " " + std::to_string(event.rss.size);
      case EventKind::kFree:
        return line + " " + std::to_string(event.addr);
      case EventKind::kRealloc:
        if (event.has(Event::kHasOldAddr)) line += " " + std::to_string(event.alloc.old_addr) + " ->";
        break;
      default:
        break;
    }
    return line + " " + std::to_string(event.addr) + " " + std::to_string(event.alloc.size);
  }

  FakeTime time;
  FakeProbe probe;
  FakeSegment segment;
  preload::RecordMerger merger;
  std::vector<Event> events;  ///< all that take() gave
};

using Lines = std::vector<std::string>;

}  // namespace memtrack::test

namespace doctest {
template <>
struct StringMaker<std::vector<std::string>> {
  static String convert(const std::vector<std::string>& lines) {
    std::string text = "[";
    for (const std::string& line : lines) text += "\n  " + line;
    return (text + "]").c_str();
  }
};
}  // namespace doctest
