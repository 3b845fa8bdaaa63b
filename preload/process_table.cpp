#include "preload/process_table.h"

#include <algorithm>
#include <utility>

#include "preload/futex.h"

namespace memtrack::preload {

ProcessTable::ProcessTable(const SegmentView& segment, TimeSource& time, ProcessProbe& probe)
    : segment_(segment), time_(time), probe_(probe), untracked_(segment), free_rings_(segment.layout.ring_count) {}

TrackedProcess* ProcessTable::find(std::int32_t pid) const {
  const auto at = by_pid_.find(pid);
  return at == by_pid_.end() ? nullptr : at->second;
}

void ProcessTable::expect_root(std::int32_t pid) {
  TrackedProcess& root = create(pid, time_.ticks());
  root.root = true;
  root.born = true;
}

TrackedProcess& ProcessTable::create(std::int32_t pid, std::uint64_t ticks) {
  TrackedProcess& process = *processes_.emplace_back(std::make_unique<TrackedProcess>(pid));
  by_pid_[pid] = &process;
  process.started_ticks = ticks;
  process.found_ns = now_.ns;
  process.watch = probe_.watch(pid);
  if (!process.watch) end(process, sweep_ + 1);  // some of its rings may have been passed by this scan
  return process;
}

void ProcessTable::end(TrackedProcess& process, std::uint64_t sweep) {
  if (process.ended) return;
  process.ended = true;
  process.ended_in = sweep;
  process.ended_ticks = time_.ticks();
}

void ProcessTable::begin_sweep(const Anchor& now) {
  ++sweep_;
  now_ = now;
  gone_.clear();
  dry_.clear();
  old_images_.clear();
  for (const auto& process : processes_) {
    if (!process->ended && process->watch->ended()) end(*process, sweep_);
  }
  if (free_rings_ < segment_.layout.ring_count / 4) find_dead_threads();
}

/// Threads that ended without telling (a raw exit, a destructor that never ran) keep their rings; only where rings are
/// scarce is it worth a look.
void ProcessTable::find_dead_threads() {
  constexpr std::uint64_t kBetweenChecksNs = 20'000'000;
  if (now_.ns < thread_check_ns_) return;
  thread_check_ns_ = now_.ns + kBetweenChecksNs;
  for (const auto& lane : lanes_) {
    if (!lane || lane->thread_gone || lane->reader.final() || lane->process->ended) continue;
    lane->thread_gone = !probe_.thread_exists(lane->process->pid, lane->tid);
  }
}

/// A shim raises these marks before the first stamp of what it claimed, so whatever has a stamp below a low water is
/// below the marks that are read after the barrier.
std::uint32_t ProcessTable::ring_end() const {
  return std::min(__atomic_load_n(&segment_.header->ring_end, __ATOMIC_SEQ_CST), segment_.layout.ring_count);
}
std::uint32_t ProcessTable::image_end() const {
  return std::min(__atomic_load_n(&segment_.header->image_end, __ATOMIC_SEQ_CST), segment_.layout.image_count);
}

/// Makes room for the rings and images that were claimed for the first time.
void ProcessTable::grow() {
  const std::uint32_t rings = ring_end();
  const std::uint32_t images = image_end();
  if (rings > lanes_.size()) {
    lanes_.resize(rings);
    refused_rings_.resize(rings);
  }
  if (images > images_.size()) {
    images_.resize(images);
    refused_images_.resize(images);
  }
}

bool ProcessTable::has_news() const {
  if (ring_end() > lanes_.size() || image_end() > images_.size() || untracked_.has_news()) return true;
  for (std::uint32_t ring = 0; ring < lanes_.size(); ++ring) {
    if (lanes_[ring] ? lanes_[ring]->reader.has_news()
                     : !refused_rings_[ring] &&
                           __atomic_load_n(&segment_.rings[ring].state, __ATOMIC_RELAXED) >= MT_STATE_LIVE) {
      return true;
    }
  }
  for (std::uint32_t index = 0; index < images_.size(); ++index) {
    if (images_[index].image == nullptr && !refused_images_[index] &&
        __atomic_load_n(&segment_.images[index].state, __ATOMIC_RELAXED) == MT_STATE_LIVE) {
      return true;
    }
  }
  return std::any_of(processes_.begin(), processes_.end(), [](const auto& process) {
    return !process->born || process->ended || process->images.size() > 1 || !process->notes.notes.empty() ||
           process->watch->ended();
  });
}

void ProcessTable::scan(std::uint64_t low_water) {
  low_water_ = low_water;
  grow();
  free_rings_ = segment_.layout.ring_count - static_cast<std::uint32_t>(lanes_.size());
  for (std::uint32_t ring = 0; ring < lanes_.size(); ++ring) look_at_ring(ring, low_water);
  adopt_images();
  untracked_.collect(now_.ns);
  const std::uint64_t latest = time_.ticks();
  for (const auto& lane : lanes_) {
    if (lane) lane->reader.set_latest(latest);
  }
  finalize();
}

void ProcessTable::look_at_ring(std::uint32_t ring, std::uint64_t low_water) {
  const std::uint32_t state = __atomic_load_n(&segment_.rings[ring].state, __ATOMIC_ACQUIRE);
  if (state == MT_STATE_FREE) ++free_rings_;
  if (!lanes_[ring]) {
    if (state != MT_STATE_LIVE && state != MT_STATE_RELEASED) {
      refused_rings_[ring] = false;
      return;
    }
    if (!refused_rings_[ring]) adopt_ring(ring);
    if (!lanes_[ring]) return;
  }
  RingLane& lane = *lanes_[ring];
  lane.reader.look(low_water);
  // Any other state than live: its thread is done with it, or it is nonsense.
  if (state != MT_STATE_LIVE || lane.thread_gone || lane.image->final) lane.reader.set_final();
}

void ProcessTable::adopt_ring(std::uint32_t ring) {
  const mt_ring& shared = segment_.rings[ring];
  const std::uint32_t index = __atomic_load_n(&shared.image, __ATOMIC_RELAXED);
  const std::int32_t tid = __atomic_load_n(&shared.tid, __ATOMIC_RELAXED);
  if (index >= images_.size()) grow();  // claimed since this scan began
  if (index < images_.size() && images_[index].image == nullptr) adopt_images();
  if (index >= images_.size() || images_[index].image == nullptr) {
    refused_rings_[ring] = true;
    ++recycled_losses_[LossCause::kBadRecord];
    return;
  }
  const ImageSlot& slot = images_[index];
  lanes_[ring] = std::make_unique<RingLane>(*slot.process, *slot.image, segment_, ring, tid);
  slot.image->lanes.push_back(lanes_[ring].get());
}

/// Whether an image with the number of a known process belongs to a new process. After a fork it always does. After an
/// exec it does where the old process had ended before we looked and another one lives under that number now; a
/// process that did an exec and then ended shows nobody.
bool ProcessTable::takes_over(const TrackedProcess& old, const mt_image& image) {
  if (image.origin == MT_ORIGIN_FORK) return old.had_image || !old.root;
  if (!old.ended || !old.had_image) return false;
  const auto present = probe_.watch(old.pid);
  return present != nullptr && !present->ended();  // a zombie is the old one
}

/// In the order in which they were born, whatever their places are: a process may have forked and done its exec since
/// the last look, and then its second image is not a new process.
void ProcessTable::adopt_images() {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> births;
  for (std::uint32_t index = 0; index < images_.size(); ++index) {
    if (images_[index].image != nullptr) continue;
    const mt_image& shared = segment_.images[index];
    if (__atomic_load_n(&shared.state, __ATOMIC_ACQUIRE) == MT_STATE_LIVE) {
      births.emplace_back(__atomic_load_n(&shared.ticks, __ATOMIC_RELAXED), index);
    } else {
      refused_images_[index] = false;
    }
  }
  std::sort(births.begin(), births.end());
  for (const auto& [ticks, index] : births) adopt_image(index);
}

void ProcessTable::adopt_image(std::uint32_t index) {
  mt_image& shared = segment_.images[index];
  if (refused_images_[index]) return;
  mt_image image;
  image.origin = __atomic_load_n(&shared.origin, __ATOMIC_RELAXED);
  image.pid = __atomic_load_n(&shared.pid, __ATOMIC_RELAXED);
  image.parent_pid = __atomic_load_n(&shared.parent_pid, __ATOMIC_RELAXED);
  image.ticks = __atomic_load_n(&shared.ticks, __ATOMIC_RELAXED);
  const std::uint64_t latest = time_.ticks() + RingReader::kFutureSlack;
  if (image.pid <= 0 || (image.origin != MT_ORIGIN_EXEC && image.origin != MT_ORIGIN_FORK) || image.ticks > latest) {
    refused_images_[index] = true;
    ++recycled_losses_[LossCause::kBadRecord];
    return;
  }
  TrackedProcess* const known = find(image.pid);
  TrackedProcess* process = known;
  if (known == nullptr || takes_over(*known, image)) {
    if (known != nullptr) end(*known, sweep_ + 1);
    process = &create(image.pid, image.ticks);
    process->predecessor = known;
  } else if (!known->images.empty()) {
    known->images.back()->replaced_in = sweep_;
  }
  auto& added = *process->images.emplace_back(std::make_unique<TrackedImage>());
  added.index = index;
  added.origin = image.origin;
  added.parent_pid = image.parent_pid;
  added.ticks = image.ticks;
  images_[index] = {.process = process, .image = &added};
  process->had_image = true;
  untracked_.answer(image.pid, image.ticks);
  process->active = true;
  if (process != known && process->predecessor == nullptr) place_birth(*process);
  new_.push_back(process);
}

/// Decides in whose notes the child's birth waits: its parent's, so that it comes after the parent's records of before.
void ProcessTable::place_birth(TrackedProcess& child) {
  TrackedProcess* host = find(child.images.front()->parent_pid);
  if (host == nullptr || host == &child || host->exit_noted || forced_) host = &child;
  child.birth_host = host;
  host->notes.insert(Note{.ticks = child.images.front()->ticks, .kind = NoteKind::kBirth, .child = &child});
  if (host == &child) ready_.push_back(&child.notes);
}

/// The parent has no say any more (it ended, or holds back for too long).
void ProcessTable::release_birth(TrackedProcess& child) {
  auto& notes = child.birth_host->notes.notes;
  std::erase_if(notes, [&](const Note& note) { return note.kind == NoteKind::kBirth && note.child == &child; });
  child.birth_host = &child;
  child.notes.insert(Note{.ticks = child.images.front()->ticks, .kind = NoteKind::kBirth, .child = &child});
}

void ProcessTable::finalize() {
  for (const auto& process : processes_) {
    process->final = forced_ || (process->ended && sweep_ >= process->ended_in);
    for (const auto& image : process->images) {
      image->final = process->final || (image->replaced_in != 0 && sweep_ > image->replaced_in);
      if (!image->final) continue;
      for (RingLane* lane : image->lanes) lane->reader.set_final();
    }
    process->limit = process->final || !process->born ? kNoLimit : low_water_;
    const bool overdue = forced_ || now_.ns - process->found_ns > kBirthHoldNs;
    if (!process->born && process->birth_host != nullptr && process->birth_host != process.get() && overdue) {
      release_birth(*process);
    }
  }
}

void ProcessTable::born(TrackedProcess& child, TrackedProcess& host) {
  TrackedImage& image = *child.images.front();
  child.born = true;
  child.birth_host = nullptr;
  child.limit = child.final ? kNoLimit : low_water_;
  if (image.origin == MT_ORIGIN_FORK && &host != &child) child.mappings = host.mappings;
  image_begins(child, image);
}

void ProcessTable::image_begins(TrackedProcess& process, TrackedImage& image) {
  image.begun = true;
  if (!image.final) process.limit = std::min(process.limit, low_water_);
  for (RingLane* lane : image.lanes) ready_.push_back(lane);
  ready_.push_back(&process.notes);
  settle(process);
}

void ProcessTable::settle(TrackedProcess& process) {
  if (!process.born || process.gone) return;
  while (!process.images.empty()) {
    TrackedImage& image = *process.images.front();
    if (!image.begun) {
      if (image.announced) return;
      image.announced = true;
      if (image.origin == MT_ORIGIN_FORK) return image_begins(process, image);
      process.notes.insert(Note{.ticks = image.ticks, .kind = NoteKind::kExec, .image = &image});
      ready_.push_back(&process.notes);
      return;
    }
    for (std::size_t i = image.lanes.size(); i-- > 0;) {
      RingLane* const lane = image.lanes[i];
      if (!lane->reader.exhausted()) continue;
      image.lanes.erase(image.lanes.begin() + static_cast<std::ptrdiff_t>(i));
      recycle(*lane);
    }
    if (!image.final || !image.lanes.empty()) return;
    if (forced_ && !process.ended && process.images.size() == 1) return;  // it lives on in there
    process.reallocs.clear();
    recycle(image);
    process.images.pop_front();
  }
  if (!process.ended || !process.final || process.exit_noted) return;
  process.exit_noted = true;
  if (process.root && !process.had_image) {
    process.notes.insert(Note{.ticks = process.started_ticks, .kind = NoteKind::kExec});
  }
  process.notes.insert(Note{.ticks = process.ended_ticks, .kind = NoteKind::kExit});
  ready_.push_back(&process.notes);
}

void ProcessTable::exited(TrackedProcess& process) {
  process.gone = true;
  for (const auto& other : processes_) {
    if (other->birth_host == &process && !other->born) {
      other->birth_host = nullptr;
      place_birth(*other);
    }
    if (other->predecessor == &process) {
      other->predecessor = nullptr;
      place_birth(*other);
    }
  }
  process.notes.notes.clear();
  if (find(process.pid) == &process) by_pid_.erase(process.pid);
  const auto at = std::find_if(processes_.begin(), processes_.end(),
                               [&](const auto& candidate) { return candidate.get() == &process; });
  gone_.push_back(std::move(*at));
  processes_.erase(at);
}

void ProcessTable::recycle(RingLane& lane) {
  mt_ring& shared = segment_.rings[lane.ring];
  for (std::size_t i = 0; i < kLossCauseCount; ++i) {
    recycled_losses_.by_cause[i] += __atomic_load_n(&shared.lost[i], __ATOMIC_RELAXED);
  }
  recycled_losses_[LossCause::kBadRecord] += lane.reader.bad_records();
  const bool still_owned = forced_ && !lane.process->ended && !lane.thread_gone &&
                           __atomic_load_n(&shared.state, __ATOMIC_RELAXED) == MT_STATE_LIVE;
  if (still_owned) {  // the capture is over, its owner is not: leave it alone, but never take it up again
    refused_rings_[lane.ring] = true;
    lane.reader.release(true);
  } else {
    __atomic_store_n(&shared.head, 0u, __ATOMIC_RELAXED);
    __atomic_store_n(&shared.tail, 0u, __ATOMIC_RELAXED);
    __atomic_store_n(&shared.busy, 0u, __ATOMIC_RELAXED);
    __atomic_store_n(&shared.room_wanted, 0u, __ATOMIC_RELAXED);
    for (std::uint64_t& count : shared.lost) __atomic_store_n(&count, 0u, __ATOMIC_RELAXED);
    __atomic_store_n(&shared.state, static_cast<std::uint32_t>(MT_STATE_FREE), __ATOMIC_RELEASE);
    lowest_freed_ring_ = std::min(lowest_freed_ring_, lane.ring);
  }
  dry_.push_back(std::move(lanes_[lane.ring]));
}

void ProcessTable::recycle(TrackedImage& image) {
  const ImageSlot slot = std::exchange(images_[image.index], {});
  __atomic_store_n(&segment_.images[image.index].state, static_cast<std::uint32_t>(MT_STATE_FREE), __ATOMIC_RELEASE);
  lowest_freed_image_ = std::min(lowest_freed_image_, image.index);
  old_images_.push_back(std::move(slot.process->images.front()));
}

void ProcessTable::wake_claimers() {
  const std::uint32_t ring = std::exchange(lowest_freed_ring_, UINT32_MAX);
  const std::uint32_t image = std::exchange(lowest_freed_image_, UINT32_MAX);
  if (std::min(ring, image) == UINT32_MAX) return;
  // The lowest first: what was used before is warm, and what was never claimed costs neither memory nor a look.
  const auto lower = [](std::uint32_t& hint, std::uint32_t to) {
    if (to < __atomic_load_n(&hint, __ATOMIC_RELAXED)) __atomic_store_n(&hint, to, __ATOMIC_RELAXED);
  };
  lower(segment_.header->ring_hint, ring);
  lower(segment_.header->image_hint, image);
  __atomic_fetch_add(&segment_.header->free_waiters, 1u, __ATOMIC_SEQ_CST);
  futex_wake(&segment_.header->free_waiters);
}

LossCounters ProcessTable::losses() const {
  LossCounters sum = recycled_losses_;
  for (std::size_t i = 0; i < kLossCauseCount; ++i) {
    sum.by_cause[i] += __atomic_load_n(&segment_.header->lost[i], __ATOMIC_RELAXED);
  }
  for (const auto& lane : lanes_) {
    if (!lane) continue;
    const mt_ring& shared = segment_.rings[lane->ring];
    for (std::size_t i = 0; i < kLossCauseCount; ++i) {
      sum.by_cause[i] += __atomic_load_n(&shared.lost[i], __ATOMIC_RELAXED);
    }
    sum[LossCause::kBadRecord] += lane->reader.bad_records();
  }
  return sum;
}

}  // namespace memtrack::preload
