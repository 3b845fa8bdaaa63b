#include "tools/output_stream.h"

#include <cerrno>
#include <poll.h>
#include <unistd.h>

#include "codec/error.h"
#include "tools/exit_code.h"
#include "tools/log.h"

namespace memtrack::tools {

bool OutputStream::flush() {
  (void)put(text_);
  text_.clear();
  return errno_ == 0;
}

bool OutputStream::put(std::string_view left) {
  while (!left.empty() && errno_ == 0) {
    const ssize_t written = ::write(fd_, left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      // Somebody else made the shared terminal or pipe non-blocking.
      pollfd ready{.fd = fd_, .events = POLLOUT, .revents = 0};
      (void)::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      errno_ = errno;
    }
  }
  return errno_ == 0;
}

bool OutputStream::reader_gone() const {
  return errno_ == EPIPE;
}

int finish_output(OutputStream& out, int code) {
  if (out.flush()) return code;
  if (out.reader_gone()) return kExitWhole;
  say_error(to_string(io_error("can't write to standard output", "", out.write_errno())));
  return kExitOutputFailed;
}

}  // namespace memtrack::tools
