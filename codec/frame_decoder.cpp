#include "codec/frame_decoder.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include <zstd.h>

#include "codec/frame_walk.h"

namespace memtrack {
namespace {

constexpr std::size_t kPieceBytes = 128u << 10;

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

struct FrameDecoder::Context {
  DecodeLimits limits;
  std::unique_ptr<ZSTD_DCtx, FreeContext> zstd{ZSTD_createDCtx()};
  std::vector<std::byte> piece = std::vector<std::byte>(kPieceBytes);
  FrameRef frame{};
  ZSTD_inBuffer in{};
  bool ended = true;

  [[nodiscard]] std::unexpected<Error> fail(ErrorCode code, std::string message) {
    ended = true;
    return std::unexpected(
        Error{.code = code, .message = std::move(message), .frame = frame.number, .offset = frame.offset});
  }
};

FrameDecoder::FrameDecoder(const DecodeLimits& limits) : context_(std::make_unique<Context>()) {
  context_->limits = limits;
  if (!context_->zstd) throw std::bad_alloc();
  // begin() compares the window exactly; zstd's own limit is the next power of two.
  const auto bounds = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
  const int window_log = static_cast<int>(std::bit_width(std::max<std::uint64_t>(limits.window_bytes, 1) - 1));
  ZSTD_DCtx_setParameter(context_->zstd.get(), ZSTD_d_windowLogMax,
                         std::clamp(window_log, bounds.lowerBound, bounds.upperBound));
}
FrameDecoder::FrameDecoder(FrameDecoder&&) noexcept = default;
FrameDecoder& FrameDecoder::operator=(FrameDecoder&&) noexcept = default;
FrameDecoder::~FrameDecoder() = default;

Result<void> FrameDecoder::begin(const FrameRef& frame, std::span<const std::byte> frame_bytes) {
  Context& context = *context_;
  ZSTD_DCtx_reset(context.zstd.get(), ZSTD_reset_session_only);
  context.frame = frame;
  context.in = {};
  context.ended = false;
  if (frame.skippable) {
    context.ended = true;
    return {};
  }
  // Of a cut frame only whole blocks are fed: what is behind them may be anything.
  const FrameWalk walk = frame.cut ? walk_frame(frame_bytes) : read_frame_header(frame_bytes);
  if (!walk.has_header) {
    context.ended = true;
    if (frame.cut && walk.shape == FrameWalk::Shape::kCut) return {};
    return context.fail(ErrorCode::kCorruptFrame, "damaged frame: its header can't be read");
  }
  if (walk.dictionary_id != 0) {
    return context.fail(ErrorCode::kUnsupportedFrame,
                        "a frame that needs dictionary " + std::to_string(walk.dictionary_id) + " is not supported");
  }
  if (walk.window_bytes > context.limits.window_bytes) {
    return context.fail(ErrorCode::kLimitExceeded, "a frame asks for a window of " + std::to_string(walk.window_bytes) +
                                                       " bytes; the cap is " +
                                                       std::to_string(context.limits.window_bytes));
  }
  context.in = {frame_bytes.data(), frame.cut ? walk.whole_blocks_end : frame_bytes.size(), 0};
  return {};
}

Result<std::span<const std::byte>> FrameDecoder::next() {
  Context& context = *context_;
  if (context.ended) return std::span<const std::byte>{};
  ZSTD_outBuffer out = {context.piece.data(), context.piece.size(), 0};
  while (out.pos < out.size) {
    const std::size_t produced_before = out.pos;
    const std::size_t consumed_before = context.in.pos;
    const std::size_t hint = ZSTD_decompressStream(context.zstd.get(), &out, &context.in);
    if (ZSTD_isError(hint) != 0) {
      return context.fail(ErrorCode::kCorruptFrame, std::string("damaged frame: ") + ZSTD_getErrorName(hint));
    }
    if (hint == 0) {
      context.ended = true;
      if (context.in.pos == context.in.size) break;
      return context.fail(ErrorCode::kCorruptFrame, "damaged frame: it ends before its last byte");
    }
    const bool stalled = out.pos == produced_before && context.in.pos == consumed_before;
    if (stalled) {
      context.ended = true;
      if (context.frame.cut) break;
      return context.fail(ErrorCode::kCorruptFrame, "damaged frame: its bytes end before its content");
    }
  }
  return std::span<const std::byte>(context.piece.data(), out.pos);
}

bool FrameDecoder::cut() const {
  return context_->ended && context_->frame.cut;
}

std::uint64_t FrameDecoder::bytes_read() const {
  return context_->in.pos;
}

}  // namespace memtrack
