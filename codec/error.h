// One error type for everything that can be handled: a code for programs, one clear sentence for people.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace memtrack {

enum class ErrorCode : std::uint8_t {
  kIo,                   ///< a system call on a file failed; `system_errno` says why
  kFileShrank,           ///< the file lost bytes while it was read
  kEmptyFile,            ///< 0 bytes: not even the empty frame that a run without events has
  kNotAnArtifact,        ///< the first bytes are no zstd frame
  kCorruptFrame,         ///< a frame that is not a cut last one can't be decoded
  kMalformedEvent,       ///< an intact frame holds bytes that are no event
  kUnsupportedFrame,     ///< legacy format, or a dictionary is needed
  kLimitExceeded,        ///< a declared or real size is over the configured cap
  kCorruptIndex,         ///< the index does not describe the file
  kInvalidArgument,      ///< the caller's mistake: a setting out of range, an unknown key
  kTargetNotFound,       ///< the command does not exist (exit code 127)
  kTargetNotExecutable,  ///< the command can't be executed (exit code 126)
  kTargetUntrackable,    ///< the chosen source can't see this target
  kStageFailed,          ///< a stage threw or reported what it can't go on from
  kStageStuck,           ///< the shutdown deadline passed; the message names the stage
  kClosed,               ///< the pipeline has already stopped
};

/// A value, cheap to move. `message` is one sentence without a trailing newline: what, where, what to do.
struct Error {
  ErrorCode code;
  std::string message;
  std::string path = {};                     ///< the file concerned, empty where there is none
  std::optional<std::uint64_t> frame = {};   ///< number of the frame, counted from 0, skippable frames included
  std::optional<std::uint64_t> offset = {};  ///< byte offset in the file
  int system_errno = 0;                      ///< 0 where no system call failed
};

template <class T>
using Result = std::expected<T, Error>;

/// The sentence for people: "PATH: message (frame N at byte M): strerror", parts left out where absent.
[[nodiscard]] std::string to_string(const Error& error);

/// The code's stable name, e.g. "corrupt_frame".
[[nodiscard]] std::string_view to_string(ErrorCode code);

/// Builds an error of the caller's.
[[nodiscard]] Error invalid_argument(std::string message);

/// Builds an `io` error from errno, which the caller passes so that nothing in between can change it.
[[nodiscard]] Error io_error(std::string message, std::string path, int system_errno);

}  // namespace memtrack
