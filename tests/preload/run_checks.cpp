#include "tests/preload/run_checks.h"

#include <algorithm>
#include <sstream>
#include <sys/wait.h>

#include <doctest/doctest.h>

namespace memtrack::test {
namespace {

std::string line(const char* type, std::uint64_t addr, std::uint64_t size) {
  std::ostringstream text;
  text << type << "\t0x" << std::hex << addr << '\t' << std::dec << size;
  return text.str();
}

/// The records of one stream in the words of expected_events.h.
std::vector<std::string> in_words(const RingStream& stream) {
  std::vector<std::string> lines;
  std::uint64_t old_addr = 0;
  std::uint64_t size = 0;
  for (const ParsedRecord& parsed : parse_records(stream.slots)) {
    const mt_record& record = parsed.first;
    std::ostringstream text;
    text << std::hex;
    switch (record.kind) {
      case MT_MALLOC:
        lines.push_back(line("Malloc", record.addr, record.value));
        break;
      case MT_CALLOC:
        lines.push_back(line("Calloc", record.addr, record.value));
        break;
      case MT_ALIGNED_ALLOC:
        lines.push_back(line("AlignedAlloc", record.addr, record.value));
        break;
      case MT_REALLOC_FRESH:
        lines.push_back(line("Realloc", record.addr, record.value));
        break;
      case MT_MMAP:
        lines.push_back(line("Mmap", record.addr, record.value));
        break;
      case MT_BRK:
        lines.push_back(line("Brk", record.addr, record.value));
        break;
      case MT_FREE:
        text << "Free\t0x" << record.addr << "\t-";
        lines.push_back(text.str());
        break;
      case MT_REALLOC_BEGIN:
      case MT_MUNMAP_BEGIN:
      case MT_MREMAP_BEGIN:
        old_addr = record.addr;
        size = record.value;
        break;
      case MT_REALLOC_END:
        if (record.addr == 0 && size != 0) break;
        text << "\t0x" << old_addr;
        lines.push_back(record.addr != 0 ? line("Realloc", record.addr, size) + text.str()
                                         : "Free" + text.str() + "\t-");
        break;
      case MT_MUNMAP_END:
        if (record.value == 0) lines.push_back(line("Munmap", old_addr, size));
        break;
      case MT_MREMAP_END:
        if (record.addr == 0) break;
        lines.push_back(line("Munmap", old_addr, size));
        lines.push_back(line("Mmap", record.addr, record.value));
        break;
      default:
        break;
    }
  }
  return lines;
}

}  // namespace

std::string fixture(const std::string& name) {
  return std::string(MEMTRACK_FIXTURE_DIR) + "/fixture_" + name;
}

void check_ok(const RunResult& result) {
  INFO("output: ", result.output);
  CHECK(WIFEXITED(result.wait_status));
  CHECK(WEXITSTATUS(result.wait_status) == 0);
}

void check_nothing_lost(const SegmentHarness& harness) {
  for (const std::uint64_t count : harness.lost()) CHECK(count == 0);
}

void check_expected_events(const std::string& program, const HarnessOptions& options, const std::string& preload) {
  SegmentHarness harness(options);
  const RunResult result = harness.run({fixture(program)}, preload);
  check_ok(result);
  check_nothing_lost(harness);
  REQUIRE(harness.streams().size() == 1);
  std::vector<std::string> expected;
  std::istringstream output(result.output);
  for (std::string text; std::getline(output, text);) expected.push_back(text);
  REQUIRE(expected.size() > 10);
  const std::vector<std::string> events = in_words(harness.streams()[0]);
  const auto first = std::find(events.begin(), events.end(), expected.front());
  REQUIRE(static_cast<std::size_t>(events.end() - first) >= expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(first[static_cast<std::ptrdiff_t>(i)] == expected[i]);
}

}  // namespace memtrack::test
