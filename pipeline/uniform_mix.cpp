#include <cstddef>
#include <string>
#include <vector>

#include "pipeline/event_mix.h"

namespace memtrack::pipeline {
namespace {

constexpr std::uint32_t kLongestPath = 300;
constexpr std::uint32_t kLongestList = 40;
constexpr std::uint32_t kMostStackBytes = 1000;
constexpr std::string_view kPathLetters = "abcxyz0189/._- \t\n\r\\\"";

}  // namespace

std::size_t UniformMix::make(std::size_t count, std::size_t payload_bytes, bool enabled, EventBatch& out) {
  std::size_t made = 0;
  for (; made < count && out.payload_bytes() < payload_bytes; ++made) {
    Event event{};
    event.kind = static_cast<EventKind>(random_.below(kEventKindCount));
    event.timestamp_ns = number();
    event.addr = number();
    event.pid = number32();
    event.tid = number32();
    set_fields(event);
    if (event.kind == EventKind::kMapping) {
      append_mapping(event, out);
    } else if (event.kind == EventKind::kStack) {
      append_stack(event, out);
    } else if (enabled || !is_switched_kind(event.kind)) {
      out.append(event);
    }
  }
  return made;
}

/// Every width equally often, so that every form of an integer occurs.
std::uint64_t UniformMix::number() {
  const std::uint64_t value = random_.next();
  return value >> (value % 64);
}

void UniformMix::set_fields(Event& event) {
  switch (event.kind) {
    case EventKind::kRealloc:
      if (random_.below(8) != 0) {
        event.flags |= Event::kHasOldAddr;
        event.alloc.old_addr = number();
      }
      [[fallthrough]];
    case EventKind::kMalloc:
    case EventKind::kCalloc:
    case EventKind::kAlignedAlloc:
      if (stack_hashes_ && random_.below(8) != 0) {
        event.flags |= Event::kHasStackHash;
        event.alloc.stack_hash = number();
      }
      [[fallthrough]];
    case EventKind::kMmap:
    case EventKind::kMunmap:
    case EventKind::kBrk:
      event.alloc.size = number();
      break;
    case EventKind::kRss:
      event.rss.member = number32();
      event.rss.size = number();
      break;
    case EventKind::kRmap:
      event.rmap.member = number32();
      event.rmap.delta = static_cast<std::int64_t>(random_.below(2) != 0 ? number() : ~number());
      break;
    case EventKind::kFork:
      event.fork.parent_pid = number32();
      break;
    case EventKind::kMapping:
      event.mapping = {.dev = number(), .ino = number(), .file_offset = number(), .len = number()};
      break;
    case EventKind::kStack:
      event.stack.hash = number();
      event.stack.sp = number();
      if (random_.below(2) != 0) event.flags |= Event::kStackTruncated;
      break;
    case EventKind::kFree:
    case EventKind::kExec:
    case EventKind::kExit:
      break;
  }
}

void UniformMix::append_mapping(const Event& event, EventBatch& out) {
  std::string path(random_.below(kLongestPath), ' ');
  for (char& letter : path) letter = kPathLetters[random_.below(static_cast<std::uint32_t>(kPathLetters.size()))];
  out.append_mapping(event, path);
}

void UniformMix::append_stack(const Event& event, EventBatch& out) {
  std::vector<std::uint64_t> registers(random_.below(kLongestList));
  std::vector<std::uint64_t> chain(random_.below(kLongestList));
  std::vector<std::byte> memory(random_.below(kMostStackBytes));
  for (std::uint64_t& value : registers) value = number();
  for (std::uint64_t& value : chain) value = number();
  for (std::byte& value : memory) value = static_cast<std::byte>(random_.next());
  out.append_stack(event, {.regs = registers, .bytes = memory, .fp_chain = chain});
}

}  // namespace memtrack::pipeline
