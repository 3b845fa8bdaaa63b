// OutputStream: data to standard output in large writes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memtrack::tools {

/// How to use: append to text(), call flush_if_full() now and then, flush() at the end.
/// Bounds: about 256 KiB, plus what is appended between two calls.
/// Failure: a false return means that nothing more can be written; reader_gone() tells a closed pipe (`| head`), which
/// is no error, from one that write_errno() names. Precondition: SIGPIPE and SIGXFSZ do not kill.
class OutputStream {
 public:
  explicit OutputStream(int fd) : fd_(fd) {}

  [[nodiscard]] std::string& text() { return text_; }
  [[nodiscard]] bool flush_if_full() { return text_.size() < kFlushBytes || flush(); }
  [[nodiscard]] bool flush();
  /// What is appended so far, then `text`, which is not copied.
  [[nodiscard]] bool write(std::string_view text) { return flush() && put(text); }

  [[nodiscard]] bool failed() const { return errno_ != 0; }
  [[nodiscard]] bool reader_gone() const;
  [[nodiscard]] int write_errno() const { return errno_; }

 private:
  static constexpr std::size_t kFlushBytes = 256u << 10;

  [[nodiscard]] bool put(std::string_view text);

  int fd_;
  int errno_ = 0;
  std::string text_;
};

/// Flushes; tells a failed write on stderr. The exit code: `code`, kExitOutputFailed after a failed write, 0 where the
/// reader of a pipe has seen enough.
[[nodiscard]] int finish_output(OutputStream& out, int code);

}  // namespace memtrack::tools
