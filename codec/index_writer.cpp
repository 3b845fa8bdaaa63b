#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "codec/frame_encoder.h"
#include "codec/index.h"
#include "codec/index_layout.h"
#include "codec/xxhash64.h"

namespace memtrack {
namespace {

constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();
constexpr int kBodyLevel = 3;

std::unexpected<Error> limit_exceeded(std::string message) {
  return std::unexpected(Error{.code = ErrorCode::kLimitExceeded, .message = std::move(message)});
}

std::unexpected<Error> invalid(std::string message) {
  return std::unexpected(Error{.code = ErrorCode::kInvalidArgument, .message = std::move(message)});
}

void put(ByteBuffer& out, std::uint64_t value, std::size_t bytes) {
  std::byte* to = out.prepare(bytes);
  for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
  out.commit(bytes);
}

void put(ByteBuffer& out, std::string_view text) {
  out.append(std::as_bytes(std::span(text)));
}

Result<void> check(const Digest& digest) {
  if (!digest.has_modules && digest.modules_bytes != 0) return invalid("an absent module section has a size");
  if (digest.frames.size() >= kMaxIndexedFrames) {
    return limit_exceeded("an index of " + std::to_string(digest.frames.size()) + " frames is over the cap of " +
                          std::to_string(kMaxIndexedFrames - 1));
  }
  std::uint64_t offset = 0;
  for (const IndexedFrame& frame : digest.frames) {
    if (frame.offset != offset) return invalid("the frames of an index don't lie one behind the other from byte 0");
    offset += frame.compressed_bytes;
  }
  return {};
}

void put_loss(ByteBuffer& body, std::uint32_t cause, std::uint64_t count) {
  put(body, cause, 4);
  put(body, 0, 4);
  put(body, count, 8);
}

void put_frame(ByteBuffer& body, const IndexedFrame& frame) {
  put(body, frame.offset, 8);
  put(body, frame.compressed_bytes, 8);
  put(body, frame.decompressed_bytes, 8);
  put(body, frame.summary.event_count, 8);
  put(body, frame.summary.module_event_count, 8);
  put(body, frame.summary.first_timestamp_ns, 8);
  put(body, frame.summary.last_timestamp_ns, 8);
  put(body, frame.summary.kinds, 4);
  put(body, 0, 4);
}

ByteBuffer make_body(const Digest& digest) {
  const auto lost = [](std::uint64_t count) { return count != 0; };
  const auto causes = static_cast<std::size_t>(std::ranges::count_if(digest.losses.by_cause, lost));
  ByteBuffer body;
  put(body, digest.frames.size(), 4);
  put(body, causes + digest.other_losses.size(), 4);
  put(body, kFrameEntryBytes, 4);
  put(body, kLossEntryBytes, 4);
  for (std::uint32_t cause = 0; cause < kLossCauseCount; ++cause) {
    if (const std::uint64_t count = digest.losses.by_cause[cause]; lost(count)) put_loss(body, cause, count);
  }
  for (const OtherLoss& loss : digest.other_losses) put_loss(body, loss.cause, loss.count);
  for (const IndexedFrame& frame : digest.frames) put_frame(body, frame);
  return body;
}

// Payload of the digest frame in front of the module section, and what the skippable header in front of it needs.
struct Head {
  ByteBuffer bytes;
  std::uint64_t body_bytes = 0;
  std::uint64_t payload_bytes = 0;
};

// The same digest gives the same bytes, so the tail can be made apart from the head.
Result<Head> make_head(const Digest& digest) {
  if (auto checked = check(digest); !checked) return std::unexpected(checked.error());
  ByteBuffer body;
  auto encoder = FrameEncoder::create(kBodyLevel);
  if (!encoder) return std::unexpected(encoder.error());
  if (auto done = encoder->encode(make_body(digest).bytes(), body); !done) return std::unexpected(done.error());

  Head head;
  head.body_bytes = body.size();
  head.payload_bytes = kDigestHeadBytes + body.size() + digest.modules_bytes + kDigestTailBytes;
  if (digest.modules_bytes > kMax32 || head.payload_bytes > kMax32) {
    return limit_exceeded("a digest with a module section of " + std::to_string(digest.modules_bytes) +
                          " bytes is over the 4 GiB that a skippable frame holds");
  }
  put(head.bytes, kDigestHeadMagic);
  put(head.bytes, kDigestVersion, 2);
  put(head.bytes, digest.has_modules ? kDigestHasModules : 0, 2);
  put(head.bytes, head.body_bytes, 4);
  put(head.bytes, digest.modules_bytes, 8);
  put(head.bytes, 0, 8);
  head.bytes.append(body.bytes());
  return head;
}

}  // namespace

Result<void> encode_digest_head(const Digest& digest, ByteBuffer& out) {
  auto head = make_head(digest);
  if (!head) return std::unexpected(std::move(head.error()));
  put(out, kDigestFrameMagic, 4);
  put(out, head->payload_bytes, 4);
  out.append(head->bytes.bytes());
  return {};
}

Result<void> encode_digest_tail(const Digest& digest, ByteBuffer& out) {
  auto head = make_head(digest);
  if (!head) return std::unexpected(std::move(head.error()));
  ByteBuffer& checked = head->bytes;
  const std::size_t tail_at = checked.size();
  put(checked, head->body_bytes, 4);
  put(checked, 0, 4);
  put(checked, digest.modules_bytes, 8);
  const std::uint64_t checksum = xxhash64(checked.bytes());
  out.append(checked.bytes().subspan(tail_at));
  put(out, checksum, 8);
  put(out, kDigestTailMagic);
  return {};
}

Result<void> encode_seek_table(const Digest& digest, std::uint64_t digest_frame_bytes, ByteBuffer& out) {
  if (auto checked = check(digest); !checked) return checked;
  const auto fits = [](const IndexedFrame& frame) {
    return frame.compressed_bytes <= kMax32 && frame.decompressed_bytes <= kMax32;
  };
  if (!std::ranges::all_of(digest.frames, fits) || digest_frame_bytes > kMax32) {
    return limit_exceeded("a frame of 4 GiB or more does not fit a seek table");
  }
  const std::uint64_t entries = digest.frames.size() + 1;
  put(out, kSeekFrameMagic, 4);
  put(out, entries * kSeekEntryBytes + kSeekFooterBytes, 4);
  for (const IndexedFrame& frame : digest.frames) {
    put(out, frame.compressed_bytes, 4);
    put(out, frame.decompressed_bytes, 4);
  }
  put(out, digest_frame_bytes, 4);
  put(out, 0, 4);
  put(out, entries, 4);
  put(out, 0, 1);
  put(out, kSeekFooterMagic, 4);
  return {};
}

}  // namespace memtrack
