#include "codec/frame_cursor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "codec/byte_buffer.h"
#include "codec/frame_decoder.h"

namespace memtrack {
namespace {

// First guess of how much of the next piece completes an event that straddles two pieces.
constexpr std::size_t kFirstTopUpBytes = 512;
// Content that one call passes at most, or a piece more.
constexpr std::uint64_t kStepBytes = 8u << 20;

}  // namespace

struct FrameCursor::State {
  explicit State(const DecodeOptions& decode_options) : options(decode_options), decoder(decode_options.limits) {}

  DecodeOptions options;
  FrameDecoder decoder;
  DecodeCounters counters;
  FrameRef frame{};
  bool ended = true;
  std::uint64_t content_offset = 0;  // in the decompressed frame: of what is decoded next
  std::span<const std::byte> piece;  // what is left of it
  ByteBuffer carry;                  // the beginning of an event whose end is in the piece

  Result<void> next_piece();
  Result<void> decode(EventBatch& out);
  Result<void> decode_carry(EventBatch& out);
  Result<void> settle(const DecodeStep& step);
  [[nodiscard]] Error malformed(const std::string& reason) const;
};

Result<void> FrameCursor::State::next_piece() {
  auto got = decoder.next();
  if (!got) return std::unexpected(std::move(got.error()));
  piece = *got;
  if (!piece.empty()) return {};
  ended = true;
  if (carry.empty() || decoder.cut()) return {};
  return std::unexpected(malformed("the frame ends inside an event"));
}

Error FrameCursor::State::malformed(const std::string& reason) const {
  return Error{
      .code = ErrorCode::kMalformedEvent,
      .message = "malformed event at byte " + std::to_string(content_offset) + " of the frame's content: " + reason,
      .frame = frame.number,
      .offset = frame.offset};
}

Result<void> FrameCursor::State::settle(const DecodeStep& step) {
  content_offset += step.consumed;
  if (step.status == DecodeStep::Status::kMalformed) return std::unexpected(malformed(step.reason));
  return {};
}

Result<void> FrameCursor::State::decode(EventBatch& out) {
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
Result<void> FrameCursor::State::decode_carry(EventBatch& out) {
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

FrameCursor::FrameCursor(const DecodeOptions& options) : state_(std::make_unique<State>(options)) {}
FrameCursor::FrameCursor(FrameCursor&&) noexcept = default;
FrameCursor& FrameCursor::operator=(FrameCursor&&) noexcept = default;
FrameCursor::~FrameCursor() = default;

Result<void> FrameCursor::begin(const FrameRef& frame, std::span<const std::byte> frame_bytes) {
  State& state = *state_;
  state.frame = frame;
  state.ended = true;
  state.content_offset = 0;
  state.piece = {};
  state.carry.clear();
  if (auto begun = state.decoder.begin(frame, frame_bytes); !begun) return begun;
  state.ended = false;
  return {};
}

Result<FrameCursor::Status> FrameCursor::next(EventBatch& out, std::size_t payload_bytes) {
  State& state = *state_;
  const std::uint64_t step_end = state.content_offset + kStepBytes;
  while (!state.ended) {
    if (out.room() == 0 || out.payload_bytes() >= payload_bytes || state.content_offset > step_end)
      return Status::kMore;
    auto went_on = state.piece.empty() ? state.next_piece() : state.decode(out);
    if (went_on) continue;
    state.ended = true;
    return std::unexpected(std::move(went_on.error()));
  }
  return Status::kEnd;
}

bool FrameCursor::cut() const {
  return state_->decoder.cut();
}
const DecodeCounters& FrameCursor::counters() const {
  return state_->counters;
}
std::uint64_t FrameCursor::bytes_read() const {
  return state_->decoder.bytes_read();
}

}  // namespace memtrack
