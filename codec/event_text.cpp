#include "codec/event_text.h"

#include <charconv>
#include <string_view>

namespace memtrack {
namespace {

template <class Int>
void put_number(std::string& out, Int value) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end);
}

template <class Int>
void put_field(std::string& out, std::string_view name, Int value) {
  out += '\t';
  out += name;
  out += '=';
  put_number(out, value);
}

void put_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\\\";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        out += c;
    }
  }
}

void put_list(std::string& out, std::string_view name, std::span<const std::uint64_t> values) {
  out += '\t';
  out += name;
  out += '=';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out += ',';
    put_number(out, values[i]);
  }
}

void put_hex(std::string& out, std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\tbytes=";
  for (const std::byte b : bytes) {
    out += kDigits[std::to_integer<std::size_t>(b >> 4)];
    out += kDigits[std::to_integer<std::size_t>(b & std::byte{0x0f})];
  }
}

void put_mapping(std::string& out, const EventBatch& batch, const Event& event) {
  out += "\tpath=";
  put_escaped(out, batch.path(event));
  put_field(out, "dev", event.mapping.dev);
  put_field(out, "ino", event.mapping.ino);
  put_field(out, "file_offset", event.mapping.file_offset);
  put_field(out, "len", event.mapping.len);
}

void put_stack(std::string& out, const EventBatch& batch, const Event& event) {
  const StackParts parts = batch.stack(event);
  put_field(out, "hash", event.stack.hash);
  put_field(out, "sp", event.stack.sp);
  put_list(out, "regs", parts.regs);
  put_hex(out, parts.bytes);
  put_list(out, "fp_chain", parts.fp_chain);
  out += event.has(Event::kStackTruncated) ? "\ttruncated=true" : "\ttruncated=false";
}

void put_own_fields(std::string& out, const EventBatch& batch, const Event& event) {
  switch (event.kind) {
    case EventKind::kFree:
    case EventKind::kExec:
    case EventKind::kExit:
      return;
    case EventKind::kRss:
      put_field(out, "member", event.rss.member);
      put_field(out, "size", event.rss.size);
      return;
    case EventKind::kRmap:
      put_field(out, "member", event.rmap.member);
      put_field(out, "delta", event.rmap.delta);
      return;
    case EventKind::kFork:
      put_field(out, "parent_pid", event.fork.parent_pid);
      return;
    case EventKind::kMapping:
      put_mapping(out, batch, event);
      return;
    case EventKind::kStack:
      put_stack(out, batch, event);
      return;
    default:
      if (event.kind == EventKind::kRealloc && event.has(Event::kHasOldAddr)) {
        put_field(out, "old_addr", event.alloc.old_addr);
      }
      put_field(out, "size", event.alloc.size);
  }
}

}  // namespace

void append_text(const EventBatch& batch, std::size_t i, std::string& out) {
  const Event& event = batch[i];
  put_number(out, event.pid);
  out += '\t';
  put_number(out, event.tid);
  out += '\t';
  put_number(out, event.timestamp_ns);
  out += '\t';
  put_number(out, event.addr);
  out += '\t';
  out += to_string(event.kind);
  put_own_fields(out, batch, event);
  if (event.kind <= EventKind::kBrk && event.has(Event::kHasStackHash)) {
    put_field(out, "stack_hash", event.alloc.stack_hash);
  }
  out += '\n';
}

}  // namespace memtrack
