#include "preload/sampler.h"

#include <algorithm>
#include <utility>

namespace memtrack::preload {

void Sampler::finish_round(std::uint64_t began_ns, std::uint64_t ended_ns) {
  constexpr std::uint64_t kCostShare = 20;
  next_ns_ = began_ns + std::max(interval_ns_, (ended_ns - began_ns) * kCostShare);
}

void Sampler::sample(TrackedProcess& process, std::uint64_t ticks) {
  if (process.ended || process.notes.notes.size() > kMaxNotes) return;
  // Who calls nothing hardly maps anything either, and the text of a big program's maps is long.
  if (std::exchange(process.active, false) || ++process.idle_rounds == kIdleRounds) {
    process.idle_rounds = 0;
    sample_mappings(process, ticks);
  }
  if (interval_ns_ != 0) sample_resident(process, ticks);
}

void Sampler::sample_mappings(TrackedProcess& process, std::uint64_t ticks) {
  auto mappings = probe_.mappings(process.pid);
  if (!mappings) return;
  for (pipeline::FileMapping& mapping : *mappings) {
    if (process.mappings.has(mapping.start,
                             {.len = mapping.len, .ino = mapping.ino, .file_offset = mapping.file_offset})) {
      continue;
    }
    Note note{.ticks = ticks};
    note.event.kind = EventKind::kMapping;
    note.event.addr = mapping.start;
    note.event.tid = process.pid;
    note.event.mapping = {
        .dev = mapping.dev, .ino = mapping.ino, .file_offset = mapping.file_offset, .len = mapping.len};
    note.path = std::move(mapping.path);
    process.notes.insert(std::move(note));
  }
}

void Sampler::sample_resident(TrackedProcess& process, std::uint64_t ticks) {
  const auto now = probe_.resident(process.pid);
  if (!now) return;
  const auto add = [&](std::uint64_t member, std::uint64_t bytes, std::uint64_t before) {
    if (process.resident && bytes == before) return;
    Note note{.ticks = ticks};
    note.event.kind = EventKind::kRss;
    note.event.tid = process.pid;
    note.event.rss.member = static_cast<std::int64_t>(member);
    note.event.rss.size = bytes;
    process.notes.insert(std::move(note));
  };
  const pipeline::ResidentMemory before = process.resident.value_or(pipeline::ResidentMemory{});
  add(kMemberFile, now->file_bytes, before.file_bytes);
  add(kMemberAnon, now->anon_bytes, before.anon_bytes);
  add(kMemberShmem, now->shmem_bytes, before.shmem_bytes);
  process.resident = *now;
}

}  // namespace memtrack::preload
