// ModuleSpill: the module events of a capture, kept on disk until the index is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "codec/byte_buffer.h"
#include "codec/error.h"
#include "codec/event_batch.h"
#include "codec/event_encoder.h"
#include "codec/frame_encoder.h"
#include "pipeline/output_file.h"

namespace memtrack::pipeline {

/// Whole events at the front of encoded ones.
struct EventPiece {
  std::size_t bytes = 0;
  FrameSummary summary = {};
};
/// The events at the front of `bytes` that end within `most_bytes` and fit into `scratch`, at least one where there is
/// a whole one. 0 bytes where there is none. Fails with kMalformedEvent where the bytes are no events.
[[nodiscard]] Result<EventPiece> front_events(std::span<const std::byte> bytes, std::size_t most_bytes,
                                              EventBatch& scratch);

/// Compresses encoded module events into zstd frames of at most 64 KiB of content (a single larger event aside) and
/// spills them to an unlinked file in `directory`.
/// Promises: once more than `most_bytes` have been appended, everything is dropped: present() is false from then on.
/// Memory: one such frame and the encoder. Threads: one at a time; blocks on disk.
class ModuleSpill {
 public:
  ModuleSpill(std::string directory, std::uint64_t most_bytes, FrameEncoder encoder);

  /// `events`: whole encoded events.
  [[nodiscard]] Result<void> append(std::span<const std::byte> events);
  /// From now on nothing is present.
  void drop();
  /// After the last append().
  [[nodiscard]] Result<void> flush();
  [[nodiscard]] bool present() const { return present_; }
  /// Compressed; complete after flush().
  [[nodiscard]] std::uint64_t size() const { return present_ ? spill_.size() : 0; }
  [[nodiscard]] Result<void> copy_to(OutputFile& out) const;

 private:
  [[nodiscard]] Result<void> append_large(std::span<const std::byte> events);

  std::uint64_t bytes_left_;
  FrameEncoder encoder_;
  SpillFile spill_;
  ByteBuffer content_;     // of the next frame
  ByteBuffer compressed_;  // reused
  EventBatch scratch_;
  bool present_ = true;
};

}  // namespace memtrack::pipeline
