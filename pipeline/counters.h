// The numbers of a running or finished capture.
#pragma once

#include <cstdint>

#include "codec/loss.h"

namespace memtrack::pipeline {

/// A snapshot. Counters only grow; each is exact once the capture is over.
struct CaptureCounters {
  std::uint64_t events_polled = 0;
  std::uint64_t events_written = 0;
  std::uint64_t chunks = 0;
  std::uint64_t batches = 0;
  std::uint64_t frames_written = 0;
  std::uint64_t raw_bytes = 0;   ///< MessagePack, before compression
  std::uint64_t file_bytes = 0;  ///< of the artifact so far, index included
  std::uint64_t queue_full = 0;  ///< times a stage had to wait for room
  LossCounters losses = {};
};

}  // namespace memtrack::pipeline
