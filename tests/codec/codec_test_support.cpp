#include "tests/codec/codec_test_support.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "codec/event_encoder.h"
#include "codec/event_text.h"
#include "codec/frame_decoder.h"
#include "codec/frame_encoder.h"

namespace memtrack::test {

Bytes golden(const std::string& name) {
  std::ifstream file(std::string(MEMTRACK_GOLDEN_DIR) + "/" + name, std::ios::binary);
  if (!file) throw std::runtime_error("no golden file " + name);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return bytes_of(text);
}

std::string golden_text(const std::string& name) {
  Bytes content = golden(name);
  if (name.ends_with(".zst")) {
    // The stock tool wrote these at a level whose window is larger than an artifact's.
    auto plain = decompress(content, {.window_bytes = 128u << 20});
    if (!plain) throw std::runtime_error(to_string(plain.error()));
    content = std::move(*plain);
  }
  return {reinterpret_cast<const char*>(content.data()), content.size()};
}

Result<Bytes> decompress(std::span<const std::byte> artifact, const DecodeLimits& limits) {
  Bytes content;
  FrameSplitter splitter(artifact);
  FrameDecoder decoder(limits);
  while (true) {
    auto frame = splitter.next();
    if (!frame) return std::unexpected(frame.error());
    if (!*frame) return content;
    if (auto begun = decoder.begin(**frame, artifact.subspan((*frame)->offset, (*frame)->size)); !begun) {
      return std::unexpected(begun.error());
    }
    while (true) {
      auto piece = decoder.next();
      if (!piece) return std::unexpected(piece.error());
      if (piece->empty()) break;
      append(content, *piece);
    }
  }
}

std::vector<FrameRef> split(std::span<const std::byte> artifact) {
  std::vector<FrameRef> frames;
  FrameSplitter splitter(artifact);
  while (true) {
    auto frame = splitter.next();
    if (!frame) throw std::runtime_error(to_string(frame.error()));
    if (!*frame) return frames;
    frames.push_back(**frame);
  }
}

Bytes encode(const EventBatch& batch) {
  EventEncoder encoder;
  ByteBuffer out;
  encoder.encode(batch, 0, batch.size(), out);
  return {out.bytes().begin(), out.bytes().end()};
}

Bytes frame_of(std::span<const std::byte> content, bool checksum) {
  auto encoder = FrameEncoder::create(kDefaultCompressionLevel, checksum);
  ByteBuffer out;
  if (auto done = encoder->encode(content, out); !done) throw std::runtime_error(to_string(done.error()));
  return {out.bytes().begin(), out.bytes().end()};
}

Bytes skippable_frame(std::uint32_t magic, std::span<const std::byte> content) {
  Bytes frame;
  for (const std::uint64_t number : {std::uint64_t{magic}, std::uint64_t{content.size()}}) {
    for (unsigned shift = 0; shift < 32; shift += 8) frame.push_back(static_cast<std::byte>(number >> shift));
  }
  append(frame, content);
  return frame;
}

std::string text_of(const EventBatch& batch) {
  std::string text;
  for (std::size_t i = 0; i < batch.size(); ++i) append_text(batch, i, text);
  return text;
}

namespace {

void append_growing(EventBatch& to, const EventBatch& more) {
  if (to.room() < more.size()) {
    EventBatch larger(2 * (to.size() + more.size()));
    for (std::size_t i = 0; i < to.size(); ++i) larger.append_from(to, i);
    to = std::move(larger);
  }
  for (std::size_t i = 0; i < more.size(); ++i) to.append_from(more, i);
}

}  // namespace

Reading read_artifact(std::span<const std::byte> artifact, const DecodeLimits& limits, KindSet kinds) {
  Reading reading;
  ArtifactCursor cursor(artifact, {.limits = limits, .kinds = kinds});
  EventBatch batch(1000);
  while (true) {
    batch.clear();
    auto status = cursor.next(batch);
    append_growing(reading.events, batch);
    if (!status) reading.error = status.error();
    if (!status || *status == ArtifactCursor::Status::kEnd) break;
  }
  reading.truncated = cursor.truncated();
  reading.counters = cursor.counters();
  return reading;
}

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Bytes from_hex(std::string_view hex) {
  Bytes bytes;
  std::string digits;
  for (const char c : hex) {
    if (c == ' ') continue;
    digits += c;
    if (digits.size() < 2) continue;
    bytes.push_back(static_cast<std::byte>(std::stoul(digits, nullptr, 16)));
    digits.clear();
  }
  return bytes;
}

void append(Bytes& to, std::span<const std::byte> more) {
  to.insert(to.end(), more.begin(), more.end());
}

Bytes joined(std::initializer_list<std::span<const std::byte>> parts) {
  Bytes all;
  for (const auto part : parts) append(all, part);
  return all;
}

std::uint64_t edge_uint(std::mt19937_64& random) {
  constexpr unsigned kBits[] = {0, 5, 7, 8, 15, 16, 31, 32, 33, 47, 63, 64};
  const unsigned bits = kBits[random() % std::size(kBits)];
  const std::uint64_t edge = bits == 64 ? 0 : std::uint64_t{1} << bits;
  switch (random() % 4) {
    case 0:
      return edge;
    case 1:
      return edge - 1;
    case 2:
      return edge + 1;
    default:
      return bits == 0 ? 0 : random() >> (64 - bits);
  }
}

std::int64_t edge_int(std::mt19937_64& random, int bits) {
  const auto magnitude = static_cast<std::int64_t>(edge_uint(random) & ((std::uint64_t{1} << (bits - 1)) - 1));
  return (random() & 1) != 0 ? magnitude : -magnitude - 1;
}

namespace {

std::vector<std::uint64_t> random_list(std::mt19937_64& random) {
  constexpr std::size_t kSizes[] = {0, 1, 15, 16, 17, 33, 70'000};
  // The largest header is rare, since it makes a large event.
  const std::size_t size = kSizes[random() % 200 == 0 ? 6 : random() % 6];
  std::vector<std::uint64_t> list(size);
  for (auto& value : list) value = edge_uint(random);
  return list;
}

std::string random_text(std::mt19937_64& random) {
  constexpr std::size_t kSizes[] = {0, 1, 31, 32, 255, 256, 65'535, 65'536};
  std::string text(kSizes[random() % 50 == 0 ? 6 + random() % 2 : random() % 6], 'x');
  for (auto& c : text) c = static_cast<char>('!' + random() % 90);
  return text;
}

void set_allocation(Event& event, std::mt19937_64& random) {
  if (event.kind != EventKind::kFree) event.alloc.size = edge_uint(random);
  if (event.kind == EventKind::kRealloc && (random() & 1) != 0) {
    event.flags |= Event::kHasOldAddr;
    event.alloc.old_addr = edge_uint(random);
  }
  if ((random() & 1) != 0) {
    event.flags |= Event::kHasStackHash;
    event.alloc.stack_hash = edge_uint(random);
  }
}

void append_random_stack(EventBatch& to, Event event, std::mt19937_64& random) {
  event.stack.hash = edge_uint(random);
  event.stack.sp = edge_uint(random);
  if ((random() & 1) != 0) event.flags |= Event::kStackTruncated;
  const auto regs = random_list(random);
  const auto chain = random_list(random);
  const std::string bytes = random_text(random);
  to.append_stack(event, {.regs = regs, .bytes = std::as_bytes(std::span(bytes)), .fp_chain = chain});
}

}  // namespace

void append_random(EventBatch& to, EventKind kind, std::mt19937_64& random) {
  Event event{};
  event.kind = kind;
  event.pid = static_cast<std::int32_t>(edge_int(random, 32));
  event.tid = static_cast<std::int32_t>(edge_int(random, 32));
  event.timestamp_ns = edge_uint(random);
  event.addr = edge_uint(random);
  switch (kind) {
    case EventKind::kStack:
      append_random_stack(to, event, random);
      return;
    case EventKind::kMapping:
      event.mapping = {edge_uint(random), edge_uint(random), edge_uint(random), edge_uint(random)};
      to.append_mapping(event, random_text(random));
      return;
    case EventKind::kRss:
      event.rss.member = edge_int(random, 32);
      event.rss.size = edge_uint(random);
      break;
    case EventKind::kRmap:
      event.rmap.member = edge_int(random, 32);
      event.rmap.delta = edge_int(random, 64);
      break;
    case EventKind::kFork:
      event.fork.parent_pid = edge_int(random, 32);
      break;
    case EventKind::kExec:
    case EventKind::kExit:
      break;
    default:
      set_allocation(event, random);
  }
  to.append(event);
}

EventBatch random_batch(std::size_t count, std::mt19937_64& random) {
  EventBatch batch(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t kind = i < kEventKindCount ? i : random() % kEventKindCount;
    append_random(batch, static_cast<EventKind>(kind), random);
  }
  return batch;
}

Event malloc_event(std::uint64_t addr, std::uint64_t size) {
  Event event{};
  event.kind = EventKind::kMalloc;
  event.pid = 100;
  event.tid = 101;
  event.timestamp_ns = 1'000'000 + addr;
  event.addr = addr;
  event.alloc.size = size;
  return event;
}

std::size_t first_difference(std::span<const std::byte> a, std::span<const std::byte> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

bool same_events(const EventBatch& a, const EventBatch& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_event(a, i, b, i)) return false;
  }
  return true;
}

}  // namespace memtrack::test
