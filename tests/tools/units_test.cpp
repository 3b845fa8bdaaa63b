#include "tools/units.h"

#include <random>

#include <doctest/doctest.h>

#include "tests/support/seed.h"

namespace {

using namespace memtrack::tools;

TEST_CASE("sizes are read with binary and decimal units") {
  CHECK(parse_size("0B") == 0);
  CHECK(parse_size("1B") == 1);
  CHECK(parse_size("256KiB") == 256 * 1024);
  CHECK(parse_size("256 KiB") == 256 * 1024);
  CHECK(parse_size("1.5MiB") == 1536 * 1024);
  CHECK(parse_size("2GB") == 2'000'000'000);
  CHECK(parse_size("1TiB") == std::int64_t{1} << 40);
}

TEST_CASE("times are read with their units") {
  CHECK(parse_duration("100ms") == 100'000'000);
  CHECK(parse_duration("1.1s") == 1'100'000'000);
  CHECK(parse_duration("0.3s") == 300'000'000);
  CHECK(parse_duration("2min") == 120'000'000'000);
  CHECK(parse_duration("7ns") == 7);
  CHECK(parse_duration("0s") == 0);
}

TEST_CASE("a size without a unit, with a wrong unit or without a number says what would be right") {
  CHECK(parse_size("256").error() ==
        "\"256\" has no unit; write one of B, KiB, MiB, GiB, TiB, KB, MB, GB, TB, for example \"256KiB\"");
  CHECK(parse_size("100ms").error() ==
        "\"100ms\" has the unknown unit \"ms\"; a size has one of B, KiB, MiB, GiB, TiB, KB, MB, GB, TB");
  CHECK(parse_size("256kib").error().find("unknown unit \"kib\"") != std::string::npos);
  CHECK(parse_size("").error().find("is no size") != std::string::npos);
  CHECK(parse_size("KiB").error().find("is no size") != std::string::npos);
  CHECK(parse_size("-1KiB").error().find("is no size") != std::string::npos);
  CHECK(parse_size("1.2.3KiB").error().find("is no size") != std::string::npos);
  CHECK(parse_size("1  KiB").error().find("unknown unit") != std::string::npos);
}

TEST_CASE("a fraction of the smallest unit and a number beyond 64 bits are refused") {
  CHECK(parse_size("0.5B").error().find("not a whole number") != std::string::npos);
  CHECK(parse_size("1.1KiB").error().find("not a whole number") != std::string::npos);
  CHECK(parse_size("9999999TiB").error().find("too large") != std::string::npos);
  CHECK(parse_duration("99999999999h").error().find("too large") != std::string::npos);
}

TEST_CASE("exact texts are read back as the same number") {
  const std::uint64_t seed = memtrack::test::test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 10'000; ++i) {
    const auto value = static_cast<std::int64_t>(random() >> (13 + random() % 50));
    INFO("value ", value);
    REQUIRE(parse_size(exact_size(value)) == value);
    REQUIRE(parse_duration(exact_duration(value)) == value);
  }
  CHECK(exact_size(0) == "0B");
  CHECK(exact_size(1536 * 1024) == "1536KiB");
  CHECK(exact_size(1500) == "1500B");
  CHECK(exact_duration(90'000'000'000) == "90s");
  CHECK(exact_duration(100'000'000) == "100ms");
}

TEST_CASE("numbers for people are short") {
  CHECK(human_size(0) == "0 B");
  CHECK(human_size(1023) == "1023 B");
  CHECK(human_size(12'900'000) == "12.3 MiB");
  CHECK(human_count(0) == "0");
  CHECK(human_count(999) == "999");
  CHECK(human_count(1'234'567) == "1,234,567");
  CHECK(human_count(1, "event") == "1 event");
  CHECK(human_count(2000, "event") == "2,000 events");
  CHECK(human_duration(12'345'678) == "12.3 ms");
  CHECK(human_duration(3'210'000'000) == "3.21 s");
  CHECK(human_duration(150'000'000'000) == "2 min 30 s");
  CHECK(human_duration(7'260'000'000'000) == "2 h 1 min");
}

}  // namespace
