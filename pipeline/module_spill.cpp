#include "pipeline/module_spill.h"

#include <algorithm>
#include <utility>

#include "codec/event_decoder.h"

namespace memtrack::pipeline {
namespace {

constexpr std::size_t kContentBytes = 64u << 10;
constexpr std::size_t kCopyBytes = 256u << 10;
constexpr std::size_t kScratchEvents = 1024;

}  // namespace

Result<EventPiece> front_events(std::span<const std::byte> bytes, std::size_t most_bytes, EventBatch& scratch) {
  EventPiece piece;
  while (piece.bytes == 0 && !bytes.empty()) {
    scratch.clear();
    DecodeCounters counters;
    const DecodeStep step = decode_events(bytes.first(std::min(most_bytes, bytes.size())), scratch, counters);
    if (step.status == DecodeStep::Status::kMalformed) {
      return std::unexpected(
          Error{.code = ErrorCode::kMalformedEvent, .message = "encoded events are damaged: " + step.reason});
    }
    piece.bytes = step.consumed;
    if (most_bytes >= bytes.size()) break;
    most_bytes *= 2;  // for an event that is larger than asked for
  }
  for (const Event& event : piece.bytes > 0 ? scratch.events() : std::span<const Event>()) piece.summary.add(event);
  return piece;
}

ModuleSpill::ModuleSpill(std::string directory, std::uint64_t most_bytes, FrameEncoder encoder)
    : bytes_left_(most_bytes), encoder_(std::move(encoder)), spill_(std::move(directory)), scratch_(kScratchEvents) {}

Result<void> ModuleSpill::append(std::span<const std::byte> events) {
  if (!present_ || events.empty()) return {};
  if (events.size() > bytes_left_) {
    drop();
    return {};
  }
  bytes_left_ -= events.size();
  if (content_.size() + events.size() > kContentBytes) {
    if (auto flushed = flush(); !flushed) return flushed;
  }
  if (events.size() > kContentBytes) return append_large(events);
  content_.append(events);
  return {};
}

void ModuleSpill::drop() {
  present_ = false;
  spill_ = SpillFile({});
  content_ = {};
}

Result<void> ModuleSpill::append_large(std::span<const std::byte> events) {
  while (!events.empty()) {
    const auto piece = front_events(events, kContentBytes, scratch_);
    if (!piece) return std::unexpected(piece.error());
    if (piece->bytes == 0) {
      return std::unexpected(Error{.code = ErrorCode::kMalformedEvent, .message = "encoded events end inside one"});
    }
    content_.append(events.first(piece->bytes));
    events = events.subspan(piece->bytes);
    if (auto flushed = flush(); !flushed) return flushed;
  }
  return {};
}

Result<void> ModuleSpill::flush() {
  if (!present_ || content_.empty()) return {};
  compressed_.clear();
  if (auto encoded = encoder_.encode(content_.bytes(), compressed_); !encoded) return encoded;
  content_.clear();
  return spill_.append(compressed_.bytes());
}

Result<void> ModuleSpill::copy_to(OutputFile& out) const {
  ByteBuffer buffer;
  for (std::uint64_t offset = 0; offset < size(); offset += buffer.size()) {
    buffer.clear();
    if (auto read = spill_.read(offset, kCopyBytes, buffer); !read) return read;
    if (auto written = out.write(buffer.bytes()); !written) return written;
  }
  return {};
}

}  // namespace memtrack::pipeline
