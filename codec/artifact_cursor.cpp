#include "codec/artifact_cursor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "codec/byte_buffer.h"
#include "codec/frame_decoder.h"
#include "codec/frame_splitter.h"

namespace memtrack {
namespace {

// First guess of how much of the next piece completes an event that straddles two pieces.
constexpr std::size_t kFirstTopUpBytes = 512;

}  // namespace

struct ArtifactCursor::State {
  State(std::span<const std::byte> bytes, const DecodeOptions& decode_options)
      : artifact(bytes), options(decode_options), splitter(bytes), decoder(decode_options.limits) {}

  std::span<const std::byte> artifact;
  DecodeOptions options;
  FrameSplitter splitter;
  FrameDecoder decoder;
  DecodeCounters counters;
  FrameRef frame{};
  bool in_frame = false;
  bool ended = false;
  bool truncated = false;
  std::uint64_t frames = 0;
  std::uint64_t finished_bytes = 0;
  std::uint64_t content_offset = 0;  // in the decompressed frame: of what is decoded next
  std::span<const std::byte> piece;  // what is left of it
  ByteBuffer carry;                  // the beginning of an event whose end is in the piece

  Result<bool> next_frame();
  Result<bool> next_piece();
  Result<bool> end_of_frame();
  Result<bool> decode(EventBatch& out);
  Result<bool> decode_carry(EventBatch& out);
  Result<bool> settle(const DecodeStep& step);
  Error malformed(std::string reason) const;
};

// Each of the following gives false where the artifact (or, in decode, the room in the batch) is at its end.

Result<bool> ArtifactCursor::State::next_frame() {
  auto found = splitter.next();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return false;
  frame = **found;
  if (frame.skippable) {
    truncated = truncated || frame.cut;
    finished_bytes = frame.offset + frame.size;
    return true;
  }
  ++frames;
  content_offset = 0;
  if (auto begun = decoder.begin(frame, artifact.subspan(frame.offset, frame.size)); !begun) {
    return std::unexpected(std::move(begun.error()));
  }
  in_frame = true;
  return true;
}

Result<bool> ArtifactCursor::State::next_piece() {
  auto got = decoder.next();
  if (!got) return std::unexpected(std::move(got.error()));
  piece = *got;
  return piece.empty() ? end_of_frame() : true;
}

Result<bool> ArtifactCursor::State::end_of_frame() {
  in_frame = false;
  finished_bytes = frame.offset + frame.size;
  if (decoder.cut()) {
    truncated = true;
    carry.clear();
  }
  if (!carry.empty()) return std::unexpected(malformed("the frame ends inside an event"));
  return true;
}

Error ArtifactCursor::State::malformed(std::string reason) const {
  return Error{
      .code = ErrorCode::kMalformedEvent,
      .message = "malformed event at byte " + std::to_string(content_offset) + " of the frame's content: " + reason,
      .frame = frame.number,
      .offset = frame.offset};
}

Result<bool> ArtifactCursor::State::settle(const DecodeStep& step) {
  content_offset += step.consumed;
  if (step.status == DecodeStep::Status::kMalformed) return std::unexpected(malformed(step.reason));
  return step.status != DecodeStep::Status::kBatchFull;
}

Result<bool> ArtifactCursor::State::decode(EventBatch& out) {
  if (!carry.empty()) return decode_carry(out);
  const DecodeStep step = decode_events(piece, out, counters, options);
  piece = piece.subspan(step.consumed);
  if (step.status == DecodeStep::Status::kNeedMore) {
    carry.append(piece);
    piece = {};
  }
  return settle(step);
}

// Copies as little of the piece as completes the event; doubling keeps the work linear for an event of any size.
Result<bool> ArtifactCursor::State::decode_carry(EventBatch& out) {
  const std::size_t carried = carry.size();
  const std::size_t taken = std::min(piece.size(), std::max(kFirstTopUpBytes, carried));
  carry.append(piece.first(taken));
  const DecodeStep step = decode_events(carry.bytes(), out, counters, options);
  if (step.consumed > carried) {
    piece = piece.subspan(step.consumed - carried);
    carry.clear();
  } else if (step.status == DecodeStep::Status::kNeedMore) {
    piece = piece.subspan(taken);
  }
  return settle(step);
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
    auto went_on = !state.piece.empty() ? state.decode(out) : state.in_frame ? state.next_piece() : state.next_frame();
    if (!went_on) {
      state.ended = true;
      return std::unexpected(std::move(went_on.error()));
    }
    if (!*went_on && !state.in_frame) state.ended = true;
  }
  return Status::kEnd;
}

bool ArtifactCursor::truncated() const {
  return state_->truncated;
}
const DecodeCounters& ArtifactCursor::counters() const {
  return state_->counters;
}
std::uint64_t ArtifactCursor::frames() const {
  return state_->frames;
}
std::uint64_t ArtifactCursor::bytes_read() const {
  const State& state = *state_;
  return state.in_frame ? state.frame.offset + state.decoder.bytes_read() : state.finished_bytes;
}

}  // namespace memtrack
