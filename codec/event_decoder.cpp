// Decodes in two passes over one event: the first checks that the bytes are a well-formed map with string keys and
// notes where the value of each known key begins ("type" may come last); the second, with the kind known, reads the
// values. Only the first pass meets unchecked bytes.
#include "codec/event_decoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/event_fast_path.h"
#include "codec/event_schema.h"
#include "codec/msgpack_scanner.h"
#include "codec/msgpack_value.h"
#include "codec/name_index.h"

namespace memtrack {
namespace {

using msgpack::Scan;
using schema::Key;

constexpr NameIndex<Key, schema::kKeyCount> kKeys(schema::kKeyNames);
constexpr NameIndex<EventKind, kEventKindCount> kKinds(schema::kKindNames);

// Where the values of an event's known keys begin.
struct Fields {
  std::array<const std::byte*, schema::kKeyCount> at;  // meaningful where `present` has the bit
  std::uint32_t present = 0;
  std::uint64_t unknown_keys = 0;

  [[nodiscard]] bool has(Key key) const { return (present & schema::bit(key)) != 0; }
  [[nodiscard]] const std::byte* operator[](Key key) const { return at[static_cast<std::size_t>(key)]; }
};

class Decoder {
 public:
  Decoder(EventBatch& out, DecodeCounters& counters, const DecodeOptions& options)
      : out_(out), counters_(counters), limits_(options.limits), kinds_(options.kinds) {}

  /// Takes one event from the front of [at, end) and moves `at` behind it.
  Scan step(const std::byte*& at, const std::byte* end) {
    Fields fields;
    const std::byte* next = at;
    const Scan scanned = scan(next, end, fields);
    const auto seen = static_cast<std::uint64_t>((scanned == Scan::kShort ? end : next) - at);
    if (scanned != Scan::kBad && seen > limits_.event_bytes) return fail("is larger than the cap on an event's size");
    if (scanned != Scan::kOk) return scanned;
    if (!build(fields, next)) return Scan::kBad;
    at = next;
    return Scan::kOk;
  }

  [[nodiscard]] std::string take_reason() { return "the event " + std::move(reason_); }

 private:
  Scan fail(std::string reason) {
    reason_ = std::move(reason);
    return Scan::kBad;
  }
  bool refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }
  bool refuse_value(Key key) {
    return refuse("has a value of a wrong type or out of range for '" + std::string(schema::name(key)) + "'");
  }

  Scan scan(const std::byte*& at, const std::byte* end, Fields& fields);
  bool build(const Fields& fields, const std::byte* end);
  bool build_known(const Fields& fields, EventKind kind);
  bool build_own(const Fields& fields, Event& event);
  bool read_allocation(const Fields& fields, Event& event);
  bool read_mapping(const Fields& fields, Event& event);
  bool read_stack(const Fields& fields, Event& event);

  bool read(const Fields& fields, Key key, std::uint64_t& to) {
    const auto value = msgpack::read_uint(fields[key]);
    if (!value) return refuse_value(key);
    to = *value;
    return true;
  }
  /// Integers of the Rust i32 kind: the format has them signed and in 32 bits, whatever they are held in.
  template <class Int>
  bool read_int32(const Fields& fields, Key key, Int& to) {
    const auto value = msgpack::read_int(fields[key]);
    if (!value || !std::in_range<std::int32_t>(*value)) return refuse_value(key);
    to = static_cast<Int>(*value);
    return true;
  }
  /// An optional field may be absent or nil; both are the same.
  bool read_optional(const Fields& fields, Key key, std::uint64_t& to, std::uint8_t flag, Event& event) {
    if (!fields.has(key) || msgpack::is_nil(fields[key])) return true;
    event.flags |= flag;
    return read(fields, key, to);
  }
  [[nodiscard]] bool wants(EventKind kind) const { return (kinds_ & kind_bit(kind)) != 0; }
  bool read_list(const Fields& fields, Key key, std::vector<std::uint64_t>& to);

  EventBatch& out_;
  DecodeCounters& counters_;
  const DecodeLimits& limits_;
  const KindSet kinds_;
  std::string reason_;
  std::vector<std::uint64_t> regs_;
  std::vector<std::uint64_t> fp_chain_;
};

Scan Decoder::scan(const std::byte*& at, const std::byte* end, Fields& fields) {
  msgpack::Scanner scanner(at, end, limits_.event_bytes);
  const auto stop = [&](Scan why) {
    at = scanner.at();
    if (why == Scan::kBad) reason_ = scanner.reason();
    return why;
  };
  std::uint64_t entries = 0;
  if (const Scan read = scanner.map_header(entries); read != Scan::kOk) return stop(read);
  for (; entries > 0; --entries) {
    std::string_view text;
    if (const Scan read = scanner.string(text); read != Scan::kOk) return stop(read);
    const std::byte* value = scanner.at();
    if (const Scan read = scanner.skip(); read != Scan::kOk) return stop(read);
    const std::optional<Key> key = kKeys.find(text, end);
    if (!key) {
      ++fields.unknown_keys;
      continue;
    }
    if (fields.has(*key)) return fail("has the key '" + std::string(text) + "' twice");
    fields.at[static_cast<std::size_t>(*key)] = value;
    fields.present |= schema::bit(*key);
  }
  return stop(Scan::kOk);
}

bool Decoder::build(const Fields& fields, const std::byte* end) {
  if (!fields.has(Key::kType)) return refuse("has no 'type'");
  const auto type = msgpack::read_blob(fields[Key::kType], msgpack::Blob::kString);
  if (!type) return refuse_value(Key::kType);
  const std::optional<EventKind> kind = kKinds.find(*type, end);
  if (kind) return build_known(fields, *kind);
  ++counters_.unknown_kinds;
  return true;
}

bool Decoder::build_known(const Fields& fields, EventKind kind) {
  const schema::KindKeys& keys = schema::kKindKeys[static_cast<std::size_t>(kind)];
  if (const std::uint32_t missing = keys.required & ~fields.present; missing != 0) {
    const auto key = static_cast<Key>(std::countr_zero(missing));
    return refuse("is a " + std::string(to_string(kind)) + " without '" + std::string(schema::name(key)) + "'");
  }
  Event event{};
  event.kind = kind;
  const bool read_all = read_int32(fields, Key::kPid, event.pid) && read_int32(fields, Key::kTid, event.tid) &&
                        read(fields, Key::kTimestamp, event.timestamp_ns) && read(fields, Key::kAddr, event.addr) &&
                        build_own(fields, event);
  if (!read_all) return false;
  ++counters_.events;
  const std::uint32_t strangers = fields.present & ~(keys.required | keys.optional);
  if (strangers != 0) counters_.unknown_keys += static_cast<unsigned>(std::popcount(strangers));
  counters_.unknown_keys += fields.unknown_keys;
  return true;
}

// Reads the fields that belong to the kind and appends the event.
bool Decoder::build_own(const Fields& fields, Event& event) {
  switch (event.kind) {
    case EventKind::kMapping:
      return read_mapping(fields, event);
    case EventKind::kStack:
      return read_stack(fields, event);
    case EventKind::kRss:
      if (!read_int32(fields, Key::kMember, event.rss.member) || !read(fields, Key::kSize, event.rss.size))
        return false;
      break;
    case EventKind::kRmap: {
      const auto delta = msgpack::read_int(fields[Key::kDelta]);
      if (!delta) return refuse_value(Key::kDelta);
      event.rmap.delta = *delta;
      if (!read_int32(fields, Key::kMember, event.rmap.member)) return false;
      break;
    }
    case EventKind::kFork:
      if (!read_int32(fields, Key::kParentPid, event.fork.parent_pid)) return false;
      break;
    case EventKind::kExec:
    case EventKind::kExit:
      break;
    default:
      if (!read_allocation(fields, event)) return false;
  }
  if (wants(event.kind)) out_.append(event);
  return true;
}

bool Decoder::read_allocation(const Fields& fields, Event& event) {
  if (event.kind != EventKind::kFree && !read(fields, Key::kSize, event.alloc.size)) return false;
  if (event.kind == EventKind::kRealloc &&
      !read_optional(fields, Key::kOldAddr, event.alloc.old_addr, Event::kHasOldAddr, event)) {
    return false;
  }
  return read_optional(fields, Key::kStackHash, event.alloc.stack_hash, Event::kHasStackHash, event);
}

bool Decoder::read_mapping(const Fields& fields, Event& event) {
  const auto path = msgpack::read_blob(fields[Key::kPath], msgpack::Blob::kString);
  if (!path) return refuse_value(Key::kPath);
  const bool read_all = read(fields, Key::kDev, event.mapping.dev) && read(fields, Key::kIno, event.mapping.ino) &&
                        read(fields, Key::kFileOffset, event.mapping.file_offset) &&
                        read(fields, Key::kLen, event.mapping.len);
  if (read_all && wants(event.kind)) out_.append_mapping(event, *path);
  return read_all;
}

bool Decoder::read_stack(const Fields& fields, Event& event) {
  const auto bytes = msgpack::read_blob(fields[Key::kBytes], msgpack::Blob::kBinary);
  if (!bytes) return refuse_value(Key::kBytes);
  const auto truncated = msgpack::read_bool(fields[Key::kTruncated]);
  if (!truncated) return refuse_value(Key::kTruncated);
  if (*truncated) event.flags |= Event::kStackTruncated;
  const bool read_all = read(fields, Key::kHash, event.stack.hash) && read(fields, Key::kSp, event.stack.sp) &&
                        read_list(fields, Key::kRegs, regs_) && read_list(fields, Key::kFpChain, fp_chain_);
  if (!read_all) return false;
  if (wants(event.kind)) {
    out_.append_stack(event, {.regs = regs_, .bytes = std::as_bytes(std::span(*bytes)), .fp_chain = fp_chain_});
  }
  return true;
}

bool Decoder::read_list(const Fields& fields, Key key, std::vector<std::uint64_t>& to) {
  to.clear();
  const std::byte* at = fields[key];
  const auto count = msgpack::read_array_header(at);
  if (!count) return refuse_value(key);
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto value = msgpack::read_uint(at);
    if (!value) return refuse_value(key);
    to.push_back(*value);
    at += 1 + msgpack::kFixedBytes[msgpack::tag_at(at)];
  }
  return true;
}

// Takes the events that have a form (event_forms.h) and leaves the others to the Decoder.
class FastTaker {
 public:
  FastTaker(EventBatch& out, DecodeCounters& counters, const DecodeOptions& options)
      : out_(out), counters_(counters), kinds_(options.kinds) {
    // Where even an event with a form might be over the cap, the Decoder must see all.
    if (options.way == DecodeWay::kExact || options.limits.event_bytes < fast::kLongestForm) return;
    const fast::Path& path = options.way == DecodeWay::kAvx2 ? fast::kAvx2 : fast::kPortable;
    keeps_ = (options.kinds & fast::kKinds) != 0;
    take_ = keeps_ ? path.keep : path.skip;
  }

  void take(const std::byte*& at, const std::byte* end) {
    if (take_ == nullptr || end - at < fast::kMaxReach || out_.room() == 0) return;
    Event* const to = keeps_ ? out_.prepare() : nullptr;
    run_.at = at;
    run_.end = end;
    run_.to = to;
    run_.to_end = keeps_ ? to + out_.room() : nullptr;
    run_.events = 0;
    take_(run_);
    if (keeps_) out_.commit(wanted(to));
    counters_.events += run_.events;
    at = run_.at;
  }

 private:
  // Of the events from `to` on, moves those that are asked for to the front; returns how many.
  [[nodiscard]] std::size_t wanted(Event* to) const {
    const auto taken = std::span(to, run_.to);
    if ((fast::kKinds & ~kinds_) == 0) return taken.size();
    const auto unwanted = [this](const Event& event) { return (kinds_ & kind_bit(event.kind)) == 0; };
    return taken.size() - std::ranges::remove_if(taken, unwanted).size();
  }

  EventBatch& out_;
  DecodeCounters& counters_;
  const KindSet kinds_;
  bool keeps_ = false;
  fast::Taker take_ = nullptr;
  fast::Run run_{};
};

}  // namespace

void DecodeCounters::merge(const DecodeCounters& other) {
  events += other.events;
  unknown_kinds += other.unknown_kinds;
  unknown_keys += other.unknown_keys;
}

bool is_available(DecodeWay way) {
  return way != DecodeWay::kAvx2 || fast::has_avx2();
}

DecodeWay fastest_way() {
  static const DecodeWay fastest = is_available(DecodeWay::kAvx2) ? DecodeWay::kAvx2 : DecodeWay::kPortable;
  return fastest;
}

DecodeStep decode_events(std::span<const std::byte> bytes, EventBatch& out, DecodeCounters& counters,
                         const DecodeOptions& options) {
  Decoder decoder(out, counters, options);
  FastTaker taker(out, counters, options);
  const std::byte* at = bytes.data();
  const std::byte* const end = at + bytes.size();
  const auto consumed = [&] { return static_cast<std::size_t>(at - bytes.data()); };
  while (at != end) {
    taker.take(at, end);
    if (out.room() == 0) {
      if (at == end) break;
      return {.status = DecodeStep::Status::kBatchFull, .consumed = consumed()};
    }
    const Scan taken = decoder.step(at, end);
    if (taken == Scan::kShort) break;
    if (taken == Scan::kBad) {
      return {.status = DecodeStep::Status::kMalformed, .consumed = consumed(), .reason = decoder.take_reason()};
    }
  }
  return {.status = DecodeStep::Status::kNeedMore, .consumed = consumed()};
}

}  // namespace memtrack
