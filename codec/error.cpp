#include "codec/error.h"

#include <system_error>
#include <utility>

namespace memtrack {

std::string to_string(const Error& error) {
  std::string text;
  if (!error.path.empty()) text += error.path + ": ";
  text += error.message.empty() ? std::string(to_string(error.code)) : error.message;
  if (error.frame && error.offset) {
    text += " (frame " + std::to_string(*error.frame) + " at byte " + std::to_string(*error.offset) + ")";
  } else if (error.frame) {
    text += " (frame " + std::to_string(*error.frame) + ")";
  } else if (error.offset) {
    text += " (at byte " + std::to_string(*error.offset) + ")";
  }
  if (error.system_errno != 0) text += ": " + std::generic_category().message(error.system_errno);
  return text;
}

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kFileShrank:
      return "file_shrank";
    case ErrorCode::kEmptyFile:
      return "empty_file";
    case ErrorCode::kNotAnArtifact:
      return "not_an_artifact";
    case ErrorCode::kCorruptFrame:
      return "corrupt_frame";
    case ErrorCode::kMalformedEvent:
      return "malformed_event";
    case ErrorCode::kUnsupportedFrame:
      return "unsupported_frame";
    case ErrorCode::kLimitExceeded:
      return "limit_exceeded";
    case ErrorCode::kCorruptIndex:
      return "corrupt_index";
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kTargetNotFound:
      return "target_not_found";
    case ErrorCode::kTargetNotExecutable:
      return "target_not_executable";
    case ErrorCode::kTargetUntrackable:
      return "target_untrackable";
    case ErrorCode::kStageFailed:
      return "stage_failed";
    case ErrorCode::kStageStuck:
      return "stage_stuck";
    case ErrorCode::kClosed:
      return "closed";
  }
  return "unknown";
}

Error invalid_argument(std::string message) {
  return Error{.code = ErrorCode::kInvalidArgument, .message = std::move(message)};
}

Error io_error(std::string message, std::string path, int system_errno) {
  return Error{
      .code = ErrorCode::kIo, .message = std::move(message), .path = std::move(path), .system_errno = system_errno};
}

}  // namespace memtrack
