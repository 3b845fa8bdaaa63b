#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <msgpack.hpp>

#include "codec/event_decoder.h"
#include "codec/event_encoder.h"
#include "tests/codec/codec_test_support.h"
#include "tests/support/seed.h"

using namespace memtrack;
using namespace memtrack::test;

namespace {

using Status = DecodeStep::Status;

struct Decoded {
  EventBatch events{1000};
  DecodeCounters counters;
  DecodeStep step;
};

Decoded decode(std::span<const std::byte> bytes, const DecodeLimits& limits = {}) {
  Decoded decoded;
  decoded.step = decode_events(bytes, decoded.events, decoded.counters, {.limits = limits});
  return decoded;
}

std::string random_batch_text(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return text_of(random_batch(100, random));
}

// What msgpack-cxx must find in the encoding of an event, in this order: key, and value as JSON-like text.
using Expected = std::vector<std::pair<std::string, std::string>>;

std::string number(auto value) {
  return std::to_string(value);
}

std::string list(std::span<const std::uint64_t> values) {
  std::string text = "[";
  for (const auto value : values) text += std::to_string(value) + ",";
  return text + "]";
}

Expected expected_fields(const EventBatch& batch, const Event& e) {
  Expected fields = {
      {"pid", number(e.pid)}, {"tid", number(e.tid)}, {"timestamp", number(e.timestamp_ns)}, {"addr", number(e.addr)}};
  if (e.kind <= EventKind::kBrk && e.has(Event::kHasStackHash))
    fields.emplace_back("stack_hash", number(e.alloc.stack_hash));
  fields.emplace_back("type", std::string(to_string(e.kind)));
  if (e.kind == EventKind::kRealloc && e.has(Event::kHasOldAddr))
    fields.emplace_back("old_addr", number(e.alloc.old_addr));
  if (e.kind <= EventKind::kBrk && e.kind != EventKind::kFree) fields.emplace_back("size", number(e.alloc.size));
  if (e.kind == EventKind::kRss || e.kind == EventKind::kRmap) fields.emplace_back("member", number(e.rss.member));
  if (e.kind == EventKind::kRss) fields.emplace_back("size", number(e.rss.size));
  if (e.kind == EventKind::kRmap) fields.emplace_back("delta", number(e.rmap.delta));
  if (e.kind == EventKind::kFork) fields.emplace_back("parent_pid", number(e.fork.parent_pid));
  if (e.kind == EventKind::kMapping) {
    fields.insert(fields.end(), {{"path", std::string(batch.path(e))},
                                 {"dev", number(e.mapping.dev)},
                                 {"ino", number(e.mapping.ino)},
                                 {"file_offset", number(e.mapping.file_offset)},
                                 {"len", number(e.mapping.len)}});
  }
  if (e.kind == EventKind::kStack) {
    const StackParts parts = batch.stack(e);
    fields.insert(fields.end(),
                  {{"hash", number(e.stack.hash)},
                   {"sp", number(e.stack.sp)},
                   {"regs", list(parts.regs)},
                   {"bytes", std::string(reinterpret_cast<const char*>(parts.bytes.data()), parts.bytes.size())},
                   {"fp_chain", list(parts.fp_chain)},
                   {"truncated", e.has(Event::kStackTruncated) ? "true" : "false"}});
  }
  return fields;
}

std::string value_text(const msgpack::object& value) {
  switch (value.type) {
    case msgpack::type::POSITIVE_INTEGER:
      return std::to_string(value.via.u64);
    case msgpack::type::NEGATIVE_INTEGER:
      return std::to_string(value.via.i64);
    case msgpack::type::BOOLEAN:
      return value.via.boolean ? "true" : "false";
    case msgpack::type::STR:
      return {value.via.str.ptr, value.via.str.size};
    case msgpack::type::BIN:
      return {value.via.bin.ptr, value.via.bin.size};
    case msgpack::type::ARRAY: {
      std::vector<std::uint64_t> values;
      value.convert(values);
      return list(values);
    }
    default:
      return "?";
  }
}

// Packs an integer in a random legal width, which msgpack-cxx's pack() never does by itself.
void pack_any_width(msgpack::packer<msgpack::sbuffer>& packer, std::uint64_t magnitude, bool negative,
                    std::mt19937_64& random) {
  const auto signed_value = static_cast<std::int64_t>(magnitude);
  const bool fits_signed = negative || magnitude <= INT64_MAX;
  while (true) {
    switch (random() % 9) {
      case 0:
        if (!negative && magnitude <= UINT8_MAX)
          return void(packer.pack_fix_uint8(static_cast<std::uint8_t>(magnitude)));
        break;
      case 1:
        if (!negative && magnitude <= UINT16_MAX)
          return void(packer.pack_fix_uint16(static_cast<std::uint16_t>(magnitude)));
        break;
      case 2:
        if (!negative && magnitude <= UINT32_MAX)
          return void(packer.pack_fix_uint32(static_cast<std::uint32_t>(magnitude)));
        break;
      case 3:
        if (!negative) return void(packer.pack_fix_uint64(magnitude));
        break;
      case 4:
        if (fits_signed && std::in_range<std::int8_t>(signed_value))
          return void(packer.pack_fix_int8(static_cast<std::int8_t>(signed_value)));
        break;
      case 5:
        if (fits_signed && std::in_range<std::int16_t>(signed_value))
          return void(packer.pack_fix_int16(static_cast<std::int16_t>(signed_value)));
        break;
      case 6:
        if (fits_signed && std::in_range<std::int32_t>(signed_value))
          return void(packer.pack_fix_int32(static_cast<std::int32_t>(signed_value)));
        break;
      case 7:
        if (fits_signed) return void(packer.pack_fix_int64(signed_value));
        break;
      default:
        return void(negative ? packer.pack(signed_value) : packer.pack(magnitude));
    }
  }
}

void repack(msgpack::packer<msgpack::sbuffer>& packer, const msgpack::object& value, std::mt19937_64& random) {
  switch (value.type) {
    case msgpack::type::POSITIVE_INTEGER:
      return pack_any_width(packer, value.via.u64, false, random);
    case msgpack::type::NEGATIVE_INTEGER:
      return pack_any_width(packer, static_cast<std::uint64_t>(value.via.i64), true, random);
    case msgpack::type::ARRAY:
      packer.pack_array(value.via.array.size);
      for (std::uint32_t i = 0; i < value.via.array.size; ++i) repack(packer, value.via.array.ptr[i], random);
      return;
    default:
      packer.pack(value);
  }
}

// An unknown field, sometimes deeply nested.
void pack_unknown(msgpack::packer<msgpack::sbuffer>& packer, std::mt19937_64& random) {
  packer.pack("zz_unknown");
  switch (random() % 4) {
    case 0:
      packer.pack_nil();
      return;
    case 1:
      packer.pack(std::vector<std::vector<double>>{{1.5, 2.5}, {}, {-1.0}});
      return;
    case 2:
      packer.pack_map(2);
      packer.pack(1).pack(std::string(300, 'k'));
      packer.pack_array(1).pack_array(1).pack_array(0);
      packer.pack_ext(5, 3).pack_ext_body("12345", 5);
      return;
    default:
      for (int depth = 0; depth < 1000; ++depth) packer.pack_array(1);
      packer.pack_nil();
  }
}

Bytes bytes_of(const msgpack::sbuffer& buffer) {
  return memtrack::test::bytes_of({buffer.data(), buffer.size()});
}

}  // namespace

TEST_CASE("events of every kind with values at every width's edge survive a round trip") {
  const auto seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    const EventBatch batch = random_batch(200, random);
    const Bytes bytes = encode(batch);
    const Decoded decoded = decode(bytes);
    REQUIRE(decoded.step.status == Status::kNeedMore);
    CHECK(decoded.step.consumed == bytes.size());
    CHECK(decoded.counters.events == batch.size());
    REQUIRE(same_events(decoded.events, batch));
    CHECK(encode(decoded.events) == bytes);
  }
}

TEST_CASE("encoding a batch in parts gives the bytes of the whole, also with threads that share a prefix slot") {
  EventBatch batch(300);
  for (std::uint64_t i = 0; i < 300; ++i) {
    Event event = malloc_event(i, i * 1000);
    event.tid = static_cast<std::int32_t>((i * 64) % 640);  // all in one slot
    event.pid = static_cast<std::int32_t>(i % 3);
    batch.append(event);
  }
  EventEncoder encoder;
  ByteBuffer parts;
  for (std::size_t i = 0; i < 300; i += 7) encoder.encode(batch, i, std::min<std::size_t>(i + 7, 300), parts);
  CHECK(std::ranges::equal(parts.bytes(), encode(batch)));
  CHECK(same_events(decode(parts.bytes()).events, batch));
}

TEST_CASE("msgpack-cxx finds every field of our encoding, in order and in its shortest form") {
  const auto seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  const EventBatch batch = random_batch(300, random);
  const Bytes bytes = encode(batch);
  std::size_t offset = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::size_t begin = offset;
    const auto handle = msgpack::unpack(reinterpret_cast<const char*>(bytes.data()), bytes.size(), offset);
    const msgpack::object& map = handle.get();
    REQUIRE(map.type == msgpack::type::MAP);
    const Expected expected = expected_fields(batch, batch[i]);
    REQUIRE(map.via.map.size == expected.size());
    for (std::uint32_t k = 0; k < map.via.map.size; ++k) {
      CHECK(value_text(map.via.map.ptr[k].key) == expected[k].first);
      CHECK(value_text(map.via.map.ptr[k].val) == expected[k].second);
    }
    // msgpack-cxx packs shortest forms, so packing what it read must give our bytes.
    msgpack::sbuffer again;
    msgpack::pack(again, map);
    CHECK(std::ranges::equal(bytes_of(again), std::span(bytes).subspan(begin, offset - begin)));
  }
  CHECK(offset == bytes.size());
}

TEST_CASE("any key order, any legal width and unknown keys decode to the same events") {
  const auto seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  const EventBatch batch = random_batch(300, random);
  const Bytes bytes = encode(batch);
  msgpack::sbuffer shuffled;
  msgpack::packer<msgpack::sbuffer> packer(shuffled);
  std::size_t offset = 0;
  std::uint64_t unknown_keys = 0;
  while (offset < bytes.size()) {
    const auto handle = msgpack::unpack(reinterpret_cast<const char*>(bytes.data()), bytes.size(), offset);
    const auto& map = handle.get().via.map;
    std::vector<const msgpack::object_kv*> fields(map.size + random() % 2, nullptr);
    for (std::uint32_t k = 0; k < map.size; ++k) fields[k] = &map.ptr[k];
    std::ranges::shuffle(fields, random);
    packer.pack_map(static_cast<std::uint32_t>(fields.size()));
    for (const auto* field : fields) {
      if (field == nullptr) {
        pack_unknown(packer, random);
        ++unknown_keys;
        continue;
      }
      packer.pack(field->key);
      repack(packer, field->val, random);
    }
  }
  const Decoded decoded = decode(bytes_of(shuffled));
  REQUIRE(decoded.step.status == Status::kNeedMore);
  CHECK(decoded.step.consumed == shuffled.size());
  CHECK(same_events(decoded.events, batch));
  CHECK(decoded.counters.unknown_keys == unknown_keys);
  CHECK(decoded.counters.events == batch.size());
}

TEST_CASE("bytes cut anywhere give the events before the cut and ask for more") {
  std::mt19937_64 random(7);
  EventBatch batch(kEventKindCount);
  for (std::size_t kind = 0; kind + 1 < kEventKindCount; ++kind)
    append_random(batch, static_cast<EventKind>(kind), random);
  const std::uint64_t words[] = {1, 2, 300};
  const Bytes memory(40, std::byte{7});
  Event stack{};
  stack.kind = EventKind::kStack;
  batch.append_stack(stack, {.regs = words, .bytes = memory, .fp_chain = words});
  std::vector<std::size_t> ends;
  EventEncoder encoder;
  ByteBuffer bytes;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    encoder.encode(batch, i, i + 1, bytes);
    ends.push_back(bytes.size());
  }
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    CAPTURE(size);
    // A copy of exact size lets a sanitizer see any read behind the end.
    const Bytes cut(bytes.bytes().begin(), bytes.bytes().begin() + static_cast<std::ptrdiff_t>(size));
    const Decoded decoded = decode(cut);
    CHECK(decoded.step.status == Status::kNeedMore);
    const auto whole = static_cast<std::size_t>(std::ranges::upper_bound(ends, size) - ends.begin());
    CHECK(decoded.events.size() == whole);
    CHECK(decoded.step.consumed == (whole == 0 ? 0 : ends[whole - 1]));
  }
}

TEST_CASE("a full batch stops the decoder, which goes on from there") {
  std::mt19937_64 random(3);
  const EventBatch batch = random_batch(50, random);
  const Bytes bytes = encode(batch);
  EventBatch some(7);
  EventBatch all(50);
  DecodeCounters counters;
  std::size_t at = 0;
  while (true) {
    some.clear();
    const DecodeStep step = decode_events(std::span(bytes).subspan(at), some, counters);
    for (std::size_t i = 0; i < some.size(); ++i) all.append_from(some, i);
    at += step.consumed;
    if (step.status == Status::kNeedMore) break;
    REQUIRE(step.status == Status::kBatchFull);
    CHECK(some.room() == 0);
  }
  CHECK(at == bytes.size());
  CHECK(same_events(all, batch));
}

TEST_CASE("flipped bits never read outside the bytes and never give more events than fit") {
  const auto seed = test_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  const Bytes bytes = encode(random_batch(kEventKindCount, random));
  for (int round = 0; round < 20'000; ++round) {
    Bytes flipped(bytes.begin(),
                  bytes.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(bytes.size(), 2000)));
    flipped[random() % flipped.size()] ^= static_cast<std::byte>(1u << random() % 8);
    const Decoded decoded = decode(flipped);
    CHECK(decoded.step.consumed <= flipped.size());
    CHECK(decoded.events.size() <= flipped.size() / 30);
    CHECK((decoded.step.status == Status::kMalformed) == !decoded.step.reason.empty());
  }
}

TEST_CASE("random text of the same seed is the same, so a printed seed repeats a failure") {
  CHECK(random_batch_text(5) == random_batch_text(5));
  CHECK(random_batch_text(5) != random_batch_text(6));
}
