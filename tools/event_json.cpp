#include "tools/event_json.h"

#include <nlohmann/json.hpp>

namespace memtrack::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    out += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    out += kDigits[std::to_integer<std::size_t>(byte & std::byte{0xF})];
  }
  return out;
}

void add_mapping(Json& json, const EventBatch& batch, const Event& event) {
  json["path"] = std::string(batch.path(event));
  json["dev"] = event.mapping.dev;
  json["ino"] = event.mapping.ino;
  json["file_offset"] = event.mapping.file_offset;
  json["len"] = event.mapping.len;
}

void add_stack(Json& json, const EventBatch& batch, const Event& event) {
  const StackParts parts = batch.stack(event);
  json["hash"] = event.stack.hash;
  json["sp"] = event.stack.sp;
  json["regs"] = parts.regs;
  json["bytes"] = hex(parts.bytes);
  json["fp_chain"] = parts.fp_chain;
  json["truncated"] = event.has(Event::kStackTruncated);
}

void add_own_fields(Json& json, const EventBatch& batch, const Event& event) {
  switch (event.kind) {
    case EventKind::kRealloc:
      if (event.has(Event::kHasOldAddr)) json["old_addr"] = event.alloc.old_addr;
      [[fallthrough]];
    case EventKind::kMalloc:
    case EventKind::kCalloc:
    case EventKind::kAlignedAlloc:
    case EventKind::kMmap:
    case EventKind::kMunmap:
    case EventKind::kBrk:
      json["size"] = event.alloc.size;
      break;
    case EventKind::kRss:
      json["member"] = event.rss.member;
      json["size"] = event.rss.size;
      break;
    case EventKind::kRmap:
      json["member"] = event.rmap.member;
      json["delta"] = event.rmap.delta;
      break;
    case EventKind::kFork:
      json["parent_pid"] = event.fork.parent_pid;
      break;
    case EventKind::kMapping:
      add_mapping(json, batch, event);
      break;
    case EventKind::kStack:
      add_stack(json, batch, event);
      break;
    case EventKind::kFree:
    case EventKind::kExec:
    case EventKind::kExit:
      break;
  }
}

}  // namespace

void append_json(const EventBatch& batch, std::size_t i, std::string& out) {
  const Event& event = batch[i];
  Json json;
  json["pid"] = event.pid;
  json["tid"] = event.tid;
  json["timestamp"] = event.timestamp_ns;
  json["addr"] = event.addr;
  if (event.has(Event::kHasStackHash)) json["stack_hash"] = event.alloc.stack_hash;
  json["type"] = to_string(event.kind);
  add_own_fields(json, batch, event);
  out += json.dump(-1, ' ', false, Json::error_handler_t::replace);
  out += '\n';
}

}  // namespace memtrack::tools
