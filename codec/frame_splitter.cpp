#include "codec/frame_splitter.h"

#include <string>
#include <utility>

#include "codec/frame_search.h"
#include "codec/frame_walk.h"

namespace memtrack {
namespace {

// Why the bytes that `walk` is about are no frame to hand on; nothing where they are one, be it cut.
std::optional<Error> refusal(const FrameWalk& walk, std::span<const std::byte> rest, bool first) {
  switch (walk.shape) {
    case FrameWalk::Shape::kNoFrame:
      if (first) return Error{ErrorCode::kNotAnArtifact, "not an artifact: it does not begin with a zstd frame"};
      return Error{ErrorCode::kCorruptFrame, "damaged: what follows the frame before is no zstd frame"};
    case FrameWalk::Shape::kLegacy:
      return Error{ErrorCode::kUnsupportedFrame, "a frame of the legacy format of zstd before 0.8 is not supported"};
    case FrameWalk::Shape::kBroken:
      return Error{ErrorCode::kCorruptFrame, std::string("damaged frame: ") + walk.reason};
    case FrameWalk::Shape::kCut:
    case FrameWalk::Shape::kWhole:
      break;
  }
  if (walk.dictionary_id != 0) {
    return Error{ErrorCode::kUnsupportedFrame,
                 "a frame that needs dictionary " + std::to_string(walk.dictionary_id) + " is not supported"};
  }
  if (walk.shape == FrameWalk::Shape::kCut && frame_follows(rest, walk)) {
    return Error{ErrorCode::kCorruptFrame, "damaged frame: its end can't be found, yet other frames follow"};
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<FrameRef>> FrameSplitter::next() {
  if (done_) return std::nullopt;
  if (artifact_.empty()) {
    done_ = true;
    return std::unexpected(Error{ErrorCode::kEmptyFile, "the file is empty, not an artifact"});
  }
  if (offset_ == artifact_.size()) {
    done_ = true;
    return std::nullopt;
  }
  const std::span<const std::byte> rest = artifact_.subspan(offset_);
  const FrameWalk walk = walk_frame(rest);
  if (auto error = refusal(walk, rest, offset_ == 0)) {
    done_ = true;
    if (error->code != ErrorCode::kNotAnArtifact) {
      error->frame = number_;
      error->offset = offset_;
    }
    return std::unexpected(std::move(*error));
  }
  const FrameRef frame{.number = number_,
                       .offset = offset_,
                       .size = walk.size,
                       .skippable = walk.skippable,
                       .cut = walk.shape == FrameWalk::Shape::kCut,
                       .content_size = walk.content_size};
  done_ = frame.cut;
  offset_ += walk.size;
  ++number_;
  return frame;
}

}  // namespace memtrack
