// Event: the in-memory form of one record of an artifact. See FORMAT.md for the form on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

namespace memtrack {

enum class EventKind : std::uint8_t {
  kMalloc,
  kFree,
  kRealloc,
  kCalloc,
  kAlignedAlloc,
  kMmap,
  kMunmap,
  kBrk,
  kRss,
  kRmap,
  kFork,
  kExec,
  kExit,
  kMapping,
  kStack,
};
inline constexpr std::size_t kEventKindCount = 15;

/// The name in the artifact, e.g. "AlignedAlloc".
[[nodiscard]] std::string_view to_string(EventKind kind);
/// The kind of a name in the artifact; nothing for a name this version does not know.
[[nodiscard]] std::optional<EventKind> event_kind(std::string_view name);

/// Which memory counter an Rss or Rmap event is about (the kernel's MM_* numbers; swap, 2, is not recorded).
inline constexpr std::int64_t kMemberFile = 0;
inline constexpr std::int64_t kMemberAnon = 1;
inline constexpr std::int64_t kMemberShmem = 3;

/// One event: 64 bytes, trivially copyable, without padding. Value-initialise it (`Event e{}`), set the common
/// fields and the member of the union that belongs to `kind`. The variable parts of a Mapping (path) and of a
/// Stack (registers, bytes, frame-pointer chain) live in the EventBatch that holds the event; `payload` finds them.
struct Event {
  /// Presence bits of optional fields: a present 0 and an absent field are different things.
  static constexpr std::uint8_t kHasStackHash = 1;
  static constexpr std::uint8_t kHasOldAddr = 2;
  /// Stack only: its `truncated` field (not a presence bit).
  static constexpr std::uint8_t kStackTruncated = 4;

  struct Allocation {          // Malloc, Free, Realloc, Calloc, AlignedAlloc, Mmap, Munmap, Brk
    std::uint64_t size;        // bytes; unused by Free
    std::uint64_t old_addr;    // Realloc with kHasOldAddr
    std::uint64_t stack_hash;  // with kHasStackHash
    std::uint64_t reserved;
  };
  struct Rss {
    std::int64_t member;  // kMember*; signed 32 bit in the artifact
    std::uint64_t size;   // bytes, absolute
    std::uint64_t reserved[2];
  };
  struct Rmap {
    std::int64_t member;  // kMember*; signed 32 bit in the artifact
    std::int64_t delta;   // pages
    std::uint64_t reserved[2];
  };
  struct Fork {
    std::int64_t parent_pid;  // signed 32 bit in the artifact
    std::uint64_t reserved[3];
  };
  struct Mapping {
    std::uint64_t dev;  // kernel coding: major << 20 | minor
    std::uint64_t ino;
    std::uint64_t file_offset;  // bytes
    std::uint64_t len;          // bytes
  };
  struct Stack {
    std::uint64_t hash;
    std::uint64_t sp;
    std::uint64_t reserved[2];
  };

  std::uint64_t timestamp_ns;  // CLOCK_MONOTONIC
  std::uint64_t addr;
  std::int32_t pid;
  std::int32_t tid;
  EventKind kind;
  std::uint8_t flags;
  std::uint16_t reserved;
  std::uint32_t payload;  // set by EventBatch; meaningful only beside the batch that holds the event
  union {
    Allocation alloc;
    Rss rss;
    Rmap rmap;
    Fork fork;
    Mapping mapping;
    Stack stack;
  };

  [[nodiscard]] bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
};
static_assert(sizeof(Event) == 64);
static_assert(std::is_trivially_copyable_v<Event> && std::is_standard_layout_v<Event>);

/// Malloc, Realloc, Calloc and AlignedAlloc: `addr` is a new heap block.
[[nodiscard]] constexpr bool is_allocation(EventKind kind) {
  return kind == EventKind::kMalloc || kind == EventKind::kRealloc || kind == EventKind::kCalloc ||
         kind == EventKind::kAlignedAlloc;
}

/// What is needed to read addresses later: Mapping, Fork, Exec.
[[nodiscard]] constexpr bool is_module_event(EventKind kind) {
  return kind == EventKind::kMapping || kind == EventKind::kFork || kind == EventKind::kExec;
}

/// A set of kinds: bit `1 << kind` of each.
using KindSet = std::uint32_t;
[[nodiscard]] constexpr KindSet kind_bit(EventKind kind) {
  return KindSet{1} << static_cast<unsigned>(kind);
}
inline constexpr KindSet kAllKinds = (KindSet{1} << kEventKindCount) - 1;
inline constexpr KindSet kModuleKinds =
    kind_bit(EventKind::kMapping) | kind_bit(EventKind::kFork) | kind_bit(EventKind::kExec);

/// Equality of everything but the variable parts (and where they are); see EventBatch for those.
[[nodiscard]] inline bool same_fixed_fields(const Event& left, const Event& right) {
  Event a = left;
  Event b = right;
  a.payload = b.payload = 0;
  return std::memcmp(static_cast<const void*>(&a), static_cast<const void*>(&b), sizeof(Event)) == 0;
}

}  // namespace memtrack
