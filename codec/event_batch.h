// EventBatch: events in order, with their variable parts beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "codec/byte_buffer.h"
#include "codec/event.h"

namespace memtrack {

/// The variable parts of a Stack event; views into the batch, valid until it is changed.
struct StackParts {
  std::span<const std::uint64_t> regs;      // by DWARF number
  std::span<const std::byte> bytes;         // copied stack memory, lowest address first
  std::span<const std::uint64_t> fp_chain;  // return addresses, innermost first
};

/// A sequence of events with a fixed capacity and the payloads (paths, stacks) that belong to them.
///
/// Promises: events keep the order in which they were appended; no allocation on append of an event without
/// payload; `clear()` keeps all memory for reuse.
/// Ownership: owns everything; views that it returns are valid until the next append or clear.
/// Threads: none of its own; one thread at a time. Move-only; a batch that was moved from may only be destroyed or
/// assigned to.
/// Bounds: `capacity()` events; payload memory grows with what is appended, `payload_bytes()` tells how much.
class EventBatch {
 public:
  explicit EventBatch(std::size_t capacity);

  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::size_t size() const { return events_.size() / sizeof(Event); }
  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] std::size_t room() const { return capacity_ - size(); }
  [[nodiscard]] std::size_t payload_bytes() const { return words_.size() * sizeof(std::uint64_t); }
  /// Memory that the contents stand for: events and payloads.
  [[nodiscard]] std::size_t used_bytes() const { return size() * sizeof(Event) + payload_bytes(); }
  [[nodiscard]] std::span<const Event> events() const {
    return {reinterpret_cast<const Event*>(events_.data()), size()};
  }
  [[nodiscard]] const Event& operator[](std::size_t i) const { return events()[i]; }

  /// Appends an event without payload. Precondition: room() > 0 and the kind is neither Mapping nor Stack.
  void append(const Event& event) { events_.append(std::as_bytes(std::span(&event, 1))); }
  /// Memory for room() events behind the last one; write events without payload there, then call commit().
  [[nodiscard]] Event* prepare() { return reinterpret_cast<Event*>(events_.prepare(room() * sizeof(Event))); }
  /// Adds `count` events that were written to prepare()'s memory.
  void commit(std::size_t count) { events_.commit(count * sizeof(Event)); }
  /// Appends a Mapping with its path (copied). Precondition: room() > 0.
  void append_mapping(const Event& event, std::string_view path);
  /// Appends a Stack with its parts (copied). Precondition: room() > 0.
  void append_stack(const Event& event, const StackParts& parts);
  /// Appends event `i` of another batch with its payload. Precondition: room() > 0, &from != this.
  void append_from(const EventBatch& from, std::size_t i);

  /// The path of a Mapping of this batch.
  [[nodiscard]] std::string_view path(const Event& event) const;
  /// The parts of a Stack of this batch.
  [[nodiscard]] StackParts stack(const Event& event) const;

  void clear();

 private:
  void append_with_payload(Event event, std::size_t words_at);

  std::size_t capacity_;
  ByteBuffer events_;
  // Payloads, 8-byte aligned: a path is {length, bytes...}; a stack is {regs, chain, bytes counts, then each}.
  std::vector<std::uint64_t> words_;
};

/// Equality of two events with their payloads.
[[nodiscard]] bool same_event(const EventBatch& left, std::size_t i, const EventBatch& right, std::size_t j);

}  // namespace memtrack
