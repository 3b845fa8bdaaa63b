// The bytes of one event, [] where optional, every integer in its shortest form:
//
//   map header | "pid" int | "tid" int | "timestamp" uint | "addr" uint | ["stack_hash" uint] | "type" name | own
//   fields
//                `-------- cached per thread --------'                                `-- template per kind --'
#include "codec/event_encoder.h"

#include <array>
#include <cstring>
#include <string_view>

#include "codec/event_schema.h"
#include "codec/msgpack_writer.h"

namespace memtrack {
namespace {

using msgpack::write_int;
using msgpack::write_uint;
using schema::Key;

constexpr std::size_t kTemplateBytes = 32;
// What a template of a simple kind fits in: "type", "AlignedAlloc", "size".
constexpr std::size_t kShortTemplateBytes = 24;
// All fields of the longest kind without variable parts, each with its key, and what templates write too much.
constexpr std::size_t kMaxFixedBytes = 256;

// A run of constant bytes that is copied whole and then counted by its real size.
struct Template {
  std::array<char, kTemplateBytes> bytes{};
  std::uint8_t size = 0;

  constexpr void put_string(std::string_view text) {
    bytes[size++] = static_cast<char>(0xa0 + text.size());  // all names are short
    for (const char c : text) bytes[size++] = c;
  }
};

constexpr Template key_template(Key key) {
  Template made;
  made.put_string(schema::name(key));
  return made;
}

constexpr Template kind_template(std::string_view kind, std::initializer_list<Key> first_own_key) {
  Template made = key_template(Key::kType);
  made.put_string(kind);
  for (const Key key : first_own_key) made.put_string(schema::name(key));
  return made;
}

struct KindForm {
  Template type;           // "type", the kind's name, and the key of the first own field
  std::uint8_t fields;     // of the map, optional ones left out
  std::uint8_t size_mask;  // 0xff where `size` is the one own field, 0 where there is none
  bool simple;             // at most one own field, and that is `size`
};

// In the order of EventKind.
constexpr std::array<KindForm, kEventKindCount> kForms = {{
    {kind_template("Malloc", {Key::kSize}), 6, 0xff, true},
    {kind_template("Free", {}), 5, 0, true},
    {kind_template("Realloc", {Key::kSize}), 6, 0xff, true},
    {kind_template("Calloc", {Key::kSize}), 6, 0xff, true},
    {kind_template("AlignedAlloc", {Key::kSize}), 6, 0xff, true},
    {kind_template("Mmap", {Key::kSize}), 6, 0xff, true},
    {kind_template("Munmap", {Key::kSize}), 6, 0xff, true},
    {kind_template("Brk", {Key::kSize}), 6, 0xff, true},
    {kind_template("Rss", {Key::kMember}), 7, 0, false},
    {kind_template("Rmap", {Key::kMember}), 7, 0, false},
    {kind_template("Fork", {Key::kParentPid}), 6, 0, false},
    {kind_template("Exec", {}), 5, 0, true},
    {kind_template("Exit", {}), 5, 0, true},
    {kind_template("Mapping", {Key::kPath}), 10, 0, false},
    {kind_template("Stack", {Key::kHash}), 11, 0, false},
}};
constexpr Template kReallocWithOld = kind_template("Realloc", {Key::kOldAddr});
constexpr Template kAddrKey = key_template(Key::kAddr);
constexpr Template kStackHashKey = key_template(Key::kStackHash);

template <std::size_t kCopied = kTemplateBytes>
std::byte* put(std::byte* to, const Template& made) {
  std::memcpy(to, made.bytes.data(), kCopied);
  return to + made.size;
}

std::byte* put_key(std::byte* to, Key key) {
  return msgpack::write_string(to, schema::name(key));
}

std::byte* put_uint_field(std::byte* to, Key key, std::uint64_t value) {
  return write_uint(put_key(to, key), value);
}

// Largest encoding of the event; written once per event and checked against the room before anything is stored.
std::size_t bound(const EventBatch& batch, const Event& event) {
  if (event.kind == EventKind::kMapping) return kMaxFixedBytes + batch.path(event).size();
  if (event.kind != EventKind::kStack) return kMaxFixedBytes;
  const StackParts parts = batch.stack(event);
  return kMaxFixedBytes + parts.bytes.size() + (parts.regs.size() + parts.fp_chain.size()) * msgpack::kMaxIntBytes;
}

std::byte* put_uint_list(std::byte* to, Key key, std::span<const std::uint64_t> values) {
  to = msgpack::write_array_header(put_key(to, key), values.size());
  for (const std::uint64_t value : values) to = write_uint(to, value);
  return to;
}

std::byte* put_mapping(std::byte* to, const EventBatch& batch, const Event& event) {
  to = msgpack::write_string(to, batch.path(event));
  to = put_uint_field(to, Key::kDev, event.mapping.dev);
  to = put_uint_field(to, Key::kIno, event.mapping.ino);
  to = put_uint_field(to, Key::kFileOffset, event.mapping.file_offset);
  return put_uint_field(to, Key::kLen, event.mapping.len);
}

std::byte* put_stack(std::byte* to, const EventBatch& batch, const Event& event) {
  const StackParts parts = batch.stack(event);
  to = write_uint(to, event.stack.hash);
  to = put_uint_field(to, Key::kSp, event.stack.sp);
  to = put_uint_list(to, Key::kRegs, parts.regs);
  to = msgpack::write_binary(put_key(to, Key::kBytes), parts.bytes);
  to = put_uint_list(to, Key::kFpChain, parts.fp_chain);
  return msgpack::write_bool(put_key(to, Key::kTruncated), event.has(Event::kStackTruncated));
}

// The own fields of kinds that are not simple; the first key is already there.
std::byte* put_own_fields(std::byte* to, const EventBatch& batch, const Event& event) {
  switch (event.kind) {
    case EventKind::kRss:
      return put_uint_field(write_int(to, event.rss.member), Key::kSize, event.rss.size);
    case EventKind::kRmap:
      return write_int(put_key(write_int(to, event.rmap.member), Key::kDelta), event.rmap.delta);
    case EventKind::kFork:
      return write_int(to, event.fork.parent_pid);
    case EventKind::kMapping:
      return put_mapping(to, batch, event);
    case EventKind::kStack:
      return put_stack(to, batch, event);
    default:
      return to;
  }
}

bool may_have_stack_hash(EventKind kind) {
  return kind <= EventKind::kBrk;
}

std::byte* put_common(std::byte* to, unsigned fields, std::span<const std::byte, kTemplateBytes> prefix,
                      std::size_t prefix_size, const Event& event) {
  *to++ = static_cast<std::byte>(0x80 + fields);
  std::memcpy(to, prefix.data(), kTemplateBytes);
  to = msgpack::write_wide_uint(to + prefix_size, event.timestamp_ns);
  return msgpack::write_wide_uint(put<8>(to, kAddrKey), event.addr);
}

// Everything behind the common fields of an event that has optional fields or is not simple.
std::byte* put_rest(std::byte* to, const EventBatch& batch, const Event& event, const KindForm& form,
                    bool has_stack_hash, bool has_old_addr) {
  if (has_stack_hash) to = msgpack::write_wide_uint(put<16>(to, kStackHashKey), event.alloc.stack_hash);
  if (has_old_addr) {
    to = msgpack::write_wide_uint(put(to, kReallocWithOld), event.alloc.old_addr);
    return put_uint_field(to, Key::kSize, event.alloc.size);
  }
  to = put(to, form.type);
  if (!form.simple) return put_own_fields(to, batch, event);
  return form.size_mask != 0 ? write_uint(to, event.alloc.size) : to;
}

}  // namespace

void FrameSummary::merge(const FrameSummary& other) {
  if (other.event_count == 0) return;
  first_timestamp_ns =
      event_count == 0 ? other.first_timestamp_ns : std::min(first_timestamp_ns, other.first_timestamp_ns);
  last_timestamp_ns = std::max(last_timestamp_ns, other.last_timestamp_ns);
  kinds |= other.kinds;
  module_event_count += other.module_event_count;
  event_count += other.event_count;
}

void EventEncoder::fill(Prefix& prefix, const Event& event) {
  prefix.pid = event.pid;
  prefix.tid = event.tid;
  std::byte* end = write_int(put_key(prefix.bytes.data(), Key::kPid), event.pid);
  end = write_int(put_key(end, Key::kTid), event.tid);
  end = put_key(end, Key::kTimestamp);
  prefix.size = static_cast<std::uint32_t>(end - prefix.bytes.data());
}

void EventEncoder::encode(const EventBatch& batch, std::size_t begin, std::size_t end, ByteBuffer& out) {
  // Where the next event goes and how far it may reach: kept in registers, not in the buffer.
  std::byte* start = nullptr;
  std::byte* to = nullptr;
  std::size_t room = 0;
  const auto make_room = [&](std::size_t bytes) {
    out.commit(static_cast<std::size_t>(to - start));
    start = to = out.prepare(bytes);
    room = out.capacity() - out.size();
  };
  for (const Event& event : batch.events().subspan(begin, end - begin)) {
    const KindForm& form = kForms[static_cast<std::size_t>(event.kind)];
    const std::size_t needed = form.simple ? kMaxFixedBytes : bound(batch, event);
    if (room - static_cast<std::size_t>(to - start) < needed) make_room(needed);

    Prefix& prefix = prefixes_[static_cast<std::uint32_t>(event.tid) % kPrefixSlots];
    if (prefix.pid != event.pid || prefix.tid != event.tid || prefix.size == 0) [[unlikely]]
      fill(prefix, event);
    const auto thread = std::span(prefix.bytes).first<kTemplateBytes>();
    if (event.flags == 0 && form.simple) [[likely]] {
      to = put_common(to, form.fields, thread, prefix.size, event);
      // Malloc and Free alternate without pattern: write `size` always, keep it where the kind has one.
      to = put<kShortTemplateBytes>(to, form.type);
      to += (write_uint(to, event.alloc.size) - to) & form.size_mask;
      continue;
    }
    const bool has_stack_hash = event.has(Event::kHasStackHash) && may_have_stack_hash(event.kind);
    const bool has_old_addr = event.has(Event::kHasOldAddr) && event.kind == EventKind::kRealloc;
    const unsigned fields = form.fields + (has_stack_hash ? 1u : 0u) + (has_old_addr ? 1u : 0u);
    to = put_common(to, fields, thread, prefix.size, event);
    to = put_rest(to, batch, event, form, has_stack_hash, has_old_addr);
  }
  out.commit(static_cast<std::size_t>(to - start));
}

}  // namespace memtrack
