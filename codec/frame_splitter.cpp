#include "codec/frame_splitter.h"

#include <string>
#include <utility>

#include "codec/frame_search.h"
#include "codec/frame_walk.h"

namespace memtrack {

Result<std::optional<FrameRef>> FrameSplitter::next() {
  if (done_) return std::nullopt;
  const auto fail = [this](ErrorCode code, std::string message) -> Result<std::optional<FrameRef>> {
    done_ = true;
    Error error{.code = code, .message = std::move(message)};
    if (code != ErrorCode::kEmptyFile && code != ErrorCode::kNotAnArtifact) {
      error.frame = number_;
      error.offset = offset_;
    }
    return std::unexpected(std::move(error));
  };
  if (artifact_.empty()) return fail(ErrorCode::kEmptyFile, "the file is empty, not an artifact");
  if (offset_ == artifact_.size()) {
    done_ = true;
    return std::nullopt;
  }

  const std::span<const std::byte> rest = artifact_.subspan(offset_);
  const FrameWalk walk = walk_frame(rest);
  switch (walk.shape) {
    case FrameWalk::Shape::kNoFrame:
      if (offset_ == 0) return fail(ErrorCode::kNotAnArtifact, "not an artifact: it does not begin with a zstd frame");
      return fail(ErrorCode::kCorruptFrame, "damaged: what follows the frame before is no zstd frame");
    case FrameWalk::Shape::kLegacy:
      return fail(ErrorCode::kUnsupportedFrame, "a frame of the legacy format of zstd before 0.8 is not supported");
    case FrameWalk::Shape::kBroken:
      return fail(ErrorCode::kCorruptFrame, std::string("damaged frame: ") + walk.reason);
    case FrameWalk::Shape::kCut:
    case FrameWalk::Shape::kWhole:
      break;
  }
  if (walk.dictionary_id != 0) {
    return fail(ErrorCode::kUnsupportedFrame,
                "a frame that needs dictionary " + std::to_string(walk.dictionary_id) + " is not supported");
  }
  const bool cut = walk.shape == FrameWalk::Shape::kCut;
  if (cut && frame_follows(rest, walk)) {
    return fail(ErrorCode::kCorruptFrame, "damaged frame: its end can't be found, yet other frames follow");
  }
  const FrameRef frame{.number = number_,
                       .offset = offset_,
                       .size = walk.size,
                       .skippable = walk.skippable,
                       .cut = cut,
                       .content_size = walk.content_size};
  done_ = cut;
  offset_ += walk.size;
  ++number_;
  return frame;
}

}  // namespace memtrack
