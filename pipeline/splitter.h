// Splitter: where the frames are that have to be decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "codec/frame_splitter.h"
#include "codec/index.h"
#include "pipeline/read_parts.h"

namespace memtrack::pipeline {

/// Gives the frames of an artifact that may hold selected events, in file order and numbered.
///
/// Promises: a trusted index is used for all that it knows: where frames are, which hold no selected event, and, for
/// module events alone, its own copy of them in the place of the data. An index that is absent, foreign or damaged
/// changes nothing but the speed: frames are found by their headers. Skippable frames make no job, a cut one does.
/// Ownership: the artifact's bytes must outlive it. Threads: one at a time. Bounds: the index, some 70 bytes a frame;
/// making one decodes the index's module events once, to know that they can be trusted.
/// Failure: an error is the last job, in its place in the order, so that what comes before it is read.
class Splitter {
 public:
  Splitter(const ArtifactView& artifact, const ReadOptions& options);

  /// The next frame; nothing at the end.
  [[nodiscard]] std::optional<FrameJob> next();
  /// All jobs so far are below this number.
  [[nodiscard]] std::uint64_t next_seq() const { return next_seq_; }
  /// The frames are those of the index's module section.
  [[nodiscard]] bool from_index() const { return mode_ == Mode::kModules; }

 private:
  enum class Mode { kHeaders, kIndexed, kModules };

  void choose_mode(const ReadOptions& options);
  [[nodiscard]] std::optional<FrameJob> next_indexed();
  [[nodiscard]] std::optional<FrameJob> next_by_header();

  ArtifactView artifact_;
  ReadSelection selection_;
  Mode mode_ = Mode::kHeaders;
  std::optional<ParsedIndex> index_;
  std::span<const std::byte> bytes_;  // that frames_ splits
  std::uint64_t base_ = 0;            // their offset in the artifact
  FrameSplitter frames_;
  std::uint64_t indexed_ = 0;  // entries passed
  std::uint64_t next_seq_ = 0;
  bool ended_ = false;
};

}  // namespace memtrack::pipeline
