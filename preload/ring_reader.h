// RingReader: the tracker's end of one ring. Copies, checks, then uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "preload/segment.h"

namespace memtrack::preload {

/// Longest path in an MT_MAPPING that is believed.
inline constexpr std::uint32_t kMaxPathBytes = 4096;

/// Reads the records of one ring in order, one at a time ("the front").
///
/// Use: look() at each sweep; while load(): look at front(), record(), end() or mapping, then pop(); release() now and
/// then. A record is read from shared memory once, so a target that changes it later changes nothing here.
/// Promises: keys of successive fronts never decrease; a *_BEGIN comes out only together with its *_END, or as
/// kUnfinished once the ring is final; nonsense is skipped and counted in bad_records().
/// Bounds: one mapping's path beside the ring itself. Threads: the tracker's one.
class RingReader {
 public:
  enum class Front : std::uint8_t {
    kNone,
    kRecord,      ///< record() is a whole event
    kBegin,       ///< record() is a *_BEGIN, end() its *_END, which will be the next front
    kEnd,         ///< record() is the *_END of the last front
    kUnfinished,  ///< record() is a *_BEGIN whose call never came back
    kMapping,     ///< record(), mapping_more() and mapping_path()
  };
  static constexpr std::uint64_t kNoBound = UINT64_MAX;
  /// Stamps may lie this much after the time at which they are seen (clocks of two cores); more is nonsense.
  static constexpr std::uint64_t kFutureSlack = 1u << 22;

  RingReader(const SegmentView& segment, std::uint32_t ring);

  /// Reads busy and head, in this order. `low_water`: a time before a barrier that was before this call. A ring that is
  /// not busy will get no stamp below it.
  void look(std::uint64_t low_water);
  /// To be called after look(): the time at which the head had been read.
  void set_latest(std::uint64_t now) { latest_ = now + kFutureSlack; }
  /// Nobody writes any more, and look() was called since.
  void set_final() { final_ = true; }
  [[nodiscard]] bool final() const { return final_; }

  /// Makes the next record the front; false where there is none that can be given now.
  [[nodiscard]] bool load() {
    if (front_ != Front::kNone) return true;
    if (position_ == end_position_ || end_is_next_ || mapping_slots_left_ > 0) return load_next();
    read(position_, record_);
    if (!sane(record_.ticks) || !is_simple(record_.kind)) return load_next();
    return give(Front::kRecord, record_.kind == MT_FREE ? 0 : 1);
  }
  [[nodiscard]] Front front() const { return front_; }
  /// Order among rings: stamp, then what takes away before what gives.
  [[nodiscard]] std::uint64_t key() const { return key_; }
  [[nodiscard]] const mt_record& record() const { return record_; }
  [[nodiscard]] const mt_record& end() const { return end_; }
  [[nodiscard]] const mt_mapping_more& mapping_more() const { return mapping_more_; }
  [[nodiscard]] const std::string& mapping_path() const { return mapping_path_; }
  void pop() {
    end_is_next_ = front_ == Front::kBegin;
    if (front_ != Front::kMapping && front_ != Front::kNone) ++position_;
    front_ = Front::kNone;
  }

  /// Where load() said false: no later front has a stamp below this.
  [[nodiscard]] std::uint64_t bound() const;
  /// Something is published and not yet given, with a stamp up to `ticks`.
  [[nodiscard]] bool holds_before(std::uint64_t ticks) const;
  /// No record that is not given yet has a stamp below this.
  [[nodiscard]] std::uint64_t oldest_ticks() const { return last_ticks_; }
  /// False where look() would find nothing new.
  [[nodiscard]] bool has_news() const;
  /// load() will never be true again.
  [[nodiscard]] bool exhausted() const { return final_ && front_ == Front::kNone && position_ == end_position_; }

  /// Hands consumed slots back and wakes the producer where it waits. Cheap where there is little to hand back, unless
  /// `all`.
  void release(bool all);
  [[nodiscard]] std::uint64_t bad_records() const { return bad_records_; }
  [[nodiscard]] std::uint64_t consumed_slots() const { return position_; }

 private:
  /// One record is one event.
  static constexpr bool is_simple(unsigned kind) {
    return (kind >= MT_MALLOC && kind <= MT_FREE) || kind == MT_MMAP || kind == MT_BRK;
  }
  bool load_next();
  bool load_begin(mt_record_kind kind);
  bool start_mapping();
  bool continue_mapping();
  /// Copies a slot, each word once.
  void read(std::uint64_t position, mt_record& out) const {
    const std::uint64_t* const slot = slots_ + (position & slot_mask_) * SegmentView::kWordsPerSlot;
    out.ticks = __atomic_load_n(slot, __ATOMIC_RELAXED);
    out.addr = __atomic_load_n(slot + 1, __ATOMIC_RELAXED);
    out.value = __atomic_load_n(slot + 2, __ATOMIC_RELAXED);
    const std::uint64_t rest = __atomic_load_n(slot + 3, __ATOMIC_RELAXED);  // kind, flags, more
    std::memcpy(reinterpret_cast<std::byte*>(&out) + offsetof(mt_record, kind), &rest, sizeof rest);
  }
  [[nodiscard]] bool sane(std::uint64_t ticks) const { return ticks >= last_ticks_ && ticks <= latest_; }
  bool give(Front front, std::uint64_t order) {
    front_ = front;
    waiting_ = false;
    last_ticks_ = record_.ticks;
    key_ = record_.ticks << 1 | order;
    return true;
  }

  mt_ring* ring_;
  const std::uint64_t* slots_;
  std::uint64_t slot_mask_;
  std::uint64_t position_ = 0;      // next slot to read
  std::uint64_t end_position_ = 0;  // as of look()
  std::uint64_t released_ = 0;      // the tail that was told
  std::uint64_t last_ticks_ = 0;
  std::uint64_t latest_ = 0;
  std::uint64_t floor_ = 0;  // no stamp below will be written
  std::uint64_t key_ = 0;
  std::uint64_t bad_records_ = 0;
  mt_record record_{};
  mt_record end_{};
  mt_mapping_more mapping_more_{};
  std::string mapping_path_;
  std::uint64_t mapping_slots_left_ = 0;  // > 0: within an MT_MAPPING
  Front front_ = Front::kNone;
  bool end_is_next_ = false;
  bool waiting_ = false;  // record_ began something that is not whole yet
  bool final_ = false;
};

}  // namespace memtrack::preload
