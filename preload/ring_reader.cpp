#include "preload/ring_reader.h"

#include <algorithm>
#include <cstring>

#include "preload/futex.h"

namespace memtrack::preload {
namespace {

constexpr bool is_begin(unsigned kind) {
  return kind == MT_REALLOC_BEGIN || kind == MT_MUNMAP_BEGIN || kind == MT_MREMAP_BEGIN;
}

}  // namespace

RingReader::RingReader(const SegmentView& segment, std::uint32_t ring)
    : ring_(&segment.rings[ring]), slots_(segment.slots(ring)), slot_mask_(segment.layout.ring_slots - 1u) {}

void RingReader::look(std::uint64_t low_water) {
  const bool busy = __atomic_load_n(&ring_->busy, __ATOMIC_ACQUIRE) != 0;
  const std::uint64_t head = __atomic_load_n(&ring_->head, __ATOMIC_ACQUIRE);
  if (head - position_ > slot_mask_ + 1) {  // over the tail, or backwards: nothing in it can be believed
    ++bad_records_;
    front_ = Front::kNone;
    end_is_next_ = waiting_ = false;
    mapping_slots_left_ = 0;
    position_ = head;
  }
  end_position_ = head;
  if (!busy) floor_ = std::max(floor_, low_water);
}

bool RingReader::has_news() const {
  return __atomic_load_n(&ring_->head, __ATOMIC_RELAXED) != end_position_ ||
         __atomic_load_n(&ring_->state, __ATOMIC_RELAXED) != MT_STATE_LIVE || waiting_ || front_ != Front::kNone;
}

bool RingReader::load_next() {
  if (end_is_next_) {
    record_ = end_;
    return give(Front::kEnd, 1);
  }
  if (mapping_slots_left_ > 0) return continue_mapping();
  while (position_ != end_position_) {
    read(position_, record_);
    const unsigned kind = record_.kind;
    if (sane(record_.ticks)) {
      if (is_simple(kind)) return give(Front::kRecord, kind == MT_FREE ? 0 : 1);
      if (is_begin(kind)) {
        if (load_begin(static_cast<mt_record_kind>(kind))) return true;
        if (waiting_) return false;
        continue;
      }
      if (kind == MT_MAPPING && record_.more <= kMaxPathBytes) return start_mapping();
    }
    ++bad_records_;
    ++position_;
  }
  return false;
}

bool RingReader::load_begin(mt_record_kind kind) {
  if (position_ + 1 == end_position_) {
    if (final_) return give(Front::kUnfinished, 0);
    last_ticks_ = record_.ticks;
    waiting_ = true;
    return false;
  }
  read(position_ + 1, end_);
  if (end_.kind == kind + 1 && end_.ticks >= record_.ticks && end_.ticks <= latest_) return give(Front::kBegin, 0);
  waiting_ = false;  // something else came: this BEGIN tells nothing
  ++bad_records_;
  ++position_;
  return false;
}

bool RingReader::start_mapping() {
  last_ticks_ = record_.ticks;
  mapping_path_.clear();
  mapping_slots_left_ = 1 + (record_.more + MT_SLOT_BYTES - 1) / MT_SLOT_BYTES;
  ++position_;
  return continue_mapping();
}

bool RingReader::continue_mapping() {
  const std::uint64_t all = 1 + (record_.more + MT_SLOT_BYTES - 1) / MT_SLOT_BYTES;
  while (mapping_slots_left_ > 0 && position_ != end_position_) {
    mt_record slot;
    read(position_++, slot);
    if (mapping_slots_left_ == all) {
      std::memcpy(&mapping_more_, &slot, sizeof mapping_more_);
    } else {
      const std::size_t bytes = std::min<std::size_t>(MT_SLOT_BYTES, record_.more - mapping_path_.size());
      mapping_path_.append(reinterpret_cast<const char*>(&slot), bytes);
    }
    --mapping_slots_left_;
  }
  if (mapping_slots_left_ == 0) return give(Front::kMapping, 1);
  waiting_ = !final_;
  return false;
}

std::uint64_t RingReader::bound() const {
  if (final_ || front_ != Front::kNone) return kNoBound;
  return waiting_ ? record_.ticks : std::max(floor_, last_ticks_);
}

bool RingReader::holds_before(std::uint64_t ticks) const {
  if (front_ != Front::kNone || waiting_) return record_.ticks <= ticks;
  return position_ != end_position_;
}

void RingReader::release(bool all) {
  // A call that is not over keeps its BEGIN in the ring: position_ stands on it.
  if (position_ == released_ || (!all && position_ - released_ < (slot_mask_ + 1) / 8)) return;
  released_ = position_;
  // The producer: store room_wanted, then load tail; both sides sequentially consistent.
  __atomic_store_n(&ring_->tail, released_, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&ring_->room_wanted, __ATOMIC_SEQ_CST) == 0) return;
  if (__atomic_exchange_n(&ring_->room_wanted, 0u, __ATOMIC_SEQ_CST) == 1) futex_wake(&ring_->room_wanted);
}

}  // namespace memtrack::preload
