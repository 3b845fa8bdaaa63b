#include "codec/artifact_cursor.h"

#include <utility>

#include "codec/frame_cursor.h"
#include "codec/frame_splitter.h"

namespace memtrack {

struct ArtifactCursor::State {
  State(std::span<const std::byte> bytes, const DecodeOptions& options)
      : artifact(bytes), splitter(bytes), events(options) {}

  std::span<const std::byte> artifact;
  FrameSplitter splitter;
  FrameCursor events;
  FrameRef frame{};
  bool in_frame = false;
  bool ended = false;
  bool truncated = false;
  std::uint64_t frames = 0;
  std::uint64_t finished_bytes = 0;

  Result<void> next_frame();
  Result<void> next_events(EventBatch& out, std::size_t payload_bytes);
};

Result<void> ArtifactCursor::State::next_frame() {
  auto found = splitter.next();
  if (!found) return std::unexpected(std::move(found.error()));
  ended = !*found;
  if (ended) return {};
  frame = **found;
  if (frame.skippable) {
    truncated = truncated || frame.cut;
    finished_bytes = frame.offset + frame.size;
    return {};
  }
  ++frames;
  in_frame = true;
  return events.begin(frame, artifact.subspan(frame.offset, frame.size));
}

Result<void> ArtifactCursor::State::next_events(EventBatch& out, std::size_t payload_bytes) {
  const auto status = events.next(out, payload_bytes);
  if (!status) return std::unexpected(status.error());
  if (*status == FrameCursor::Status::kMore) return {};
  in_frame = false;
  finished_bytes = frame.offset + frame.size;
  truncated = truncated || events.cut();
  return {};
}

ArtifactCursor::ArtifactCursor(std::span<const std::byte> artifact, const DecodeOptions& options)
    : state_(std::make_unique<State>(artifact, options)) {}
ArtifactCursor::ArtifactCursor(ArtifactCursor&&) noexcept = default;
ArtifactCursor& ArtifactCursor::operator=(ArtifactCursor&&) noexcept = default;
ArtifactCursor::~ArtifactCursor() = default;

Result<ArtifactCursor::Status> ArtifactCursor::next(EventBatch& out, std::size_t payload_bytes) {
  State& state = *state_;
  while (!state.ended) {
    if (out.room() == 0 || out.payload_bytes() >= payload_bytes) return Status::kMore;
    auto went_on = state.in_frame ? state.next_events(out, payload_bytes) : state.next_frame();
    if (went_on) continue;
    state.ended = true;
    return std::unexpected(std::move(went_on.error()));
  }
  return Status::kEnd;
}

bool ArtifactCursor::truncated() const {
  return state_->truncated;
}
const DecodeCounters& ArtifactCursor::counters() const {
  return state_->events.counters();
}
std::uint64_t ArtifactCursor::frames() const {
  return state_->frames;
}
std::uint64_t ArtifactCursor::bytes_read() const {
  const State& state = *state_;
  return state.in_frame ? state.frame.offset + state.events.bytes_read() : state.finished_bytes;
}

}  // namespace memtrack
