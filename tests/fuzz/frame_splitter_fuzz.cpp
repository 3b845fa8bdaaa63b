// Any bytes: frames follow one another from byte 0, only the last may be cut, and each can be handed to the decoder.
#include <cstdint>
#include <cstdlib>

#include "codec/frame_decoder.h"
#include "codec/frame_splitter.h"

using namespace memtrack;

namespace {

// More than this comes only from a bomb; the pieces are bounded either way.
constexpr std::uint64_t kEnoughBytes = 8u << 20;

void decode(FrameDecoder& decoder, const FrameRef& frame, std::span<const std::byte> bytes) {
  if (!decoder.begin(frame, bytes)) return;
  for (std::uint64_t total = 0; total < kEnoughBytes;) {
    const auto piece = decoder.next();
    if (!piece) return;
    if (piece->empty()) {
      if (decoder.cut() != frame.cut) std::abort();
      return;
    }
    if (piece->size() > 128u << 10 || decoder.bytes_read() > bytes.size()) std::abort();
    total += piece->size();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span artifact(reinterpret_cast<const std::byte*>(data), size);
  FrameSplitter splitter(artifact);
  FrameDecoder decoder({.window_bytes = 1u << 20});
  std::uint64_t offset = 0;
  std::uint64_t number = 0;
  bool cut = false;
  while (true) {
    const auto frame = splitter.next();
    if (!frame) return 0;
    if (!*frame) break;
    const FrameRef& ref = **frame;
    if (cut || ref.offset != offset || ref.number != number || ref.size == 0 || ref.size > size - offset) std::abort();
    decode(decoder, ref, artifact.subspan(ref.offset, ref.size));
    offset += ref.size;
    ++number;
    cut = ref.cut;
  }
  if (offset != size) std::abort();
  return 0;
}
