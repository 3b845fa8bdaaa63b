#include "codec/frame_encoder.h"

#include <string>
#include <utility>

#include <zstd.h>

namespace memtrack {
namespace {

// From level 20 on zstd would ask for windows over the cap that our own reader has by default.
constexpr int kLastLevelWithSmallWindow = 19;
constexpr int kLargestWindowLog = 23;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

bool set(ZSTD_CCtx* context, ZSTD_cParameter parameter, int value) {
  return ZSTD_isError(ZSTD_CCtx_setParameter(context, parameter, value)) == 0;
}

}  // namespace

struct FrameEncoder::Context {
  std::unique_ptr<ZSTD_CCtx, FreeContext> zstd;
};

FrameEncoder::FrameEncoder(std::unique_ptr<Context> context) : context_(std::move(context)) {}
FrameEncoder::FrameEncoder(FrameEncoder&&) noexcept = default;
FrameEncoder& FrameEncoder::operator=(FrameEncoder&&) noexcept = default;
FrameEncoder::~FrameEncoder() = default;

Result<FrameEncoder> FrameEncoder::create(int level, bool checksum) {
  if (level < ZSTD_minCLevel() || level > ZSTD_maxCLevel()) {
    return std::unexpected(Error{.code = ErrorCode::kInvalidArgument,
                                 .message = "compression level " + std::to_string(level) + " is not one of zstd's (" +
                                            std::to_string(ZSTD_minCLevel()) + " to " +
                                            std::to_string(ZSTD_maxCLevel()) + ")"});
  }
  auto context = std::make_unique<Context>();
  context->zstd.reset(ZSTD_createCCtx());
  ZSTD_CCtx* zstd = context->zstd.get();
  if (zstd == nullptr) throw std::bad_alloc();
  bool accepted = set(zstd, ZSTD_c_compressionLevel, level) && set(zstd, ZSTD_c_contentSizeFlag, 1) &&
                  set(zstd, ZSTD_c_checksumFlag, checksum ? 1 : 0);
  if (level > kLastLevelWithSmallWindow) accepted = accepted && set(zstd, ZSTD_c_windowLog, kLargestWindowLog);
  if (!accepted) {
    return std::unexpected(Error{.code = ErrorCode::kInvalidArgument,
                                 .message = "zstd refused compression level " + std::to_string(level)});
  }
  return FrameEncoder(std::move(context));
}

Result<void> FrameEncoder::encode(std::span<const std::byte> content, ByteBuffer& out) {
  const std::size_t bound = ZSTD_compressBound(content.size());
  std::byte* to = out.prepare(bound);
  const std::size_t written = ZSTD_compress2(context_->zstd.get(), to, bound, content.data(), content.size());
  if (ZSTD_isError(written) != 0) {
    return std::unexpected(Error{.code = ErrorCode::kStageFailed,
                                 .message = std::string("compressing a frame failed: ") + ZSTD_getErrorName(written)});
  }
  out.commit(written);
  return {};
}

}  // namespace memtrack
