#include "tools/output_stream.h"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "tools/exit_code.h"

namespace {

using namespace memtrack::tools;

struct Pipe {
  Pipe() { REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0); }
  ~Pipe() {
    close_reader();
    ::close(ends[1]);
  }
  void close_reader() {
    if (ends[0] >= 0) ::close(ends[0]);
    ends[0] = -1;
  }
  std::array<int, 2> ends{};
};

TEST_CASE("text reaches the descriptor at a flush, not before") {
  Pipe pipe;
  OutputStream out(pipe.ends[1]);
  out.text() += "hello";
  CHECK(out.flush_if_full());
  CHECK(out.text() == "hello");
  CHECK(out.flush());
  std::array<char, 16> read{};
  CHECK(::read(pipe.ends[0], read.data(), read.size()) == 5);
  CHECK(std::string_view(read.data(), 5) == "hello");
  CHECK(finish_output(out, 3) == 3);
}

TEST_CASE("a reader that has seen enough is no error") {
  ::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  pipe.close_reader();
  OutputStream out(pipe.ends[1]);
  out.text() += "hello";
  CHECK_FALSE(out.flush());
  CHECK(out.reader_gone());
  CHECK(finish_output(out, kExitDamaged) == kExitWhole);
}

TEST_CASE("a full disk is an error of the output") {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  OutputStream out(full);
  out.text() += "hello";
  CHECK_FALSE(out.flush());
  CHECK(out.failed());
  CHECK_FALSE(out.reader_gone());
  CHECK(finish_output(out, kExitWhole) == kExitOutputFailed);
  ::close(full);
}

}  // namespace
