// SyntheticSource: seeded, endless variety for benchmarks and tests.
#pragma once

#include <cstdint>
#include <memory>

#include "pipeline/event_source.h"

namespace memtrack::pipeline {

enum class SyntheticMix {
  kRealistic,  ///< 48 % allocations, 42 % frees, 10 % reallocs; 4 threads; sizes 16-512, 5 % large up to 1 MiB; a
               ///< module event now and then. A possible history: no live address is allocated, no dead one freed.
  kUniform,    ///< every kind equally often, fields over their whole range
};

struct SyntheticOptions {
  std::uint64_t seed = 1;
  std::uint64_t events = 1'000'000;
  SyntheticMix mix = SyntheticMix::kRealistic;
  bool stack_hashes = false;
};

/// The same options give the same events.
[[nodiscard]] std::unique_ptr<EventSource> make_synthetic_source(const SyntheticOptions& options);

}  // namespace memtrack::pipeline
