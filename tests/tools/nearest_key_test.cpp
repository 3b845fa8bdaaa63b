#include "tools/nearest_key.h"

#include <array>

#include <doctest/doctest.h>

namespace {

using namespace memtrack::tools;

TEST_CASE("the edit distance counts inserted, removed and replaced bytes") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("events", "evnts") == 1);
  CHECK(edit_distance("events", "events") == 0);
}

TEST_CASE("the nearest key is the one with the fewest typing errors, or the right name of another section") {
  constexpr std::array<std::string_view, 4> kKeys{"batch.events", "batch.bytes", "compress.workers", "write.directory"};
  CHECK(nearest_key("batch.evnts", kKeys) == "batch.events");
  CHECK(nearest_key("bach.bytes", kKeys) == "batch.bytes");
  CHECK(nearest_key("batch.workers", kKeys) == "compress.workers");
  CHECK(nearest_key("directory", kKeys) == "write.directory");
  CHECK(nearest_key("zzzzzz", kKeys) != "");
  CHECK(nearest_key("x", {}) == "");
}

}  // namespace
