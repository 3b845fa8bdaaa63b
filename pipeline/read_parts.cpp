#include "pipeline/read_parts.h"

namespace memtrack::pipeline {

std::uint64_t held_bytes(const Part& part) {
  return sizeof(Part) + (part.events ? part.events->used_bytes() : 0) + (part.text ? part.text->size() : 0);
}

bool deliver(const Part& part, const PartConsumer& consumer, ReadOutcome& outcome) {
  static const EventBatch kNone(0);
  outcome.counters.merge(part.counters);
  outcome.events += part.event_count;
  outcome.frames += part.frames;
  outcome.truncated = outcome.truncated || part.cut;
  outcome.stopped = !consumer({.events = part.events ? *part.events : kNone,
                               .text = part.text ? std::string_view(*part.text) : std::string_view(),
                               .event_count = part.event_count,
                               .bytes_passed = part.bytes_passed});
  if (part.error) outcome.error = part.error;
  return !outcome.stopped && !outcome.error;
}

}  // namespace memtrack::pipeline
