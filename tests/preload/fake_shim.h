// The shim's side of a segment, written by hand, and a machine whose clock and processes do as the test says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "preload/record_merger.h"

namespace memtrack::test {

/// A clock that stands still until it is told. Ticks are nanoseconds.
class FakeTime final : public preload::TimeSource {
 public:
  std::uint64_t now = 1'000;
  std::function<void()> on_barrier = [] {};  ///< what the target does between the low water and the look at the rings
  std::uint64_t ticks() override { return now; }
  preload::Anchor anchor() override { return {.ticks = now, .ns = now}; }
  void barrier() override { on_barrier(); }
};

class FakeProbe final : public preload::ProcessProbe {
 public:
  void start(std::int32_t pid) { live_[pid] = std::make_shared<bool>(false); }
  /// `reaped` false: a zombie, which can still be looked up.
  void end(std::int32_t pid, bool reaped = true) {
    *live_.at(pid) = true;
    if (reaped) live_.erase(pid);
  }
  std::function<void(std::int32_t)> on_watch = [](std::int32_t) {};
  std::map<std::pair<std::int32_t, std::int32_t>, bool> dead_threads;
  std::map<std::int32_t, std::vector<pipeline::FileMapping>> maps;
  std::map<std::int32_t, pipeline::ResidentMemory> memory;

  std::unique_ptr<preload::ProcessWatch> watch(std::int32_t pid) override {
    on_watch(pid);
    const auto at = live_.find(pid);
    if (at == live_.end()) return nullptr;
    return std::make_unique<Watch>(at->second);
  }
  bool thread_exists(std::int32_t pid, std::int32_t tid) override { return !dead_threads.contains({pid, tid}); }
  std::optional<std::vector<pipeline::FileMapping>> mappings(std::int32_t pid) override {
    return maps.contains(pid) ? std::optional(maps[pid]) : std::nullopt;
  }
  std::optional<pipeline::ResidentMemory> resident(std::int32_t pid) override {
    return memory.contains(pid) ? std::optional(memory[pid]) : std::nullopt;
  }
  std::vector<std::int32_t> members(const std::string&) override { return {}; }
  std::string name(std::int32_t pid) override { return "name" + std::to_string(pid); }

 private:
  class Watch final : public preload::ProcessWatch {
   public:
    explicit Watch(std::shared_ptr<bool> ended) : ended_(std::move(ended)) {}
    [[nodiscard]] bool ended() const override { return *ended_; }
    [[nodiscard]] bool ended_now() const override { return *ended_; }

   private:
    std::shared_ptr<bool> ended_;
  };
  std::map<std::int32_t, std::shared_ptr<bool>> live_;
};

/// A segment in this process's memory.
class FakeSegment {
 public:
  FakeSegment(std::uint32_t rings, std::uint32_t images, std::uint32_t ring_slots) {
    preload::SegmentLayout layout;
    layout.image_count = images;
    layout.ring_count = rings;
    layout.ring_slots = ring_slots;
    layout.images_offset = MT_SEGMENT_HEADER_BYTES;
    layout.rings_offset = layout.images_offset + images * sizeof(mt_image);
    layout.data_offset = (layout.rings_offset + rings * sizeof(mt_ring) + 4095) / 4096 * 4096;
    layout.bytes = (layout.data_offset + std::uint64_t{rings} * ring_slots * MT_SLOT_BYTES + 4095) / 4096 * 4096;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, layout.bytes)));
    std::memset(memory_.get(), 0, layout.bytes);
    view_ = preload::format_segment(memory_.get(), layout, {.clock = MT_CLOCK_MONOTONIC});
  }
  [[nodiscard]] const preload::SegmentView& view() const { return view_; }
  [[nodiscard]] std::byte* memory() { return memory_.get(); }
  [[nodiscard]] mt_ring& ring(std::uint32_t index) { return view_.rings[index]; }
  [[nodiscard]] mt_image& image(std::uint32_t index) { return view_.images[index]; }

  /// Publishes an image; returns its index.
  std::uint32_t add_image(mt_image_origin origin, std::int32_t pid, std::int32_t parent, std::uint64_t ticks) {
    std::uint32_t index = 0;
    while (view_.images[index].state != MT_STATE_FREE) ++index;
    view_.header->image_end = std::max(view_.header->image_end, index + 1);
    view_.images[index] = {.state = MT_STATE_LIVE,
                           .origin = static_cast<std::uint32_t>(origin),
                           .pid = pid,
                           .parent_pid = parent,
                           .ticks = ticks,
                           .uid = 0,
                           .reserved = 0,
                           .reserved1 = {}};
    return index;
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  preload::SegmentView view_;
};

/// A thread of a target with a ring of its own. Does what shared_segment.h says, step by step.
class FakeThread {
 public:
  FakeThread(FakeSegment& segment, std::uint32_t image, std::int32_t tid) : segment_(&segment) {
    while (segment.ring(index_).state != MT_STATE_FREE) ++index_;
    mt_segment& header = *segment.view().header;
    header.ring_end = std::max(header.ring_end, index_ + 1);
    mt_ring& ring = segment.ring(index_);
    ring.image = image;
    ring.tid = tid;
    ring.head = 0;
    ring.state = MT_STATE_LIVE;
  }
  void put(mt_record_kind kind, std::uint64_t ticks, std::uint64_t addr, std::uint64_t value = 0) {
    write({.ticks = ticks,
           .addr = addr,
           .value = value,
           .kind = static_cast<std::uint16_t>(kind),
           .flags = 0,
           .more = 0});
    publish();
  }
  void put_mapping(std::uint64_t ticks, std::uint64_t start, std::uint64_t len, std::uint64_t ino,
                   const std::string& path, std::uint64_t file_offset = 0) {
    for (const mt_record& slot : mapping_slots(ticks, start, len, ino, path, file_offset)) write(slot);
    publish();
  }
  static std::vector<mt_record> mapping_slots(std::uint64_t ticks, std::uint64_t start, std::uint64_t len,
                                              std::uint64_t ino, const std::string& path, std::uint64_t file_offset) {
    std::vector<mt_record> slots(2 + (path.size() + MT_SLOT_BYTES - 1) / MT_SLOT_BYTES);
    slots[0] = {.ticks = ticks,
                .addr = start,
                .value = len,
                .kind = MT_MAPPING,
                .flags = 0,
                .more = static_cast<std::uint32_t>(path.size())};
    const mt_mapping_more more{.dev = 1, .ino = ino, .file_offset = file_offset, .reserved = 0};
    std::memcpy(&slots[1], &more, sizeof more);
    if (!path.empty()) std::memcpy(&slots[2], path.data(), path.size());
    return slots;
  }
  /// Writes a slot without publishing it.
  void write(const mt_record& slot) {
    std::uint64_t* const at = segment_->view().slots(index_) + (head_++ & (segment_->view().layout.ring_slots - 1)) * 4;
    std::memcpy(at, &slot, sizeof slot);
  }
  void publish() { ring().head = head_; }
  void set_busy(bool busy) { ring().busy = busy ? 1 : 0; }
  void release() { ring().state = MT_STATE_RELEASED; }
  [[nodiscard]] std::uint64_t room() { return ring().tail + segment_->view().layout.ring_slots - head_; }
  [[nodiscard]] mt_ring& ring() { return segment_->ring(index_); }
  [[nodiscard]] std::uint32_t index() const { return index_; }

 private:
  FakeSegment* segment_;
  std::uint32_t index_ = 0;
  std::uint64_t head_ = 0;
};

}  // namespace memtrack::test
