#include "codec/frame_search.h"

#include <cstring>
#include <memory>
#include <vector>

#include <zstd.h>

#include "codec/index_layout.h"
#include "codec/limits.h"

namespace memtrack {
namespace {

constexpr int kMaxCandidates = 64;
constexpr std::size_t kTrialOutputBytes = 1u << 20;
constexpr std::size_t kTrialPieceBytes = 128u << 10;

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Whether the beginning of the frame (what is whole of it) decompresses.
bool decodes(std::span<const std::byte> frame) {
  const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  if (!context) throw std::bad_alloc();
  std::vector<std::byte> piece(kTrialPieceBytes);
  ZSTD_inBuffer in = {frame.data(), frame.size(), 0};
  for (std::size_t total = 0; total < kTrialOutputBytes;) {
    ZSTD_outBuffer out = {piece.data(), piece.size(), 0};
    const std::size_t left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left) != 0) return false;
    if (left == 0 || (in.pos == in.size && out.pos < out.size)) return true;
    total += out.pos;
  }
  return true;
}

bool is_frame(std::span<const std::byte> bytes) {
  const FrameWalk walk = walk_frame(bytes);
  // No reader of ours would open it, and the trial must not cost what the file asks for.
  if (walk.window_bytes > DecodeLimits{}.window_bytes) return false;
  if (walk.shape == FrameWalk::Shape::kWhole) return decodes(bytes.first(walk.size));
  const bool has_blocks = walk.shape == FrameWalk::Shape::kCut && walk.has_header &&
                          walk.whole_blocks_end > read_frame_header(bytes).whole_blocks_end;
  return has_blocks && decodes(bytes.first(walk.whole_blocks_end));
}

}  // namespace

bool frame_follows(std::span<const std::byte> rest, const FrameWalk& walk) {
  if (const auto table = find_seek_table(rest); table && table->offset > 0) return true;
  // A cut digest frame has frames inside it, which say nothing about what was behind it.
  if (walk.skippable && begins_digest(rest)) return false;
  constexpr unsigned char kMagic[] = {0x28, 0xB5, 0x2F, 0xFD};
  const std::byte* at = rest.data() + 1;
  const std::byte* const end = rest.data() + rest.size();
  for (int candidate = 0; candidate < kMaxCandidates && at < end; ++candidate) {
    const void* found = memmem(at, static_cast<std::size_t>(end - at), kMagic, sizeof kMagic);
    if (found == nullptr) return false;
    at = static_cast<const std::byte*>(found);
    if (is_frame({at, end})) return true;
    ++at;
  }
  return false;
}

}  // namespace memtrack
