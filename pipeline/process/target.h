// Target: the program under observation, started by us, held before its first instruction.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/error.h"
#include "pipeline/event_source.h"

namespace memtrack::pipeline {

struct TargetCommand {
  std::vector<std::string> argv;         ///< argv[0] is looked up in PATH as a shell would
  std::vector<std::string> environment;  ///< "NAME=value", all of it
};

/// A child process of ours that waits in front of execve until release().
///
/// Its stdin, stdout, stderr, working directory, process group and signal dispositions are those of the tracker; no
/// descriptor of the tracker leaks into it.
/// Errors: kTargetNotFound, kTargetNotExecutable (path and reason in the message).
/// Destroyed before release(): the waiting child ends without having run anything. Threads: one at a time.
class Target {
 public:
  /// An ignored SIGCHLD of this process becomes the default one, since exit statuses would be lost; the target's stays
  /// ignored.
  [[nodiscard]] static Result<Target> spawn(const TargetCommand& command);
  Target(Target&&) noexcept;
  Target& operator=(Target&&) noexcept;
  ~Target();

  [[nodiscard]] std::int32_t pid() const;
  /// The file that argv[0] stands for.
  [[nodiscard]] const std::string& executable() const;
  /// Lets it exec; reports why it could not.
  [[nodiscard]] Result<void> release();
  /// Reaps it if it has ended; never blocks.
  [[nodiscard]] std::optional<TargetExit> try_wait();

 private:
  struct State;
  explicit Target(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The file that a shell would run for `name`: kTargetNotFound or kTargetNotExecutable otherwise.
[[nodiscard]] Result<std::string> find_executable(const std::string& name, const std::string& path_variable);

}  // namespace memtrack::pipeline
