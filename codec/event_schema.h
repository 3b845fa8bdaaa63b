// Internal to codec: the keys of the artifact's maps, and which kind has which.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "codec/event.h"

namespace memtrack::schema {

enum class Key : std::uint8_t {
  kPid,
  kTid,
  kTimestamp,
  kAddr,
  kStackHash,
  kType,
  kSize,
  kOldAddr,
  kMember,
  kDelta,
  kParentPid,
  kPath,
  kDev,
  kIno,
  kFileOffset,
  kLen,
  kHash,
  kSp,
  kRegs,
  kBytes,
  kFpChain,
  kTruncated,
};
inline constexpr std::size_t kKeyCount = 22;

// In the order of EventKind.
inline constexpr std::array<std::string_view, kEventKindCount> kKindNames = {
    "Malloc", "Free", "Realloc", "Calloc", "AlignedAlloc", "Mmap",    "Munmap", "Brk",
    "Rss",    "Rmap", "Fork",    "Exec",   "Exit",         "Mapping", "Stack"};

// In the order of Key.
inline constexpr std::array<std::string_view, kKeyCount> kKeyNames = {
    "pid",    "tid",   "timestamp",  "addr",  "stack_hash", "type",     "size",        "old_addr",
    "member", "delta", "parent_pid", "path",  "dev",        "ino",      "file_offset", "len",
    "hash",   "sp",    "regs",       "bytes", "fp_chain",   "truncated"};

constexpr std::string_view name(Key key) {
  return kKeyNames[static_cast<std::size_t>(key)];
}

constexpr std::uint32_t bit(Key key) {
  return 1u << static_cast<unsigned>(key);
}
template <class... Keys>
constexpr std::uint32_t bits(Keys... keys) {
  return (bit(keys) | ... | 0u);
}

inline constexpr std::uint32_t kCommonKeys = bits(Key::kPid, Key::kTid, Key::kTimestamp, Key::kAddr, Key::kType);

struct KindKeys {
  std::uint32_t required;
  std::uint32_t optional;
};

/// The keys that a kind has. `stack_hash` belongs to everything whose Event member is Allocation: one development
/// state of the format wrote it on Free, and it stands among the common fields.
constexpr KindKeys keys_of(EventKind kind) {
  switch (kind) {
    case EventKind::kMalloc:
    case EventKind::kCalloc:
    case EventKind::kAlignedAlloc:
    case EventKind::kMmap:
    case EventKind::kMunmap:
    case EventKind::kBrk:
      return {kCommonKeys | bit(Key::kSize), bit(Key::kStackHash)};
    case EventKind::kFree:
      return {kCommonKeys, bit(Key::kStackHash)};
    case EventKind::kRealloc:
      return {kCommonKeys | bit(Key::kSize), bits(Key::kStackHash, Key::kOldAddr)};
    case EventKind::kRss:
      return {kCommonKeys | bits(Key::kMember, Key::kSize), 0};
    case EventKind::kRmap:
      return {kCommonKeys | bits(Key::kMember, Key::kDelta), 0};
    case EventKind::kFork:
      return {kCommonKeys | bit(Key::kParentPid), 0};
    case EventKind::kExec:
    case EventKind::kExit:
      return {kCommonKeys, 0};
    case EventKind::kMapping:
      return {kCommonKeys | bits(Key::kPath, Key::kDev, Key::kIno, Key::kFileOffset, Key::kLen), 0};
    case EventKind::kStack:
      return {kCommonKeys | bits(Key::kHash, Key::kSp, Key::kRegs, Key::kBytes, Key::kFpChain, Key::kTruncated), 0};
  }
  return {kCommonKeys, 0};
}

// keys_of as a table, for readers' hot path.
inline constexpr std::array<KindKeys, kEventKindCount> kKindKeys = [] {
  std::array<KindKeys, kEventKindCount> table{};
  for (std::size_t i = 0; i < kEventKindCount; ++i) table[i] = keys_of(static_cast<EventKind>(i));
  return table;
}();

}  // namespace memtrack::schema
