#include "tools/utf8.h"

#include <doctest/doctest.h>

namespace {

using memtrack::tools::is_utf8;

TEST_CASE("well-formed UTF-8 of every length is accepted") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("plain"));
  CHECK(is_utf8("\xC3\xA9"));
  CHECK(is_utf8("\xE2\x82\xAC"));
  CHECK(is_utf8("\xF0\x9F\x98\x80"));
}

TEST_CASE("cut, overlong, surrogate and too large sequences are refused") {
  CHECK_FALSE(is_utf8("\xC3"));
  CHECK_FALSE(is_utf8("\xE2\x82"));
  CHECK_FALSE(is_utf8("\x80"));
  CHECK_FALSE(is_utf8("\xFF"));
  CHECK_FALSE(is_utf8("\xC3z"));
  CHECK_FALSE(is_utf8("\xC0\x80"));
  CHECK_FALSE(is_utf8("\xE0\x80\xAF"));
  CHECK_FALSE(is_utf8("\xED\xA0\x80"));
  CHECK_FALSE(is_utf8("\xF4\x90\x80\x80"));
}

}  // namespace
