// What `stat` prints about one artifact.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "codec/index.h"
#include "codec/loss.h"
#include "tools/artifact_reader.h"
#include "tools/artifact_statistics.h"

namespace memtrack::tools {

struct StatReport {
  std::string path = {};
  ReadOutcome outcome = {};
  ArtifactStatistics statistics = {};
  std::uint64_t file_bytes = 0;
  std::optional<std::uint64_t> raw_bytes = {};  ///< decompressed; nothing where it can't be told
  std::optional<LossCounters> losses = {};      ///< nothing without an index
  std::optional<Digest> digest = {};            ///< the index answers: nothing was decoded, `statistics` is empty
};

/// Appends some lines for people.
void append_stat_text(const StatReport& report, std::string& out);
/// Appends one JSON object and '\n'.
void append_stat_json(const StatReport& report, std::string& out);

}  // namespace memtrack::tools
