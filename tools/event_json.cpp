#include "tools/event_json.h"

#include <array>
#include <charconv>
#include <concepts>
#include <limits>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

namespace memtrack::tools {
namespace {

// Writes members straight into the line: a JSON value an event would cost ten times as much.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) {}

  void add(std::string_view name, std::integral auto value) {
    begin(name);
    number(value);
  }
  /// `text` needs no escapes.
  void add_plain(std::string_view name, std::string_view text) {
    begin(name);
    out_ += '"';
    out_ += text;
    out_ += '"';
  }
  void add_text(std::string_view name, std::string_view text) {
    begin(name);
    out_ += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  void add_boolean(std::string_view name, bool value) {
    begin(name);
    out_ += value ? "true" : "false";
  }
  void add_list(std::string_view name, std::span<const std::uint64_t> values) {
    begin(name);
    out_ += '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ += ',';
      number(values[i]);
    }
    out_ += ']';
  }
  void add_hex(std::string_view name, std::span<const std::byte> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    begin(name);
    out_ += '"';
    for (const std::byte byte : bytes) {
      out_ += kDigits[std::to_integer<std::size_t>(byte >> 4)];
      out_ += kDigits[std::to_integer<std::size_t>(byte & std::byte{0xF})];
    }
    out_ += '"';
  }
  void end() { out_ += "}\n"; }

 private:
  void begin(std::string_view name) {
    out_ += separator_;
    separator_ = ',';
    out_ += '"';
    out_ += name;
    out_ += "\":";
  }
  void number(std::integral auto value) {
    std::array<char, std::numeric_limits<std::uint64_t>::digits10 + 2> digits;
    const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    out_.append(digits.data(), written.ptr);
  }

  std::string& out_;
  char separator_ = '{';
};

void add_mapping(ObjectWriter& object, const EventBatch& batch, const Event& event) {
  object.add_text("path", batch.path(event));
  object.add("dev", event.mapping.dev);
  object.add("ino", event.mapping.ino);
  object.add("file_offset", event.mapping.file_offset);
  object.add("len", event.mapping.len);
}

void add_stack(ObjectWriter& object, const EventBatch& batch, const Event& event) {
  const StackParts parts = batch.stack(event);
  object.add("hash", event.stack.hash);
  object.add("sp", event.stack.sp);
  object.add_list("regs", parts.regs);
  object.add_hex("bytes", parts.bytes);
  object.add_list("fp_chain", parts.fp_chain);
  object.add_boolean("truncated", event.has(Event::kStackTruncated));
}

void add_own_fields(ObjectWriter& object, const EventBatch& batch, const Event& event) {
  switch (event.kind) {
    case EventKind::kRealloc:
      if (event.has(Event::kHasOldAddr)) object.add("old_addr", event.alloc.old_addr);
      [[fallthrough]];
    case EventKind::kMalloc:
    case EventKind::kCalloc:
    case EventKind::kAlignedAlloc:
    case EventKind::kMmap:
    case EventKind::kMunmap:
    case EventKind::kBrk:
      return object.add("size", event.alloc.size);
    case EventKind::kRss:
      object.add("member", event.rss.member);
      return object.add("size", event.rss.size);
    case EventKind::kRmap:
      object.add("member", event.rmap.member);
      return object.add("delta", event.rmap.delta);
    case EventKind::kFork:
      return object.add("parent_pid", event.fork.parent_pid);
    case EventKind::kMapping:
      return add_mapping(object, batch, event);
    case EventKind::kStack:
      return add_stack(object, batch, event);
    case EventKind::kFree:
    case EventKind::kExec:
    case EventKind::kExit:
      return;
  }
}

}  // namespace

void append_json(const EventBatch& batch, std::size_t i, std::string& out) {
  const Event& event = batch[i];
  ObjectWriter object(out);
  object.add("pid", event.pid);
  object.add("tid", event.tid);
  object.add("timestamp", event.timestamp_ns);
  object.add("addr", event.addr);
  if (event.has(Event::kHasStackHash)) object.add("stack_hash", event.alloc.stack_hash);
  object.add_plain("type", to_string(event.kind));
  add_own_fields(object, batch, event);
  object.end();
}

}  // namespace memtrack::tools
