#include <algorithm>
#include <cstring>
#include <fstream>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <doctest/doctest.h>

#include "pipeline/process/elf_symbols.h"
#include "pipeline/process/proc_maps.h"
#include "pipeline/process/process_handle.h"
#include "tests/support/temporary_directory.h"

using namespace memtrack;
using namespace memtrack::pipeline;

TEST_CASE("only executable mappings of files come out of a maps text") {
  const auto mappings = parse_executable_mappings(
      "55d0c0000000-55d0c0001000 r--p 00000000 fe:01 123                        /usr/bin/tool\n"
      "55d0c0001000-55d0c0003000 r-xp 00001000 fe:01 123                        /usr/bin/tool\n"
      "55d0c1000000-55d0c1021000 rw-p 00000000 00:00 0                          [heap]\n"
      "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
      "7f0000002000-7f0000004000 r-xs 00002000 103:5a 77                        /opt/a b/li\\012b (deleted)\n"
      "7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]");
  REQUIRE(mappings.size() == 2);
  CHECK(mappings[0].start == 0x55d0c0001000);
  CHECK(mappings[0].len == 0x2000);
  CHECK(mappings[0].file_offset == 0x1000);
  CHECK(mappings[0].dev == ((0xfeull << 20) | 1));
  CHECK(mappings[0].ino == 123);
  CHECK(mappings[0].path == "/usr/bin/tool");
  CHECK(mappings[1].dev == ((0x103ull << 20) | 0x5a));
  CHECK(mappings[1].path == "/opt/a b/li\nb (deleted)");
}

TEST_CASE("a broken maps text gives what is whole in it") {
  const std::string line = "55d0c0001000-55d0c0003000 r-xp 00001000 fe:01 123   /bin/x";
  for (std::size_t cut = 0; cut < line.size(); ++cut) {
    const auto mappings = parse_executable_mappings(std::string_view(line).substr(0, cut));
    CHECK(mappings.size() <= 1);
    CHECK((mappings.empty() || mappings[0].ino != 0));
  }
  CHECK(parse_executable_mappings("").empty());
  CHECK(parse_executable_mappings("\n\nnonsense\n5-4 r-xp 0 0:0 1 /x\n").empty());
}

TEST_CASE("the mappings of this process hold this very code") {
  const auto mappings = read_executable_mappings(::getpid());
  REQUIRE(mappings);
  const auto here = reinterpret_cast<std::uintptr_t>(&parse_executable_mappings);
  CHECK(std::any_of(mappings->begin(), mappings->end(),
                    [&](const FileMapping& m) { return m.start <= here && here < m.start + m.len; }));
}

TEST_CASE("resident memory is read from its own lines and no others") {
  const auto memory = parse_resident_memory(
      "Name:\tRssAnon: 9\nUmask:\t0022\nVmRSS:\t 100 kB\nRssAnon:\t     20 kB\nRssFile:\t     70 kB\nRssShmem:\t     "
      "10 kB\n");
  REQUIRE(memory);
  CHECK(memory->anon_bytes == 20 * 1024);
  CHECK(memory->file_bytes == 70 * 1024);
  CHECK(memory->shmem_bytes == 10 * 1024);
  CHECK_FALSE(parse_resident_memory("Name:\tzombie\nState:\tZ (zombie)\n"));
}

TEST_CASE("memory that a process touches shows in its resident memory") {
  constexpr std::size_t kBytes = 32u << 20;
  const auto before = read_resident_memory(::getpid());
  void* const block = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(block != MAP_FAILED);
  std::memset(block, 1, kBytes);
  const auto after = read_resident_memory(::getpid());
  ::munmap(block, kBytes);
  REQUIRE(before);
  REQUIRE(after);
  CHECK(after->anon_bytes >= before->anon_bytes + kBytes * 3 / 4);
}

TEST_CASE("a process's name may hold anything") {
  const std::string tail = " 1 2 3 0 -1 4194560 5 6 7 8 9 10 11 12 20 0 1 0 4711 99 100";
  for (const std::string name : {"cat", "a b", "((", ")", ") S 1 (", "x) R 2 2", "new\nline"}) {
    const auto status = parse_process_status("77 (" + name + ") S" + tail);
    REQUIRE(status);
    CHECK(status->name == name);
    CHECK(status->start_time == 4711);
    CHECK_FALSE(status->ended);
  }
  CHECK_FALSE(parse_process_status(""));
  CHECK_FALSE(parse_process_status("77 (cat"));
  CHECK_FALSE(parse_process_status("77 (cat) S 1 2 3"));
}

TEST_CASE("a zombie has ended unless threads of it live on") {
  const std::string front = "77 (x) Z 1 2 3 0 -1 4194560 5 6 7 8 9 10 11 12 20 0 ";
  CHECK(parse_process_status(front + "1 0 4711 99")->ended);
  CHECK_FALSE(parse_process_status(front + "3 0 4711 99")->ended);
}

TEST_CASE("the start time of a renamed process is found") {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_NAME, ") Z 9 (");
    ::kill(::getpid(), SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, WUNTRACED) == pid);
  const auto process = read_process_status(pid);
  REQUIRE(process);
  CHECK(process->name == ") Z 9 (");
  CHECK(process->start_time >= read_start_time(::getpid()).value());
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  CHECK_FALSE(read_start_time(pid));
  CHECK_FALSE(read_resident_memory(pid));
  CHECK_FALSE(read_executable_mappings(pid));
}

TEST_CASE("a handle tells when its process has ended, also before anyone has waited for it") {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::kill(::getpid(), SIGSTOP);
    ::_exit(0);
  }
  REQUIRE(::waitpid(pid, nullptr, WUNTRACED) == pid);
  auto handle = ProcessHandle::open(pid);
  REQUIRE(handle);
  CHECK_FALSE(handle->ended());
  ProcessHandle moved = std::move(*handle);
  CHECK_FALSE(moved.ended());
  ::kill(pid, SIGKILL);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
  CHECK(moved.ended());
  ::waitpid(pid, nullptr, 0);
  CHECK(moved.ended());
  CHECK_FALSE(ProcessHandle::open(pid));
}

TEST_CASE("an ELF file says its class, machine and interpreter") {
  const auto image = read_elf_image("/proc/self/exe");
  REQUIRE(image);
  CHECK(image->is_64bit == (sizeof(void*) == 8));
  CHECK(image->machine != 0);
  CHECK(image->interpreter.find("ld") != std::string::npos);
}

TEST_CASE("what is no ELF file is refused, cut or garbled ones too") {
  const test::TemporaryDirectory directory;
  const std::string path = (directory.path() / "file").string();
  CHECK(read_elf_image(path).error().code == ErrorCode::kIo);
  CHECK(read_elf_image(directory.path().string()).error().code == ErrorCode::kInvalidArgument);
  std::ofstream(path) << "#!/bin/sh\n";
  CHECK(read_elf_image(path).error().code == ErrorCode::kInvalidArgument);

  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::string head(4096, '\0');
  self.read(head.data(), static_cast<std::streamsize>(head.size()));
  for (std::size_t bytes = 0; bytes < 64; ++bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc).write(head.data(), static_cast<std::streamsize>(bytes));
    CHECK_FALSE(read_elf_image(path));
  }
  for (std::size_t at = 16; at < 256; ++at) {  // any answer will do, but one must come
    std::string garbled = head;
    garbled[at] = static_cast<char>(~garbled[at]);
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(garbled.data(), static_cast<std::streamsize>(garbled.size()));
    const auto image = read_elf_image(path);
    if (image) CHECK(image->interpreter.size() <= 4096);
  }
}
