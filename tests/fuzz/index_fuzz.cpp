// The end of an artifact; an odd first byte makes the rest a digest's body under a right checksum and seek table.
#include <cstdint>
#include <cstdlib>

#include "codec/frame_encoder.h"
#include "codec/index.h"
#include "codec/index_layout.h"
#include "codec/xxhash64.h"

using namespace memtrack;

namespace {

void put(ByteBuffer& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out.append(std::array{static_cast<std::byte>(value >> (8 * i))});
}

// The seek table's entries are the first bytes of the body, too: the fuzzer decides whether both agree.
void wrap(std::span<const std::byte> body, ByteBuffer& out) {
  static FrameEncoder encoder = *FrameEncoder::create();
  ByteBuffer packed;
  if (!encoder.encode(body, packed)) std::abort();
  ByteBuffer digest;
  digest.append(std::as_bytes(std::span(kDigestHeadMagic)));
  put(digest, kDigestVersion | kDigestHasModules << 16 | packed.size() << 32, 8);
  put(digest, 0, 8);
  put(digest, 0, 8);
  digest.append(packed.bytes());
  put(digest, packed.size(), 8);
  put(digest, 0, 8);
  put(digest, xxhash64(digest.bytes()), 8);
  digest.append(std::as_bytes(std::span(kDigestTailMagic)));
  const std::uint64_t frames = body.size() >= 16 ? load_u32(body, 0) % 16 : 0;
  put(out, kDigestFrameMagic | digest.size() << 32, 8);
  out.append(digest.bytes());
  put(out, kSeekFrameMagic | ((frames + 1) * kSeekEntryBytes + kSeekFooterBytes) << 32, 8);
  for (std::uint64_t i = 0; i < frames; ++i) put(out, 0, 8);
  put(out, digest.size() + kSkippableHeaderBytes, 8);
  put(out, frames + 1, 5);
  put(out, kSeekFooterMagic, 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  ByteBuffer artifact;
  (data[0] & 1) == 0 ? artifact.append(bytes) : wrap(bytes, artifact);
  const auto parsed = parse_index(artifact.bytes());
  if (!parsed || !*parsed) return 0;
  std::uint64_t offset = 0;
  for (const IndexedFrame& frame : (*parsed)->digest.frames) offset = frame.offset + frame.compressed_bytes;
  if (offset != (*parsed)->data_end || offset > artifact.size()) std::abort();
  return 0;
}
