// What the tracker knows about processes, their images and their rings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/event.h"
#include "preload/mapping_set.h"
#include "preload/process_probe.h"
#include "preload/realloc_ledger.h"
#include "preload/ring_reader.h"

namespace memtrack::preload {

struct TrackedProcess;
struct TrackedImage;

inline constexpr std::uint64_t kNoLimit = UINT64_MAX;

/// One sorted sequence in the merge: a ring, or what the tracker itself has to tell about a process.
struct Lane {
  Lane(TrackedProcess& owner, bool ring) : process(&owner), is_ring(ring) {}
  TrackedProcess* process;
  bool is_ring;
};

struct RingLane : Lane {
  RingLane(TrackedProcess& owner, TrackedImage& of, const SegmentView& segment, std::uint32_t number,
           std::int32_t thread)
      : Lane(owner, true), image(&of), ring(number), tid(thread), reader(segment, number) {}
  TrackedImage* image;
  std::uint32_t ring;
  std::int32_t tid;
  RingReader reader;
  mt_record begin{};         ///< the *_BEGIN whose *_END comes next
  bool thread_gone = false;  ///< found dead without having released its ring
};

enum class NoteKind : std::uint8_t { kBirth, kExec, kExit, kEvent };

/// Something to tell at a certain stamp. kEvent: `event` (and `path`) as it is, but for its time.
struct Note {
  std::uint64_t ticks = 0;
  NoteKind kind = NoteKind::kEvent;
  TrackedProcess* child = nullptr;  ///< kBirth
  TrackedImage* image = nullptr;    ///< kExec; null where the image never showed itself
  Event event{};
  std::string path = {};
};

struct NoteLane : Lane {
  explicit NoteLane(TrackedProcess& owner) : Lane(owner, false) {}
  std::deque<Note> notes;  ///< by ticks

  void insert(Note note) {
    const auto at = std::upper_bound(notes.begin(), notes.end(), note.ticks,
                                     [](std::uint64_t ticks, const Note& other) { return ticks < other.ticks; });
    notes.insert(at, std::move(note));
  }
  [[nodiscard]] std::uint64_t key() const { return notes.front().ticks << 1 | 1; }
};

/// One program in one process: from exec (or fork) to the next exec or the end.
struct TrackedImage {
  std::uint32_t index = 0;
  std::uint32_t origin = MT_ORIGIN_EXEC;
  std::int32_t parent_pid = 0;
  std::uint64_t ticks = 0;
  std::vector<RingLane*> lanes = {};
  bool announced = false;         ///< its Exec is among the notes
  bool begun = false;             ///< its records may be given
  bool final = false;             ///< nobody writes to its rings any more, and all of them are known
  std::uint64_t replaced_in = 0;  ///< number of the sweep that found a newer image
};

/// One process, whatever becomes of its number.
struct TrackedProcess {
  explicit TrackedProcess(std::int32_t number) : pid(number), notes(*this) {}
  TrackedProcess(const TrackedProcess&) = delete;
  TrackedProcess& operator=(const TrackedProcess&) = delete;

  std::int32_t pid;
  bool root = false;
  bool born = false;   ///< its Fork has been given; its own records may be
  bool ended = false;  ///< all its threads are gone
  bool final = false;  ///< and all that it left behind is known
  bool exit_noted = false;
  bool gone = false;  ///< its Exit has been given
  bool had_image = false;
  std::uint64_t ended_in = 0;  ///< number of the first sweep that sees all that it left behind
  std::uint64_t ended_ticks = 0;
  std::uint64_t started_ticks = 0;
  std::uint64_t found_ns = 0;
  std::uint64_t limit = kNoLimit;  ///< records below may be given: nothing older can come
  std::uint64_t last_ns = 0;       ///< time of its last event
  std::unique_ptr<ProcessWatch> watch = {};
  TrackedProcess* birth_host = nullptr;                   ///< in whose notes its birth waits
  TrackedProcess* predecessor = nullptr;                  ///< had the same number and must end first
  std::deque<std::unique_ptr<TrackedImage>> images = {};  ///< the first is the current one
  NoteLane notes;
  ReallocLedger reallocs = {};
  MappingSet mappings = {};
  bool active = true;  ///< has recorded something since its mappings were looked at
  std::uint32_t idle_rounds = 0;
  std::optional<pipeline::ResidentMemory> resident = {};
};

}  // namespace memtrack::preload
