#include "tools/module_maps.h"

#include <doctest/doctest.h>

#include "tools/modules_command.h"

namespace {

using namespace memtrack;
using namespace memtrack::tools;

Event event_of(EventKind kind, std::int32_t pid, std::uint64_t time_ns) {
  Event event{};
  event.kind = kind;
  event.pid = event.tid = pid;
  event.timestamp_ns = time_ns;
  return event;
}

struct Story {
  EventBatch events{100};

  Story& exec(std::int32_t pid, std::uint64_t time_ns) {
    events.append(event_of(EventKind::kExec, pid, time_ns));
    return *this;
  }
  Story& fork(std::int32_t parent, std::int32_t child, std::uint64_t time_ns) {
    Event event = event_of(EventKind::kFork, child, time_ns);
    event.fork.parent_pid = parent;
    events.append(event);
    return *this;
  }
  Story& mapping(std::int32_t pid, std::uint64_t time_ns, std::uint64_t addr, std::string_view path,
                 std::uint64_t len = 0x1000) {
    Event event = event_of(EventKind::kMapping, pid, time_ns);
    event.addr = addr;
    event.mapping = {.dev = 8u << 20 | 1, .ino = 42, .file_offset = 0x2000, .len = len};
    events.append_mapping(event, path);
    return *this;
  }
  /// "path@start" of what the process has at a time.
  [[nodiscard]] std::vector<std::string> at(std::int32_t pid, std::uint64_t time_ns) const {
    ModuleMaps maps;
    maps.add(events);
    std::vector<std::string> found;
    for (const ModuleMap& map : maps.of(pid)) {
      if (map.is_there(time_ns)) found.push_back(map.path + "@" + std::to_string(map.start));
    }
    return found;
  }
};

using Maps = std::vector<std::string>;

TEST_CASE("a child has what its parent had at the fork, and an exec clears it (E2)") {
  const Story story = std::move(Story()
                                    .exec(1, 10)
                                    .mapping(1, 11, 100'000, "bash")
                                    .mapping(1, 12, 200'000, "libc")
                                    .fork(1, 2, 20)
                                    .mapping(1, 25, 300'000, "late")
                                    .exec(2, 30)
                                    .mapping(2, 31, 400'000, "prog"));
  CHECK(story.at(2, 19) == Maps{});
  CHECK(story.at(2, 20) == Maps{"bash@100000", "libc@200000"});
  CHECK(story.at(2, 29) == Maps{"bash@100000", "libc@200000"});
  CHECK(story.at(2, 30) == Maps{});
  CHECK(story.at(2, 99) == Maps{"prog@400000"});
  CHECK(story.at(1, 99) == Maps{"bash@100000", "libc@200000", "late@300000"});
  CHECK(story.at(3, 99) == Maps{});
}

TEST_CASE("at one time an exec comes before a mapping, and that before a fork (E2)") {
  const Story story =
      std::move(Story().mapping(1, 5, 1000, "old").fork(1, 2, 10).mapping(1, 10, 8192, "new").exec(1, 10));
  CHECK(story.at(1, 10) == Maps{"new@8192"});
  CHECK(story.at(2, 10) == Maps{"new@8192"});
}

TEST_CASE("events count by their times, not by their places in the file") {
  const Story story = std::move(Story().fork(1, 2, 20).mapping(1, 30, 8192, "after").mapping(1, 10, 4096, "before"));
  CHECK(story.at(2, 50) == Maps{"before@4096"});
}

TEST_CASE("a process that gets the number of an earlier one has nothing of it (E3)") {
  const Story story =
      std::move(Story().fork(1, 2, 10).mapping(2, 11, 4096, "first").mapping(1, 15, 8192, "parent").fork(1, 2, 20));
  CHECK(story.at(2, 19) == Maps{"first@4096"});
  CHECK(story.at(2, 20) == Maps{"parent@8192"});
}

TEST_CASE("a mapping takes the place of what it overlaps") {
  const Story story = std::move(Story().mapping(1, 10, 0x10000, "old", 0x5000).mapping(1, 20, 0x12000, "new", 0x1000));
  ModuleMaps maps;
  maps.add(story.events);
  const auto all = maps.of(1);
  REQUIRE(all.size() == 4);
  CHECK(all[0].until_ns == 20);
  CHECK(all[1].start == 0x10000);
  CHECK(all[1].end == 0x12000);
  CHECK(all[2].path == "new");
  CHECK(all[3].start == 0x13000);
  CHECK(all[3].end == 0x15000);
  CHECK(all[3].file_offset == 0x2000 + 0x3000);
}

TEST_CASE("maps are printed as /proc has them, and with their times where no time is asked for") {
  const Story story = std::move(Story().mapping(7, 10, 0x400000, "/bin/a b"));
  ModuleMaps maps;
  maps.add(story.events);
  std::string text;
  append_maps(maps.of(7), 15, /*json=*/false, text);
  CHECK(text == "00400000-00401000 r-xp 00002000 08:01 42         /bin/a b\n");
  text.clear();
  append_maps(maps.of(7), std::nullopt, /*json=*/false, text);
  CHECK(text == "00400000-00401000 r-xp 00002000 08:01 42         /bin/a b  from 10 to the end\n");
  text.clear();
  append_maps(maps.of(7), 9, /*json=*/true, text);
  CHECK(text.empty());
  append_maps(maps.of(7), 10, /*json=*/true, text);
  CHECK(text ==
        "{\"start\":4194304,\"end\":4198400,\"file_offset\":8192,\"dev\":8388609,\"ino\":42,\"path\":\"/bin/a b\","
        "\"from\":10,\"until\":null}\n");
}

TEST_CASE("lengths that run over the end of memory are cut there") {
  const Story story = std::move(Story().mapping(1, 10, ~0ull - 10, "end", ~0ull));
  CHECK(story.at(1, 10).size() == 1);
}

}  // namespace
