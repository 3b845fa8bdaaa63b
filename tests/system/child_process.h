// ChildProcess: a program with pipes, for tests; no shell in between.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace memtrack::test {

struct Outcome {
  int code = -1;  ///< exit status; 128+N where signal N ended it, as a shell says it
  std::string out = {};
  std::string err = {};
};

struct ChildOptions {
  std::string directory = {};                 ///< working directory; empty: that of the test
  std::vector<std::string> environment = {};  ///< "NAME=value", on top of the test's own
  std::string stdout_path = {};               ///< a file instead of the pipe
  std::string stdin_path = "/dev/null";       ///< empty: a pipe, see write_input()
};

/// Starts at construction. Whatever goes wrong in here is a std::runtime_error, a minute or two without news included.
/// A child that is still there at destruction is killed.
class ChildProcess {
 public:
  explicit ChildProcess(const std::vector<std::string>& arguments, const ChildOptions& options = {});
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  void write_input(std::string_view text) const;
  void close_input();
  void close_output();
  /// Reads until the text has been seen since the start, in standard output or error.
  void read_output_until(std::string_view text);
  void read_error_until(std::string_view text);
  void send(int signal) const;
  /// Sends again and again, at least `pause` apart, until the child has ended.
  void send_until_end(int signal, std::chrono::milliseconds pause);
  /// Closes the input, reads everything and waits.
  [[nodiscard]] Outcome wait();
  /// The same for a child that must end for another reason than the end of its input.
  [[nodiscard]] Outcome wait_with_open_input();

 private:
  void read_some(std::chrono::milliseconds timeout);
  void read_until(const std::string& seen, std::string_view text);
  [[nodiscard]] bool reap(bool block);

  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  int error_ = -1;
  Outcome outcome_;
  bool ended_ = false;
};

/// Runs a program to its end.
[[nodiscard]] Outcome run(const std::vector<std::string>& arguments, const ChildOptions& options = {});

/// The path of a program in PATH; nothing where it is not installed.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

/// The lines of a text; a last one without '\n' counts.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

}  // namespace memtrack::test
