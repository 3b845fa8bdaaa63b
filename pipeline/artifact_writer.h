// ArtifactWriter: frames in any order in, an artifact on disk out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "codec/error.h"
#include "codec/loss.h"
#include "pipeline/batch.h"
#include "pipeline/capture_options.h"

namespace memtrack::pipeline {

/// "<root pid>.MemtrackArtifact.msgpack"
[[nodiscard]] std::string artifact_name(std::int32_t root_pid);

/// Writes `<directory>/<name>.part`, renames it to `<name>` when it is complete.
///
/// How to use: create(), add() each frame, finish(). Destroyed before finish(), it leaves the `.part` with all frames
/// that were written; salvage() adds what suffix mode holds back, discard() removes a file that nobody needs.
/// Promises: frames are written strictly by sequence number from 0, each as soon as its predecessors are there; a file
/// without events gets one empty frame; the file is created with mode 0600, never through a symlink; an existing
/// artifact of that name is replaced only by the rename.
/// Bounds: holds fewer frames than the SequenceWindow in front of it is wide; module events for the index and Mapping
/// events of suffix mode go to unlinked temporary files beside the artifact, so a crash loses the latter; the index
/// keeps 72 bytes a frame for at most options.index_frames, and is left out, with a note, where there are more. Errors:
/// the first failing write (kIo with path and errno) ends it; what was written before stays readable. Threads: one at a
/// time; blocks on disk.
class ArtifactWriter {
 public:
  struct Totals {
    std::uint64_t events = 0;
    std::uint64_t frames = 0;     ///< data frames
    std::uint64_t raw_bytes = 0;  ///< decompressed bytes of all data frames
    std::uint64_t file_bytes = 0;
    std::string path = {};  ///< of the finished artifact
    std::string note = {};  ///< for people: what the artifact lacks; mostly empty
  };

  /// Fails with kInvalidArgument where the artifact would take the place of options.input.
  [[nodiscard]] static Result<ArtifactWriter> create(const WriteOptions& options, const CompressOptions& compress,
                                                     std::int32_t root_pid);
  ArtifactWriter(ArtifactWriter&&) noexcept;
  ArtifactWriter& operator=(ArtifactWriter&&) noexcept;
  ~ArtifactWriter();

  [[nodiscard]] Result<void> add(Frame frame);
  /// All frames below this number are in the file.
  [[nodiscard]] std::uint64_t written_seq() const;
  /// fdatasync of what is written, where options.sync says so.
  [[nodiscard]] Result<void> sync();
  /// Writes suffix, index and losses; syncs if so configured; renames. Precondition: no frame is missing.
  [[nodiscard]] Result<Totals> finish(const LossCounters& losses);
  /// Instead of finish(), where another stage has failed: writes the suffix of what came. The `.part` stays.
  [[nodiscard]] Result<void> salvage();
  /// Removes the `.part`, if it is still this one's. Nothing may be called after it.
  void discard();
  [[nodiscard]] Totals totals() const;

 private:
  struct State;
  explicit ArtifactWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace memtrack::pipeline
