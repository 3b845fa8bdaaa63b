// PreloadSource: events of a target that carries our LD_PRELOAD shim. Needs no privilege and no kernel feature.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/event_source.h"

namespace memtrack::preload {

enum class OnFull { kBlock, kDrop };
enum class WaitFor { kRoot, kTree };

struct PreloadOptions {
  std::vector<std::string> command;          ///< argv of the target
  std::vector<std::string> environment;      ///< of the target, without our variables
  std::uint64_t segment_bytes = 256u << 20;  ///< bounds all rings together
  std::uint64_t ring_bytes = 1u << 20;       ///< of each thread; a power of two, 4 KiB at least
  OnFull on_full = OnFull::kBlock;
  WaitFor wait = WaitFor::kRoot;
  std::chrono::nanoseconds rss_interval = std::chrono::milliseconds(100);  ///< 0: no Rss events
  bool start_enabled = true;  ///< false: allocation events only after set_enabled(true)
  std::string shim_path;      ///< of libmemtrack_preload.so
};

/// See EventSource for the contract. open() makes the segment and the held target; kTargetUntrackable names why the
/// shim can't see a target (static, setuid, other architecture or C library) and points to the bpf source.
[[nodiscard]] std::unique_ptr<pipeline::EventSource> make_preload_source(PreloadOptions options);

}  // namespace memtrack::preload
