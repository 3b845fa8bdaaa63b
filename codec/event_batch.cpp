#include "codec/event_batch.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

namespace memtrack {
namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
constexpr std::size_t kStackHeaderWords = 3;  // regs, chain, bytes counts

std::size_t words_for(std::size_t bytes) {
  return (bytes + kWordBytes - 1) / kWordBytes;
}

}  // namespace

EventBatch::EventBatch(std::size_t capacity) : capacity_(capacity) {
  events_.reserve(capacity * sizeof(Event));
}

void EventBatch::append_with_payload(Event event, std::size_t words_at) {
  event.payload = static_cast<std::uint32_t>(words_at);
  append(event);
}

void EventBatch::append_mapping(const Event& event, std::string_view path) {
  const std::size_t at = words_.size();
  assert(at <= std::numeric_limits<std::uint32_t>::max());
  words_.resize(at + 1 + words_for(path.size()));
  words_[at] = path.size();
  if (!path.empty()) std::memcpy(&words_[at + 1], path.data(), path.size());
  append_with_payload(event, at);
}

void EventBatch::append_stack(const Event& event, const StackParts& parts) {
  const std::size_t at = words_.size();
  assert(at <= std::numeric_limits<std::uint32_t>::max());
  const std::size_t lists = parts.regs.size() + parts.fp_chain.size();
  words_.resize(at + kStackHeaderWords + lists + words_for(parts.bytes.size()));
  std::uint64_t* to = &words_[at];
  *to++ = parts.regs.size();
  *to++ = parts.fp_chain.size();
  *to++ = parts.bytes.size();
  to = std::ranges::copy(parts.regs, to).out;
  to = std::ranges::copy(parts.fp_chain, to).out;
  if (!parts.bytes.empty()) std::memcpy(to, parts.bytes.data(), parts.bytes.size());
  append_with_payload(event, at);
}

void EventBatch::append_from(const EventBatch& from, std::size_t i) {
  assert(&from != this);
  const Event& event = from[i];
  switch (event.kind) {
    case EventKind::kMapping:
      append_mapping(event, from.path(event));
      return;
    case EventKind::kStack:
      append_stack(event, from.stack(event));
      return;
    default:
      append(event);
  }
}

std::string_view EventBatch::path(const Event& event) const {
  const std::uint64_t* at = words_.data() + event.payload;
  return {reinterpret_cast<const char*>(at + 1), static_cast<std::size_t>(*at)};
}

StackParts EventBatch::stack(const Event& event) const {
  const std::uint64_t* at = words_.data() + event.payload;
  const std::span regs(at + kStackHeaderWords, static_cast<std::size_t>(at[0]));
  const std::span chain(regs.data() + regs.size(), static_cast<std::size_t>(at[1]));
  const auto* bytes = reinterpret_cast<const std::byte*>(chain.data() + chain.size());
  return {.regs = regs, .bytes = {bytes, static_cast<std::size_t>(at[2])}, .fp_chain = chain};
}

void EventBatch::clear() {
  events_.clear();
  words_.clear();
}

bool same_event(const EventBatch& left, std::size_t i, const EventBatch& right, std::size_t j) {
  const Event& a = left[i];
  const Event& b = right[j];
  if (!same_fixed_fields(a, b)) return false;
  if (a.kind == EventKind::kMapping) return left.path(a) == right.path(b);
  if (a.kind != EventKind::kStack) return true;
  const StackParts x = left.stack(a);
  const StackParts y = right.stack(b);
  return std::ranges::equal(x.regs, y.regs) && std::ranges::equal(x.bytes, y.bytes) &&
         std::ranges::equal(x.fp_chain, y.fp_chain);
}

}  // namespace memtrack
