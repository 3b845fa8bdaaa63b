// Environments with the session put back, built in this process.
#include "preload/shim_environment.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "preload/shared_segment.h"

namespace {

const std::string kLibrary = "/bin/sh";  // any file that can be read
const std::string kOurs = "LD_PRELOAD=" + kLibrary;
const std::string kSession = "MEMTRACK_SEGMENT=/dev/shm/memtrack-1-0";
using Words = std::vector<std::string>;

class Given {
 public:
  explicit Given(Words words) : words_(std::move(words)) {
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
    shim_environment_remember("/dev/shm/memtrack-1-0", kLibrary.c_str());
  }
  char* const* list() { return pointers_.data(); }

 private:
  Words words_;
  std::vector<char*> pointers_;
};

Words words_of(const shim_environment& made) {
  Words words;
  for (char* const* entry = made.variables; *entry != nullptr; ++entry) words.emplace_back(*entry);
  return words;
}

Words completed(Words words, std::uint32_t expected_flags = 0) {
  Given given(words);
  shim_environment made;
  shim_environment_complete(&made, given.list());
  Words result = words_of(made);
  CHECK(made.flags == expected_flags);
  shim_environment_release(&made);
  for (std::size_t i = 0; i < words.size(); ++i) CHECK(words[i] == given.list()[i]);  // untouched
  return result;
}

std::string output_of(const std::string& command) {
  std::FILE* const stream = popen(command.c_str(), "r");
  std::string text;
  for (int c = 0; (c = std::fgetc(stream)) != EOF;) text += static_cast<char>(c);
  CHECK(pclose(stream) == 0);
  return text;
}

}  // namespace

TEST_CASE("an environment that lacks the session gets it, and nothing else changes (F7)") {
  CHECK(completed({}) == Words{kOurs, kSession});
  CHECK(completed({"A=1", "B="}) == Words{"A=1", "B=", kOurs, kSession});
  CHECK(completed({kSession, "A"}) == Words{kSession, "A", kOurs});
  CHECK(completed({kOurs, "A"}) == Words{kOurs, "A", kSession});
}

TEST_CASE("an environment that has the session is given on as it is") {
  Given given({"LD_PRELOAD=/x.so:" + kLibrary + " /y.so", "A=1", kSession});
  shim_environment made;
  shim_environment_complete(&made, given.list());
  CHECK(made.variables == given.list());
  shim_environment_release(&made);
}

TEST_CASE("a preload list of the user's is kept behind ours, where it was") {
  CHECK(completed({"LD_PRELOAD=/x.so:/y.so", "A=1"}) == Words{kOurs + ":/x.so:/y.so", "A=1", kSession});
  CHECK(completed({"LD_PRELOAD=", "A=1"}) == Words{kOurs, "A=1", kSession});
  CHECK(completed({"LD_PRELOAD=" + kLibrary + "x"}) == Words{kOurs + ":" + kLibrary + "x", kSession});
  // The loader obeys the last one.
  CHECK(completed({"LD_PRELOAD=/x.so", "LD_PRELOAD=/y.so"}) == Words{"LD_PRELOAD=/x.so", kOurs + ":/y.so", kSession});
}

TEST_CASE("an environment that names another session, or none on purpose, is left alone (F20)") {
  CHECK(completed({"MEMTRACK_SEGMENT=/other"}, MT_NOTICE_OTHER_SESSION) == Words{"MEMTRACK_SEGMENT=/other"});
  CHECK(completed({"MEMTRACK_SEGMENT="}, MT_NOTICE_OTHER_SESSION) == Words{"MEMTRACK_SEGMENT="});
}

TEST_CASE("a library that can't be read is taken out of the list, so that the loader does not complain") {
  const auto without = [](const std::string& list) {
    Given given({"LD_PRELOAD=" + list, kSession});
    shim_environment_remember("/dev/shm/memtrack-1-0", "/nonexistent.so");
    shim_environment made;
    shim_environment_complete(&made, given.list());
    CHECK(made.flags == MT_NOTICE_UNREACHABLE);
    const Words words = words_of(made);
    CHECK(words.size() == 2);
    return words[0];
  };
  CHECK(without("/nonexistent.so") == "LD_PRELOAD=");
  CHECK(without("/nonexistent.so:/x.so") == "LD_PRELOAD=/x.so");
  CHECK(without("/x.so:/nonexistent.so") == "LD_PRELOAD=/x.so:");
  CHECK(without("/x.so /nonexistent.so /y.so") == "LD_PRELOAD=/x.so /y.so");
}

TEST_CASE("an environment of any size is completed, also twice at once, and its memory is used again") {
  for (const std::size_t count : {240u, 250u, 254u, 256u, 1000u, 100'000u}) {
    Words words(count, "VARIABLE=value");
    words.push_back("LD_PRELOAD=" + std::string(count, 'x'));
    Given given(words);
    shim_environment outer;
    shim_environment inner;  // a signal handler's
    shim_environment_complete(&outer, given.list());
    shim_environment_complete(&inner, given.list());
    words.back().insert(11, kLibrary + ":");
    words.push_back(kSession);
    CHECK((words_of(outer) == words));
    CHECK((words_of(inner) == words));
    shim_environment_release(&inner);
    CHECK((words_of(outer) == words));
    char* const* const first = outer.variables;
    shim_environment_release(&outer);
    shim_environment_complete(&outer, given.list());
    CHECK((outer.variables == first || count < 256));
    shim_environment_release(&outer);
  }
  shim_environment_thread_ends();
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MEMTRACK_VFORK_IS_FORK 1  // ThreadSanitizer replaces vfork by fork: parent and child share nothing
#endif
#endif
#ifdef MEMTRACK_VFORK_IS_FORK
constexpr bool kVforkIsFork = true;
#else
constexpr bool kVforkIsFork = false;
#endif

TEST_CASE("what a vfork child leaves behind is used again by its parent" * doctest::skip(kVforkIsFork)) {
  Given given(Words(5000, "VARIABLE=value"));
  char* const* volatile in_child = nullptr;
  const pid_t pid = vfork();
  if (pid == 0) {
    shim_environment made;
    shim_environment_complete(&made, given.list());
    in_child = made.variables;
    _exit(0);  // as after an exec: released by nobody
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  shim_environment made;
  shim_environment_complete(&made, given.list());
  CHECK(made.variables == in_child);
  shim_environment_release(&made);
  shim_environment_thread_ends();
}

TEST_CASE("a shell command with the session put back does what it does without, in a shell named sh (F7)") {
  Given cleaned({"A=1", "LD_PRELOAD=/x y.so"});
  const std::string command = "echo \"$0 $LD_PRELOAD $MEMTRACK_SEGMENT\" 'single' \"it's\"\\''\n' $#; exit 0";
  std::size_t bytes = 0;
  std::uint32_t flags = 0;
  char* const text = shim_shell_command(cleaned.list(), command.c_str(), &bytes, &flags);
  REQUIRE(text != nullptr);
  CHECK(flags == 0);
  // Without loading what is no library: the assignment is looked at as text.
  const std::string made = text;
  shim_shell_release(text, bytes);
  CHECK(made.starts_with("export LD_PRELOAD='" + kLibrary + "':'/x y.so' MEMTRACK_SEGMENT='/dev/shm/memtrack-1-0'; "));
  const std::string rest = made.substr(made.find("; ") + 2);
  unsetenv("LD_PRELOAD");
  CHECK(output_of(rest) == output_of(command));
  CHECK(output_of(rest).starts_with("sh "));
}

TEST_CASE("a shell command is left alone where the session is there, is another, or the command gets too long") {
  std::size_t bytes = 0;
  std::uint32_t flags = 0;
  Given whole({kOurs, kSession});
  CHECK(shim_shell_command(whole.list(), "true", &bytes, &flags) == nullptr);
  CHECK(flags == 0);
  Given other({"MEMTRACK_SEGMENT="});
  CHECK(shim_shell_command(other.list(), "true", &bytes, &flags) == nullptr);
  CHECK(flags == MT_NOTICE_OTHER_SESSION);
  Given cleaned({});
  const std::string quotes(40'000, '\'');
  CHECK(shim_shell_command(cleaned.list(), quotes.c_str(), &bytes, &flags) == nullptr);
  CHECK(flags == MT_NOTICE_UNCHANGED);
}
