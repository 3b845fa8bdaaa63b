#include <algorithm>
#include <string>
#include <utility>

#include "codec/frame_decoder.h"
#include "codec/frame_walk.h"
#include "codec/index.h"
#include "codec/index_layout.h"
#include "codec/xxhash64.h"

namespace memtrack {
namespace {

// How far from the end a digest is looked for whose seek table is damaged: a table of 130,000 frames.
constexpr std::size_t kSearchBytes = 1u << 20;

using Bytes = std::span<const std::byte>;

std::uint64_t load(Bytes bytes, std::uint64_t at, std::size_t width) {
  return load_little_endian(bytes.data() + at, width);
}

std::unexpected<Error> corrupt(std::string message, std::uint64_t offset) {
  return std::unexpected(
      Error{.code = ErrorCode::kCorruptIndex, .message = "damaged index: " + std::move(message), .offset = offset});
}

struct SeekEntry {
  std::uint64_t compressed_bytes;
  std::uint64_t decompressed_bytes;
};

class IndexReader {
 public:
  IndexReader(Bytes artifact, const SeekTable& table) : artifact_(artifact), table_(table) {}

  Result<std::optional<ParsedIndex>> read();

 private:
  [[nodiscard]] SeekEntry entry(std::uint64_t i) const {
    const std::uint64_t at = table_.offset + kSkippableHeaderBytes + i * table_.entry_bytes;
    return {load(artifact_, at, 4), load(artifact_, at + 4, 4)};
  }
  [[nodiscard]] bool is_ours() const;
  Result<bool> read_head();
  Result<void> read_body();
  Result<void> read_losses(Bytes entries, std::size_t entry_bytes);
  Result<void> read_frames(Bytes entries, std::size_t entry_bytes);
  Result<void> walk_modules() const;

  Bytes artifact_;
  SeekTable table_;
  std::uint64_t digest_at_ = 0;
  Bytes payload_;  // of the digest frame
  Bytes body_;     // compressed
  ParsedIndex parsed_;
};

// One of the three marks is enough: a damaged digest of ours must not pass for a foreign file.
bool IndexReader::is_ours() const {
  const Bytes before_table = artifact_.first(table_.offset);
  if (before_table.size() >= kDigestTailMagic.size() &&
      holds(before_table, before_table.size() - kDigestTailMagic.size(), kDigestTailMagic)) {
    return true;
  }
  const std::uint64_t size = entry(table_.frames - 1).compressed_bytes;
  if (size > table_.offset || size < kSkippableHeaderBytes) return false;
  const Bytes digest = before_table.last(size);
  return begins_digest(digest) || load_u32(digest, 0) == kDigestFrameMagic;
}

Result<std::optional<ParsedIndex>> IndexReader::read() {
  if (table_.frames == 0 || !is_ours()) return std::nullopt;
  if (table_.descriptor != 0) return corrupt("its seek table has a descriptor that we never write", table_.offset);
  if (table_.frames > kMaxIndexedFrames) return corrupt("it has too many frames", table_.offset);
  const SeekEntry last = entry(table_.frames - 1);
  if (last.compressed_bytes > table_.offset || last.decompressed_bytes != 0) {
    return corrupt("its seek table does not end with the digest", table_.offset);
  }
  digest_at_ = table_.offset - last.compressed_bytes;
  auto known = read_head();
  if (!known) return std::unexpected(std::move(known.error()));
  if (!*known) return std::nullopt;
  if (auto done = read_body(); !done) return std::unexpected(std::move(done.error()));
  if (auto done = walk_modules(); !done) return std::unexpected(std::move(done.error()));
  parsed_.data_end = digest_at_;
  return std::move(parsed_);
}

// Checks everything but the module section against the checksum; false where a later version wrote it.
Result<bool> IndexReader::read_head() {
  const Bytes frame = artifact_.subspan(digest_at_, table_.offset - digest_at_);
  const std::size_t least = kSkippableHeaderBytes + kDigestHeadBytes + kDigestTailBytes;
  if (frame.size() < least || load_u32(frame, 0) != kDigestFrameMagic ||
      load_u32(frame, kMagicBytes) != frame.size() - kSkippableHeaderBytes) {
    return corrupt("its digest frame has a wrong header", digest_at_);
  }
  payload_ = frame.subspan(kSkippableHeaderBytes);
  const Bytes tail = payload_.last(kDigestTailBytes);
  const std::uint64_t body_bytes = load(payload_, 12, 4);
  const std::uint64_t modules_bytes = load(payload_, 16, 8);
  const std::uint64_t room = payload_.size() - kDigestHeadBytes - kDigestTailBytes;
  if (!holds(payload_, 0, kDigestHeadMagic) || !holds(tail, kDigestTailBytes - 8, kDigestTailMagic) ||
      body_bytes > room || modules_bytes != room - body_bytes) {
    return corrupt("the parts of its digest frame don't fit together", digest_at_);
  }
  std::vector<std::byte> checked(payload_.begin(),
                                 payload_.begin() + static_cast<std::ptrdiff_t>(kDigestHeadBytes + body_bytes));
  checked.insert(checked.end(), tail.begin(), tail.begin() + kDigestTailCheckedBytes);
  if (xxhash64(checked) != load(tail, kDigestTailCheckedBytes, 8) || load(tail, 0, 4) != body_bytes ||
      load(tail, 8, 8) != modules_bytes) {
    return corrupt("the checksum of its digest is wrong", digest_at_);
  }
  const std::uint64_t flags = load(payload_, 10, 2);
  if (load(payload_, 8, 2) != kDigestVersion || (flags & kDigestMustBeZeroFlags) != 0) return false;
  parsed_.digest.has_modules = (flags & kDigestHasModules) != 0;
  parsed_.digest.modules_bytes = modules_bytes;
  if (!parsed_.digest.has_modules && modules_bytes != 0)
    return corrupt("its module section is said to be absent", digest_at_);
  body_ = payload_.subspan(kDigestHeadBytes, body_bytes);
  parsed_.modules = payload_.subspan(kDigestHeadBytes + body_bytes, modules_bytes);
  return true;
}

// Decompresses at most what the seek table's real size allows for, whatever the body declares.
Result<void> IndexReader::read_body() {
  const FrameRef frame{.number = table_.frames - 1,
                       .offset = digest_at_,
                       .size = body_.size(),
                       .skippable = false,
                       .cut = false,
                       .content_size = {}};
  FrameDecoder decoder;
  if (auto begun = decoder.begin(frame, body_); !begun) return corrupt(begun.error().message, digest_at_);
  ByteBuffer body;
  const std::uint64_t cap = kBodyHeaderBytes + (kMaxLossEntries + table_.frames) * kMaxEntryBytes;
  while (true) {
    auto piece = decoder.next();
    if (!piece) return corrupt(piece.error().message, digest_at_);
    if (piece->empty()) break;
    body.append(*piece);
    if (body.size() > cap) return corrupt("its digest is larger than its seek table allows", digest_at_);
  }
  if (body.size() < kBodyHeaderBytes) return corrupt("its digest is too short", digest_at_);
  const Bytes bytes = body.bytes();
  const std::uint64_t frames = load(bytes, 0, 4);
  const std::uint64_t losses = load(bytes, 4, 4);
  const std::uint64_t frame_bytes = load(bytes, 8, 4);
  const std::uint64_t loss_bytes = load(bytes, 12, 4);
  const bool sizes_fit = frame_bytes >= kFrameEntryBytes && frame_bytes <= kMaxEntryBytes &&
                         loss_bytes >= kLossEntryBytes && loss_bytes <= kMaxEntryBytes && losses <= kMaxLossEntries;
  if (!sizes_fit || frames != table_.frames - 1 ||
      bytes.size() != kBodyHeaderBytes + losses * loss_bytes + frames * frame_bytes) {
    return corrupt("its digest and its seek table disagree", digest_at_);
  }
  if (auto done = read_losses(bytes.subspan(kBodyHeaderBytes, losses * loss_bytes), loss_bytes); !done) return done;
  return read_frames(bytes.last(frames * frame_bytes), frame_bytes);
}

Result<void> IndexReader::read_losses(Bytes entries, std::size_t entry_bytes) {
  for (; !entries.empty(); entries = entries.subspan(entry_bytes)) {
    const std::uint32_t cause = load_u32(entries, 0);
    const std::uint64_t count = load(entries, 8, 8);
    if (cause < kLossCauseCount) {
      parsed_.digest.losses.by_cause[cause] += count;
    } else {
      parsed_.digest.other_losses.push_back({.cause = cause, .count = count});
    }
  }
  return {};
}

// Digest and seek table must agree, and the frames must tile the bytes from 0 to the digest.
Result<void> IndexReader::read_frames(Bytes entries, std::size_t entry_bytes) {
  std::uint64_t offset = 0;
  for (std::uint64_t i = 0; i + 1 < table_.frames; ++i) {
    const Bytes bytes = entries.subspan(i * entry_bytes, entry_bytes);
    IndexedFrame frame;
    frame.offset = load(bytes, 0, 8);
    frame.compressed_bytes = load(bytes, 8, 8);
    frame.decompressed_bytes = load(bytes, 16, 8);
    frame.summary.event_count = load(bytes, 24, 8);
    frame.summary.module_event_count = load(bytes, 32, 8);
    frame.summary.first_timestamp_ns = load(bytes, 40, 8);
    frame.summary.last_timestamp_ns = load(bytes, 48, 8);
    frame.summary.kinds = load_u32(bytes, 56);
    const SeekEntry seek = entry(i);
    if (frame.offset != offset || frame.compressed_bytes != seek.compressed_bytes ||
        frame.decompressed_bytes != seek.decompressed_bytes) {
      return corrupt("its digest and its seek table disagree about frame " + std::to_string(i), digest_at_);
    }
    offset += frame.compressed_bytes;
    parsed_.digest.frames.push_back(frame);
  }
  if (offset != digest_at_) return corrupt("its frames don't fill the file from byte 0 to the index", digest_at_);
  return {};
}

Result<void> IndexReader::walk_modules() const {
  for (Bytes rest = parsed_.modules; !rest.empty();) {
    const FrameWalk walk = walk_frame(rest);
    if (walk.shape != FrameWalk::Shape::kWhole || walk.skippable) {
      return corrupt("its module section is no sequence of frames", digest_at_);
    }
    rest = rest.subspan(walk.size);
  }
  return {};
}

}  // namespace

Result<std::optional<ParsedIndex>> parse_index(std::span<const std::byte> artifact) {
  if (const auto table = find_seek_table(artifact)) return IndexReader(artifact, *table).read();
  if (artifact.empty()) return std::nullopt;
  const Bytes end = artifact.last(std::min(artifact.size(), kSearchBytes));
  const void* mark = memmem(end.data(), end.size(), kDigestTailMagic.data(), kDigestTailMagic.size());
  if (mark == nullptr) return std::nullopt;
  const auto at =
      artifact.size() - end.size() + static_cast<std::uint64_t>(static_cast<const std::byte*>(mark) - end.data());
  return corrupt("the seek table behind its digest is missing or damaged", at + kDigestTailMagic.size());
}

}  // namespace memtrack
