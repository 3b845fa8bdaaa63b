// CaptureSignals: what signals mean to a tracker while its target runs.
#pragma once

#include <array>
#include <csignal>

namespace memtrack::tools {

/// While it lives:
/// - SIGINT and SIGQUIT, which a terminal sends to the target as well, do not end the tracker: it goes on until the
///   target ends;
/// - SIGTERM and SIGHUP are passed on to the target;
/// - a second one of these, a tenth of a second or more after the first (programs like timeout(1) send pairs), asks for
///   the end of the capture: stop_signal() gives its number;
/// - SIGPIPE and SIGXFSZ become errors of the writing call.
/// A signal that was ignored when the program started stays ignored. All this is done by handlers, which execve resets,
/// so the target starts with the dispositions that the tracker was started with.
/// One instance at a time. The handlers touch lock-free atomics and pidfd_send_signal only.
class CaptureSignals {
 public:
  CaptureSignals();
  CaptureSignals(const CaptureSignals&) = delete;
  CaptureSignals& operator=(const CaptureSignals&) = delete;
  ~CaptureSignals();

  /// Where SIGTERM and SIGHUP go; a pidfd, or -1 for nowhere. The descriptor must outlive this object.
  void forward_to(int pidfd);
  /// The signal that asked for the end of the capture; 0: none did.
  [[nodiscard]] int stop_signal() const;

 private:
  static constexpr std::array kHandled{SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
  std::array<struct sigaction, kHandled.size()> before_{};
};

/// For programs without a target: a write to a closed pipe or past a size limit is an error of that write.
void ignore_write_signals();

}  // namespace memtrack::tools
