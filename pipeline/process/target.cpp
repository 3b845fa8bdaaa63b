#include "pipeline/process/target.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace memtrack::pipeline {
namespace {

constexpr const char* kShell = "/bin/sh";  // runs scripts without an interpreter line, as execvp would
constexpr int kChildFailed = 127;

Error not_found(const std::string& name, std::string message) {
  return Error{.code = ErrorCode::kTargetNotFound, .message = std::move(message), .path = name};
}

Error not_executable(const std::string& name, std::string message, int system_errno = 0) {
  return Error{.code = ErrorCode::kTargetNotExecutable,
               .message = std::move(message),
               .path = name,
               .system_errno = system_errno};
}

/// 0 where `path` is a file that may be executed, else why not.
int executable_errno(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  if (!S_ISREG(info.st_mode)) return EACCES;
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (std::string& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::string path_variable(const std::vector<std::string>& environment) {
  constexpr std::string_view kName = "PATH=";
  for (const std::string& entry : environment) {
    if (entry.starts_with(kName)) return entry.substr(kName.size());
  }
  return "/bin:/usr/bin";  // what execvp takes where there is none
}

struct ChildPlan {
  const char* executable;
  char* const* argv;
  char* const* shell_argv;
  char* const* environment;
  int channel;
  int tracker_channel;
  bool ignores_children;  // SIGCHLD was ignored where the tracker was started
};

/// Runs in the child of a process with threads: nothing but async-signal-safe calls.
[[noreturn]] void run_child(const ChildPlan& plan) {
  ::close(plan.tracker_channel);  // so that the tracker's death is the end of the file here
  char word = 0;
  ssize_t count = 0;
  do {
    count = ::read(plan.channel, &word, 1);
  } while (count < 0 && errno == EINTR);
  if (count != 1) ::_exit(kChildFailed);
  if (plan.ignores_children) (void)::signal(SIGCHLD, SIG_IGN);
  ::execve(plan.executable, plan.argv, plan.environment);
  if (errno == ENOEXEC) ::execve(kShell, plan.shell_argv, plan.environment);
  const int reason = errno;
  [[maybe_unused]] const ssize_t told = ::write(plan.channel, &reason, sizeof reason);
  ::_exit(kChildFailed);
}

/// An ignored SIGCHLD is inherited over exec, and then the kernel throws exit statuses away: ends that. True if so.
bool keep_exit_statuses() {
  struct sigaction now = {};
  if (::sigaction(SIGCHLD, nullptr, &now) != 0) return false;
  const bool ignored = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
  if (!ignored && (now.sa_flags & SA_NOCLDWAIT) == 0) return false;
  if (ignored) now.sa_handler = SIG_DFL;
  now.sa_flags &= ~SA_NOCLDWAIT;
  (void)::sigaction(SIGCHLD, &now, nullptr);
  return ignored;
}

}  // namespace

Result<std::string> find_executable(const std::string& name, const std::string& path_variable) {
  if (name.empty()) return std::unexpected(not_found("", "the command's name is empty"));
  if (name.find('/') != std::string::npos) {
    const int reason = executable_errno(name);
    if (reason == 0) return name;
    if (reason == ENOENT) return std::unexpected(not_found(name, "no such file"));
    return std::unexpected(not_executable(name, "can't be executed", reason));
  }
  std::string refused;
  std::string_view rest = path_variable;
  for (bool more = true; more;) {
    const std::size_t colon = rest.find(':');
    std::string candidate(rest.substr(0, colon));
    more = colon != std::string_view::npos;
    if (more) rest.remove_prefix(colon + 1);
    candidate = candidate.empty() ? "./" + name : candidate + "/" + name;  // an empty element is the working directory
    const int reason = executable_errno(candidate);
    if (reason == 0) return candidate;
    if (reason == EACCES && refused.empty()) refused = candidate;
  }
  if (!refused.empty()) return std::unexpected(not_executable(refused, "can't be executed", EACCES));
  return std::unexpected(not_found(name, "command not found in PATH"));
}

struct Target::State {
  std::string executable;
  std::int32_t pid = -1;
  int channel = -1;  // a byte to the child lets it go; its errno comes back, or the end of file once it has exec'd
  std::optional<TargetExit> exit = {};

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { close_channel(); }

  void close_channel() {
    if (channel < 0) return;
    ::shutdown(channel, SHUT_RDWR);  // close alone is not enough where another waiting child still holds a copy
    ::close(std::exchange(channel, -1));
  }
  void reap(int flags) {
    int status = 0;
    pid_t got = 0;
    do {
      got = ::waitpid(pid, &status, flags);
    } while (got < 0 && errno == EINTR);
    if (got != pid) return;
    exit = WIFSIGNALED(status) ? TargetExit{.signaled = true, .code = WTERMSIG(status)}
                               : TargetExit{.signaled = false, .code = WEXITSTATUS(status)};
  }
};

Target::Target(std::unique_ptr<State> state) : state_(std::move(state)) {}
Target::Target(Target&&) noexcept = default;

Target& Target::operator=(Target&& other) noexcept {
  Target old(std::move(state_));  // ends a child that still waits
  state_ = std::move(other.state_);
  return *this;
}

Target::~Target() {
  if (!state_ || state_->channel < 0) return;
  state_->close_channel();  // the child sees the end of file and exits
  state_->reap(0);
}

Result<Target> Target::spawn(const TargetCommand& command) {
  if (command.argv.empty()) return std::unexpected(not_found("", "no command was given"));
  auto executable = find_executable(command.argv.front(), path_variable(command.environment));
  if (!executable) return std::unexpected(std::move(executable.error()));

  std::vector<std::string> argv = command.argv;
  std::vector<std::string> environment = command.environment;
  std::vector<std::string> shell_argv{kShell, *executable};
  shell_argv.insert(shell_argv.end(), argv.begin() + 1, argv.end());
  const auto argv_pointers = pointers(argv);
  const auto shell_pointers = pointers(shell_argv);
  const auto environment_pointers = pointers(environment);

  int channel[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0) {
    return std::unexpected(io_error("can't make a socket pair for the target", *executable, errno));
  }
  auto state = std::make_unique<State>();
  state->executable = *executable;
  const ChildPlan plan{.executable = state->executable.c_str(),
                       .argv = argv_pointers.data(),
                       .shell_argv = shell_pointers.data(),
                       .environment = environment_pointers.data(),
                       .channel = channel[1],
                       .tracker_channel = channel[0],
                       .ignores_children = keep_exit_statuses()};
  const pid_t pid = ::fork();
  if (pid == 0) run_child(plan);
  const int fork_errno = errno;
  ::close(channel[1]);
  if (pid < 0) {
    ::close(channel[0]);
    return std::unexpected(io_error("can't fork for the target", *executable, fork_errno));
  }
  state->pid = pid;
  state->channel = channel[0];
  return Target(std::move(state));
}

std::int32_t Target::pid() const {
  return state_->pid;
}
const std::string& Target::executable() const {
  return state_->executable;
}

Result<void> Target::release() {
  if (state_->channel < 0) return {};
  ssize_t count = 0;
  do {
    count = ::send(state_->channel, "g", 1, MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  int reason = 0;
  do {
    count = ::recv(state_->channel, &reason, sizeof reason, MSG_WAITALL);
  } while (count < 0 && errno == EINTR);
  state_->close_channel();
  if (count != static_cast<ssize_t>(sizeof reason)) return {};  // it runs; or was killed, which try_wait() tells
  state_->reap(0);
  if (reason == ENOENT) {
    return std::unexpected(not_executable(state_->executable, "its interpreter does not exist", reason));
  }
  return std::unexpected(not_executable(state_->executable, "can't be executed", reason));
}

std::optional<TargetExit> Target::try_wait() {
  if (!state_->exit) state_->reap(WNOHANG);
  return state_->exit;
}

}  // namespace memtrack::pipeline
