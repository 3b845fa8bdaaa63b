#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "pipeline/process/process_handle.h"
#include "pipeline/process/target.h"
#include "tests/support/temporary_directory.h"

using namespace memtrack;
using namespace memtrack::pipeline;

namespace {

std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

/// Blocks until the process has ended (a pidfd says so), then reaps it.
TargetExit wait_for(Target& target) {
  const auto handle = ProcessHandle::open(target.pid());
  if (handle) {
    pollfd request{.fd = handle->fd(), .events = POLLIN, .revents = 0};
    while (::poll(&request, 1, -1) < 0) {
    }
  }
  const auto exit = target.try_wait();
  REQUIRE(exit);
  return *exit;
}

TargetExit run(TargetCommand command) {
  auto target = Target::spawn(command);
  REQUIRE(target);
  REQUIRE(target->release());
  return wait_for(*target);
}

void write_file(const std::filesystem::path& path, std::string_view text, mode_t mode) {
  std::ofstream(path) << text;
  REQUIRE(::chmod(path.c_str(), mode) == 0);
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a target's exit status comes through") {
  for (const int code : {0, 3, 255}) {
    const TargetExit exit = run({.argv = shell("exit " + std::to_string(code)), .environment = {}});
    CHECK_FALSE(exit.signaled);
    CHECK(exit.code == code);
  }
}

TEST_CASE("a target that dies by a signal says by which") {
  const TargetExit exit = run({.argv = shell("kill -TERM $$"), .environment = {}});
  CHECK(exit.signaled);
  CHECK(exit.code == SIGTERM);
}

TEST_CASE("an ignored SIGCHLD loses no exit status, and the target inherits it (G1)") {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const TargetExit three = run({.argv = shell("exit 3"), .environment = {}});
  ::signal(SIGCHLD, SIG_IGN);  // bit 16 of the mask
  const TargetExit inherited =
      run({.argv = {"/bin/grep", "-q", "^SigIgn:.*[13579bdf]....$", "/proc/self/status"}, .environment = {}});
  ::signal(SIGCHLD, before);
  CHECK_FALSE(three.signaled);
  CHECK(three.code == 3);
  CHECK(inherited.code == 0);
}

TEST_CASE("a target does nothing before its release and ends unrun without one") {
  const test::TemporaryDirectory directory;
  const auto mark = directory.path() / "mark";
  std::optional<ProcessHandle> handle;
  {
    auto target = Target::spawn({.argv = shell("touch " + mark.string()), .environment = {}});
    REQUIRE(target);
    handle = ProcessHandle::open(target->pid());
    REQUIRE(handle);
    CHECK_FALSE(handle->ended());
    CHECK_FALSE(target->try_wait());
  }
  CHECK(handle->ended());
  CHECK_FALSE(std::filesystem::exists(mark));
}

TEST_CASE("a waiting target ends by itself when the tracker is killed") {
  int report[2];
  REQUIRE(::pipe2(report, O_CLOEXEC) == 0);
  const pid_t tracker = ::fork();
  if (tracker == 0) {
    auto target = Target::spawn({.argv = {"/bin/true"}, .environment = {}});
    const std::int32_t pid = target ? target->pid() : -1;
    [[maybe_unused]] const ssize_t told = ::write(report[1], &pid, sizeof pid);
    for (;;) ::pause();
  }
  std::int32_t pid = -1;
  REQUIRE(::read(report[0], &pid, sizeof pid) == sizeof pid);
  ::close(report[0]);
  ::close(report[1]);
  REQUIRE(pid > 0);
  const auto handle = ProcessHandle::open(pid);
  REQUIRE(handle);
  CHECK_FALSE(handle->ended());
  REQUIRE(::kill(tracker, SIGKILL) == 0);
  REQUIRE(::waitpid(tracker, nullptr, 0) == tracker);
  pollfd request{.fd = handle->fd(), .events = POLLIN, .revents = 0};
  CHECK(::poll(&request, 1, 20'000) == 1);
}

TEST_CASE("a target gets exactly the environment that was given") {
  const test::TemporaryDirectory directory;
  const auto out = directory.path() / "out";
  run({.argv = shell("exec /usr/bin/env > " + out.string()), .environment = {"ONE=1", "EMPTY=", "SPACE=a b"}});
  const std::string text = read_text(out);
  CHECK(text.find("ONE=1\n") != std::string::npos);
  CHECK(text.find("EMPTY=\n") != std::string::npos);
  CHECK(text.find("SPACE=a b\n") != std::string::npos);
  CHECK(text.find("HOME=") == std::string::npos);
}

TEST_CASE("no descriptor of the tracker leaks into the target, an inherited one stays") {
  const test::TemporaryDirectory directory;
  const auto out = directory.path() / "out";
  const int inherited = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC: what the tracker itself was given
  REQUIRE(inherited >= 0);
  auto held = Target::spawn({.argv = {"/bin/true"}, .environment = {}});  // its channel must not leak into the next
  REQUIRE(held);
  run({.argv = shell("exec > " + out.string() + "; ls -1 /proc/$$/fd; exit 0"), .environment = {"PATH=/bin:/usr/bin"}});
  bool inherited_seen = false;
  std::ifstream file(out);
  for (int fd = 0; file >> fd;) {
    INFO("descriptor ", fd);
    CHECK((fd <= 2 || ::fcntl(fd, F_GETFD) == 0));  // open here too, and meant to be passed on
    inherited_seen = inherited_seen || fd == inherited;
  }
  CHECK(inherited_seen);
  ::close(inherited);
}

TEST_CASE("what can't be executed is told at release or before") {
  const test::TemporaryDirectory directory;
  const auto script = directory.path() / "script";
  write_file(script, "#!/no/such/interpreter\n", 0755);
  auto target = Target::spawn({.argv = {script.string()}, .environment = {}});
  REQUIRE(target);
  const auto released = target->release();
  REQUIRE_FALSE(released);
  CHECK(released.error().code == ErrorCode::kTargetNotExecutable);
  CHECK(target->try_wait());

  const auto plain = directory.path() / "plain";
  write_file(plain, "text", 0644);
  const auto refused = Target::spawn({.argv = {plain.string()}, .environment = {}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kTargetNotExecutable);
  CHECK(refused.error().path == plain.string());

  const auto missing = Target::spawn({.argv = {"no-such-command-here"}, .environment = {"PATH=/bin"}});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::kTargetNotFound);
  CHECK_FALSE(Target::spawn({.argv = {}, .environment = {}}));
}

TEST_CASE("a script without an interpreter line runs under the shell, as a shell would run it") {
  const test::TemporaryDirectory directory;
  const auto script = directory.path() / "script";
  write_file(script, "exit $1\n", 0755);
  CHECK(run({.argv = {script.string(), "7"}, .environment = {}}).code == 7);
}

TEST_CASE("argv[0] stays as it was written while the file is looked up in the target's own PATH") {
  const test::TemporaryDirectory directory;
  const auto out = directory.path() / "out";
  std::filesystem::create_symlink("/bin/sh", directory.path() / "mine");
  auto target = Target::spawn({.argv = {"mine", "-c", "echo $0 > " + out.string()},
                               .environment = {"PATH=/none:" + directory.path().string()}});
  REQUIRE(target);
  CHECK(target->executable() == (directory.path() / "mine").string());
  REQUIRE(target->release());
  CHECK(wait_for(*target).code == 0);
  CHECK(read_text(out) == "mine\n");
}

TEST_CASE("PATH is searched as a shell does") {
  const test::TemporaryDirectory directory;
  const auto first = directory.path() / "first";
  const auto second = directory.path() / "second";
  std::filesystem::create_directories(first / "folder");
  std::filesystem::create_directories(second);
  write_file(first / "tool", "", 0644);
  write_file(second / "tool", "", 0755);
  write_file(first / "only", "", 0644);
  const std::string path = first.string() + ":" + second.string();

  CHECK(find_executable("tool", path).value() == (second / "tool").string());  // one that can't be run is passed over
  CHECK(find_executable("only", path).error().code == ErrorCode::kTargetNotExecutable);
  CHECK(find_executable("folder", path).error().code == ErrorCode::kTargetNotFound);
  CHECK(find_executable("absent", path).error().code == ErrorCode::kTargetNotFound);
  CHECK(find_executable("", path).error().code == ErrorCode::kTargetNotFound);
  CHECK(find_executable((first / "folder").string(), path).error().code == ErrorCode::kTargetNotExecutable);
  CHECK(find_executable((first / "absent").string(), path).error().code == ErrorCode::kTargetNotFound);
  CHECK(find_executable((second / "tool").string(), "").value() == (second / "tool").string());
  CHECK(find_executable("sh", "/bin:").value() == "/bin/sh");
}

TEST_CASE("a target that was assigned over ends like one that was destroyed") {
  auto first = Target::spawn({.argv = {"/bin/true"}, .environment = {}});
  auto second = Target::spawn({.argv = {"/bin/true"}, .environment = {}});
  REQUIRE(first);
  REQUIRE(second);
  const auto handle = ProcessHandle::open(first->pid());
  REQUIRE(handle);
  *first = std::move(*second);
  CHECK(handle->ended());
  REQUIRE(first->release());
  CHECK(wait_for(*first).code == 0);
}
