#include "tests/system/child_process.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace memtrack::test {
namespace {

constexpr std::chrono::seconds kPatience{120};

[[noreturn]] void fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + std::strerror(error));
}

struct Pipe {
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2", errno);
  }
  std::array<int, 2> ends{};
};

void close_once(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> all = more;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name = std::string_view(*entry).substr(0, std::string_view(*entry).find('=') + 1);
    bool replaced = false;
    for (const std::string& one : more) replaced = replaced || one.starts_with(name);
    if (!replaced) all.emplace_back(*entry);
  }
  return all;
}

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  void duplicate(int from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, from, to); }
  void open(int to, const std::string& path, int flags) {
    ::posix_spawn_file_actions_addopen(&actions_, to, path.c_str(), flags, 0600);
  }
  void change_directory(const std::string& path) { ::posix_spawn_file_actions_addchdir_np(&actions_, path.c_str()); }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

bool read_into(int& fd, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t count = ::read(fd, buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return true;
  if (count <= 0) {
    close_once(fd);
    return false;
  }
  text.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments, const ChildOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  Pipe input, output, error;
  FileActions actions;
  if (!options.directory.empty()) actions.change_directory(options.directory);
  if (options.stdin_path.empty()) {
    actions.duplicate(input.ends[0], STDIN_FILENO);
  } else {
    actions.open(STDIN_FILENO, options.stdin_path, O_RDONLY);
  }
  if (options.stdout_path.empty()) {
    actions.duplicate(output.ends[1], STDOUT_FILENO);
  } else {
    actions.open(STDOUT_FILENO, options.stdout_path, O_WRONLY | O_CREAT);
  }
  actions.duplicate(error.ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t defaults;
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const std::vector<std::string> environment = environment_with(options.environment);
  const int failed = ::posix_spawnp(&pid_, arguments.at(0).c_str(), actions.get(), &attributes,
                                    pointers(arguments).data(), pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  close_once(input.ends[0]);
  close_once(output.ends[1]);
  close_once(error.ends[1]);
  input_ = input.ends[1];
  output_ = output.ends[0];
  error_ = error.ends[0];
  if (failed != 0) fail("can't start " + arguments[0], failed);
}

ChildProcess::~ChildProcess() {
  close_once(input_);
  close_once(output_);
  close_once(error_);
  if (ended_ || pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  (void)reap(true);
}

void ChildProcess::write_input(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t count = ::write(input_, text.data(), text.size());
    if (count < 0) fail("write to the child", errno);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void ChildProcess::close_input() {
  close_once(input_);
}
void ChildProcess::close_output() {
  close_once(output_);
}
void ChildProcess::read_output_until(std::string_view text) {
  read_until(outcome_.out, text);
}
void ChildProcess::read_error_until(std::string_view text) {
  read_until(outcome_.err, text);
}

void ChildProcess::read_until(const std::string& seen, std::string_view text) {
  while (seen.find(text) == std::string::npos) {
    if (output_ < 0 && error_ < 0) throw std::runtime_error("the child ended before it said: " + std::string(text));
    read_some(kPatience);
  }
}

void ChildProcess::read_some(std::chrono::milliseconds timeout) {
  std::array<pollfd, 2> both{pollfd{output_, POLLIN, 0}, pollfd{error_, POLLIN, 0}};
  const int ready = ::poll(both.data(), both.size(), static_cast<int>(timeout.count()));
  if (ready < 0 && errno != EINTR) fail("poll", errno);
  if (ready == 0 && timeout >= kPatience) throw std::runtime_error("the child hangs; it said so far: " + outcome_.err);
  if (both[0].revents != 0) read_into(output_, outcome_.out);
  if (both[1].revents != 0) read_into(error_, outcome_.err);
}

void ChildProcess::send(int signal) const {
  if (::kill(pid_, signal) != 0) fail("kill", errno);
}

void ChildProcess::send_until_end(int signal, std::chrono::milliseconds pause) {
  while (!reap(false)) {
    send(signal);
    read_some(pause);
  }
}

bool ChildProcess::reap(bool block) {
  if (ended_) return true;
  int status = 0;
  const pid_t reaped = ::waitpid(pid_, &status, block ? 0 : WNOHANG);
  if (reaped < 0) fail("waitpid", errno);
  if (reaped == 0) return false;
  ended_ = true;
  outcome_.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return true;
}

Outcome ChildProcess::wait() {
  close_input();
  return wait_with_open_input();
}

Outcome ChildProcess::wait_with_open_input() {
  while (output_ >= 0 || error_ >= 0) read_some(kPatience);
  (void)reap(true);
  return outcome_;
}

Outcome run(const std::vector<std::string>& arguments, const ChildOptions& options) {
  return ChildProcess(arguments, options).wait();
}

std::optional<std::string> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string program = folder + "/" + name;
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return std::nullopt;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace memtrack::test
