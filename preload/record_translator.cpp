#include "preload/record_translator.h"

namespace memtrack::preload {

void RecordTranslator::take_special(RingLane& lane) {
  switch (lane.reader.front()) {
    case RingReader::Front::kBegin:
      return take_begin(lane);
    case RingReader::Front::kEnd:
      return take_end(lane);
    case RingReader::Front::kUnfinished:
      return take_unfinished(lane);
    case RingReader::Front::kMapping:
      return take_mapping(lane);
    case RingReader::Front::kRecord:
    case RingReader::Front::kNone:
      return;
  }
}

void RecordTranslator::take_begin(RingLane& lane) {
  const mt_record& begin = lane.begin = lane.reader.record();
  const mt_record& end = lane.reader.end();
  switch (begin.kind) {
    case MT_REALLOC_BEGIN:
      if (end.addr == 0) {  // failed, or freed where nothing was asked for
        if (begin.value == 0) allocation(lane, begin.ticks, EventKind::kFree, begin.addr, 0);
      } else if (end.addr != begin.addr) {
        hand_out(*lane.process, begin.ticks, begin.addr);
        lane.process->reallocs.add(
            {.old_addr = begin.addr, .addr = end.addr, .size = begin.value, .tid = lane.tid, .finished = true});
      }
      return;
    case MT_MUNMAP_BEGIN:
      if (end.value == 0) allocation(lane, begin.ticks, EventKind::kMunmap, begin.addr, begin.value);
      return;
    case MT_MREMAP_BEGIN:  // an old length of 0 makes a second mapping and leaves the first one
      if (end.addr != 0 && begin.value != 0) {
        allocation(lane, begin.ticks, EventKind::kMunmap, begin.addr, begin.value);
      }
      return;
    default:
      return;
  }
}

void RecordTranslator::take_end(RingLane& lane) {
  const mt_record& begin = lane.begin;
  const mt_record& end = lane.reader.record();
  if (end.addr == 0) return;
  if (end.kind == MT_MREMAP_END) return allocation(lane, end.ticks, EventKind::kMmap, end.addr, end.value);
  if (end.kind != MT_REALLOC_END) return;
  if (end.addr == begin.addr) {
    realloc(*lane.process, end.ticks,
            {.old_addr = begin.addr, .addr = end.addr, .size = begin.value, .tid = lane.tid, .finished = true});
  } else if (const auto entry = lane.process->reallocs.take(begin.addr, lane.tid)) {
    realloc(*lane.process, end.ticks, *entry);
  }
}

void RecordTranslator::take_unfinished(RingLane& lane) {
  const mt_record& begin = lane.reader.record();
  if (begin.kind != MT_REALLOC_BEGIN) return;
  lane.process->reallocs.add(
      {.old_addr = begin.addr, .addr = 0, .size = begin.value, .tid = lane.tid, .finished = false});
}

/// `addr` is about to be given out: a realloc that moved away from there must be told before.
void RecordTranslator::hand_out(TrackedProcess& process, std::uint64_t ticks, std::uint64_t addr) {
  if (const auto entry = process.reallocs.take(addr)) realloc(process, ticks, *entry);
}

void RecordTranslator::realloc(TrackedProcess& process, std::uint64_t ticks, const ReallocLedger::Entry& entry) {
  // The entry is out of the ledger already, so a chain of them ends.
  if (entry.finished && !process.reallocs.empty()) hand_out(process, ticks, entry.addr);
  if (!cuts_.on(ticks)) return;
  Event event{};
  event.timestamp_ns = time(process, ticks);
  event.pid = process.pid;
  event.tid = entry.tid;
  if (entry.finished) {
    event.kind = EventKind::kRealloc;
    event.flags = Event::kHasOldAddr;
    event.addr = entry.addr;
    event.alloc.size = entry.size;
    event.alloc.old_addr = entry.old_addr;
  } else {  // the thread died in the call; that the old block was freed shows only now
    event.kind = EventKind::kFree;
    event.addr = entry.old_addr;
  }
  sink_.add(event);
}

void RecordTranslator::take_mapping(RingLane& lane) {
  const mt_record& record = lane.reader.record();
  const mt_mapping_more& more = lane.reader.mapping_more();
  Event event{};
  event.kind = EventKind::kMapping;
  event.addr = record.addr;
  event.tid = lane.tid;
  event.mapping = {.dev = more.dev, .ino = more.ino, .file_offset = more.file_offset, .len = record.value};
  tell_mapping(*lane.process, record.ticks, event, lane.reader.mapping_path());
}

void RecordTranslator::tell(TrackedProcess& process, std::uint64_t ticks, Event event) {
  event.timestamp_ns = time(process, ticks);
  event.pid = process.pid;
  sink_.add(event);
}

void RecordTranslator::tell_mapping(TrackedProcess& process, std::uint64_t ticks, Event event,
                                    const std::string& path) {
  const Event::Mapping& mapping = event.mapping;
  if (!process.mappings.add(event.addr, {.len = mapping.len, .ino = mapping.ino, .file_offset = mapping.file_offset})) {
    return;
  }
  event.timestamp_ns = time(process, ticks);
  event.pid = process.pid;
  sink_.add_mapping(event, path);
}

}  // namespace memtrack::preload
