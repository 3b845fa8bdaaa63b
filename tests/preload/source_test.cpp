// What the preload source checks before it starts anything.
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "preload/preload_source.h"
#include "preload/target_environment.h"
#include "preload/trackability.h"
#include "tests/support/temporary_directory.h"

using namespace memtrack;
using namespace memtrack::preload;

namespace {

/// The first bytes of an ELF file: enough of one to be judged.
void write_elf(const std::filesystem::path& path, const std::string& interpreter, std::uint16_t machine,
               unsigned char elf_class = ELFCLASS64) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = elf_class;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = interpreter.empty() ? 0 : 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_INTERP;
  segment.p_offset = sizeof header + sizeof segment;
  segment.p_filesz = interpreter.size() + 1;
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  file.write(reinterpret_cast<const char*>(&segment), sizeof segment);
  file.write(interpreter.c_str(), static_cast<std::streamsize>(interpreter.size() + 1));
  file.close();
  REQUIRE(::chmod(path.c_str(), 0755) == 0);
}

#if defined(__x86_64__)
constexpr std::uint16_t kOwn = EM_X86_64;
constexpr std::uint16_t kForeign = EM_AARCH64;
#else
constexpr std::uint16_t kOwn = EM_AARCH64;
constexpr std::uint16_t kForeign = EM_X86_64;
#endif
const std::string kLoader = "/lib64/ld-linux-x86-64.so.2";

void check_refused(const std::filesystem::path& path, const std::string& reason) {
  const auto result = check_trackable(path);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::kTargetUntrackable);
  CHECK_MESSAGE(result.error().message.find(reason) != std::string::npos, result.error().message);
  CHECK(result.error().message.find("source.kind = \"bpf\"") != std::string::npos);
}

}  // namespace

TEST_CASE("ordinary programs and scripts can be tracked") {
  const test::TemporaryDirectory directory;
  CHECK(check_trackable("/bin/ls"));
  CHECK(check_trackable("/proc/self/exe"));
  const auto script = directory.path() / "script";
  for (const std::string text : {"#!/bin/sh\nexit 0\n", "#!  /usr/bin/env sh\n", "echo no first line\n", "", "#!\n"}) {
    std::ofstream(script, std::ios::trunc) << text;
    CHECK_MESSAGE(check_trackable(script), text);
  }
  const auto plain = directory.path() / "plain";
  write_elf(plain, kLoader, kOwn);
  CHECK(check_trackable(plain));
}

TEST_CASE("programs that the shim can't enter are refused with the reason") {
  const test::TemporaryDirectory directory;
  const auto program = directory.path() / "program";
  write_elf(program, "", kOwn);
  check_refused(program, "statically linked");
  std::ofstream(directory.path() / "script") << "#!" << program.string() << " -x\n";
  check_refused(directory.path() / "script", "statically linked");
  write_elf(program, kLoader, kForeign);
  check_refused(program, "another machine");
  write_elf(program, "/lib/ld-musl-x86_64.so.1", kOwn);
  check_refused(program, "musl");
}

TEST_CASE("scripts that name each other as interpreters come to an end") {
  const test::TemporaryDirectory directory;
  const auto script = directory.path() / "script";
  std::ofstream(script) << "#!" << script.string() << "\n";
  CHECK(check_trackable(script));  // exec will say what is wrong
}

TEST_CASE("a setuid program of another user is refused, one of our own is not") {
  const test::TemporaryDirectory directory;
  const auto program = directory.path() / "program";
  write_elf(program, kLoader, kOwn);
  REQUIRE(::chmod(program.c_str(), 04755) == 0);
  CHECK(check_trackable(program));
  if (::geteuid() != 0) {
    MESSAGE("the other half needs root: skipped");
    return;
  }
  REQUIRE(::chown(program.c_str(), 12345, 12345) == 0);
  REQUIRE(::chmod(program.c_str(), 04755) == 0);
  check_refused(program, "setuid");
  REQUIRE(::chmod(program.c_str(), 02755) == 0);
  check_refused(program, "setgid");
  REQUIRE(::chmod(program.c_str(), 02745) == 0);  // mandatory locking's old mark, not setgid
  CHECK(check_trackable(program));
}

TEST_CASE("the shim goes in front of what LD_PRELOAD holds, everything else stays") {
  const std::string shim = "/bin/sh";  // any file that can be read
  const auto made =
      make_target_environment({"A=1", "LD_PRELOAD=/x.so:/y.so", "MEMTRACK_SEGMENT=/old", "B="}, shim, "/new");
  REQUIRE(made);
  CHECK(*made == std::vector<std::string>{"A=1", "B=", "LD_PRELOAD=/bin/sh:/x.so:/y.so", "MEMTRACK_SEGMENT=/new"});
  const auto plain = make_target_environment({}, shim, "/new");
  REQUIRE(plain);
  CHECK(*plain == std::vector<std::string>{"LD_PRELOAD=/bin/sh", "MEMTRACK_SEGMENT=/new"});
  const auto nested = make_target_environment({"LD_PRELOAD=/x.so /bin/sh"}, shim, "/new");
  REQUIRE(nested);
  CHECK(nested->front() == "LD_PRELOAD=/x.so /bin/sh");
}

TEST_CASE("a shim that LD_PRELOAD can't name, or that is not there, is refused") {
  CHECK_FALSE(make_target_environment({}, "/a b/shim.so", "/s"));
  CHECK_FALSE(make_target_environment({}, "/a:b/shim.so", "/s"));
  const auto absent = make_target_environment({}, "/no/such/shim.so", "/s");
  REQUIRE_FALSE(absent);
  CHECK(absent.error().path == "/no/such/shim.so");
}

TEST_CASE("open says what is wrong and leaves nothing behind") {
  const auto segments = [] {
    std::ptrdiff_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      if (entry.path().filename().string().starts_with("memtrack-" + std::to_string(::getpid()) + "-")) ++count;
    }
    return count;
  };
  const auto code = [](std::vector<std::string> command, std::uint64_t segment_bytes) {
    auto source = make_preload_source({.command = std::move(command),
                                       .environment = {"PATH=/bin"},
                                       .segment_bytes = segment_bytes,
                                       .shim_path = "/bin/sh"});
    const auto opened = source->open();
    return opened ? ErrorCode::kClosed : opened.error().code;
  };
  CHECK(code({"no-such-command"}, 4u << 20) == ErrorCode::kTargetNotFound);
  CHECK(code({"/etc/passwd"}, 4u << 20) == ErrorCode::kTargetNotExecutable);
  CHECK(code({"true"}, 4096) == ErrorCode::kInvalidArgument);
  CHECK(code({"true"}, 4u << 20) == ErrorCode::kClosed);
  CHECK(segments() == 0);
}

TEST_CASE("a source that is stopped before its target runs ends at once") {
  auto source = make_preload_source(
      {.command = {"/bin/true"}, .environment = {}, .segment_bytes = 4u << 20, .shim_path = "/bin/sh"});
  REQUIRE(source->open());
  CHECK(source->root_pid() > 0);
  source->request_stop();
  EventBatch batch(100);
  const auto polled = source->poll(batch, 100, std::chrono::seconds(100));
  REQUIRE(polled);
  CHECK(polled->ended);
  CHECK(batch.empty());
}
