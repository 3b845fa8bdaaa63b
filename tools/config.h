// Config: everything that a configuration file and flags can say about a capture, or a reading.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/capture_options.h"
#include "pipeline/synthetic_source.h"
#include "preload/preload_source.h"

namespace memtrack::tools {

enum class SourceKind { kPreload, kReplay, kSynthetic };
enum class LogLevel { kError, kWarning, kInfo, kDebug };
enum class ReadSelect { kAll, kModules };
enum class ProgressMode { kAuto, kAlways, kNever };

/// [read]: with files, a configuration reads instead of recording.
struct ReadConfig {
  std::vector<std::string> files = {};
  ReadSelect select = ReadSelect::kAll;
  std::uint32_t workers = 0;  // 0: one a processor
};

/// Passive data. What each member means, its unit, range and default: config_schema.cpp and configs/README.md.
struct Config {
  SourceKind source = SourceKind::kPreload;
  bool allow_loss = false;
  /// Of the preload source, with [target]; environment and an empty shim path are filled in when the source is made.
  preload::PreloadOptions preload = {};
  std::string replay_file = {};
  pipeline::SyntheticOptions synthetic = {};
  pipeline::CaptureOptions capture = {};
  ReadConfig read = {};
  LogLevel log_level = LogLevel::kInfo;
  ProgressMode progress = ProgressMode::kAuto;
  std::chrono::nanoseconds stats_interval = {};  // 0: none
};

}  // namespace memtrack::tools
