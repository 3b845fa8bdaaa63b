// Content of frames as other writers might make it: any key order, any width, extra keys, unknown kinds, broken events.
#pragma once

#include <cstddef>
#include <random>

#include "tests/codec/codec_test_support.h"

namespace memtrack::test {

enum class OddParts {
  kNone,        ///< allocation kinds in written form, of few threads: what nearly all events are
  kLegal,       ///< and in between what a reader must accept
  kIllegalToo,  ///< and what it must refuse
};

/// `count` events back to back.
[[nodiscard]] Bytes mixed_content(std::mt19937_64& random, std::size_t count, OddParts parts);

}  // namespace memtrack::test
