// What tests of whole artifacts share: a folder that goes away, decoding, the stages in a plain loop.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "codec/artifact_cursor.h"
#include "pipeline/artifact_writer.h"
#include "pipeline/batcher.h"
#include "pipeline/compressor.h"
#include "pipeline/poller.h"
#include "tests/support/temporary_directory.h"

namespace memtrack::pipeline {

/// A temporary directory with paths as strings.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(directory_.path().string()) {}
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  test::TemporaryDirectory directory_;
  std::string path_;
};

inline std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE_MESSAGE(in.good(), path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// All events of an artifact and whether it was cut.
struct Decoded {
  EventBatch events;
  bool truncated;
};

inline Decoded decode_file(const std::string& path) {
  const auto bytes = read_file(path);
  Decoded decoded{.events = EventBatch(2'000'000), .truncated = false};
  ArtifactCursor cursor(bytes);
  const auto status = cursor.next(decoded.events);
  REQUIRE_MESSAGE(status, (status ? "" : to_string(status.error())));
  REQUIRE(*status == ArtifactCursor::Status::kEnd);
  decoded.truncated = cursor.truncated();
  return decoded;
}

inline bool same_events(const EventBatch& left, const EventBatch& right) {
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!same_event(left, i, right, i)) return false;
  }
  return true;
}

/// The four stages one after another, as they would run between queues. Frames reach the writer in random order.
struct StageLoop {
  CaptureOptions options = {};
  std::uint64_t seed = 1;
  std::size_t window = 1;  // frames that wait to be shuffled

  BufferPool<EventBatch> chunks{64, [] { return std::make_unique<EventBatch>(kChunkEvents); }};
  BufferPool<ByteBuffer> buffers{64, [] { return std::make_unique<ByteBuffer>(); }};

  /// Batches of everything the source gives.
  std::vector<Batch> batches_of(EventSource& source) {
    Poller poller(source, chunks, kChunkEvents);
    Batcher batcher(options.batch);
    std::vector<Batch> batches;
    for (bool ended = false; !ended;) {
      auto step = poller.step({});
      REQUIRE_MESSAGE(step, (step ? "" : to_string(step.error())));
      ended = step->ended;
      if (step->chunk) batcher.add(std::move(*step->chunk), {});
      while (auto batch = ended ? batcher.flush() : batcher.next_full()) batches.push_back(std::move(*batch));
    }
    return batches;
  }

  Compressor compressor() {
    auto made = Compressor::create(options.compress, options.write.mappings, options.write.index, buffers);
    REQUIRE(made);
    return std::move(*made);
  }

  std::vector<Frame> frames_of(EventSource& source) {
    Compressor stage = compressor();
    std::vector<Frame> frames;
    for (const Batch& batch : batches_of(source)) {
      auto frame = stage.compress(batch);
      REQUIRE(frame);
      frames.push_back(std::move(*frame));
    }
    return frames;
  }

  /// Adds frames to the writer, each up to `window` places from its own.
  void write(std::vector<Frame> frames, ArtifactWriter& writer) const {
    std::mt19937_64 random(seed);
    for (std::size_t begin = 0; begin < frames.size(); begin += window) {
      const auto first = frames.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = frames.begin() + static_cast<std::ptrdiff_t>(std::min(begin + window, frames.size()));
      std::shuffle(first, last, random);
    }
    for (Frame& frame : frames) REQUIRE(writer.add(std::move(frame)));
  }

  ArtifactWriter::Totals record(EventSource& source, const LossCounters& losses = {}) {
    REQUIRE(source.open());
    REQUIRE(source.start());
    auto writer = ArtifactWriter::create(options.write, options.compress, source.root_pid());
    REQUIRE_MESSAGE(writer, (writer ? "" : to_string(writer.error())));
    write(frames_of(source), *writer);
    const auto totals = writer->finish(losses);
    REQUIRE_MESSAGE(totals, (totals ? "" : to_string(totals.error())));
    return *totals;
  }
};

}  // namespace memtrack::pipeline
