// Decompressed bytes of a frame: whatever they are, decoding is the same in one go and in small batches, in every way
// and selection, and what was decoded survives encoding and decoding.
#include <cstdint>
#include <cstdlib>

#include "codec/event_decoder.h"
#include "codec/event_encoder.h"
#include "codec/event_text.h"

using namespace memtrack;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool same(const EventBatch& a, const EventBatch& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_event(a, i, b, i)) return false;
  }
  return true;
}

constexpr DecodeLimits kLimits{.event_bytes = 1u << 16};

/// Selecting while decoding must equal decoding exactly and selecting then.
void require_same(std::span<const std::byte> bytes, const EventBatch& all, const DecodeCounters& counters,
                  const DecodeStep& step, DecodeWay way, KindSet kinds) {
  EventBatch selected(bytes.size() + 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((kinds & kind_bit(all[i].kind)) != 0) selected.append_from(all, i);
  }
  EventBatch got(bytes.size() + 1);
  DecodeCounters met;
  const DecodeStep end = decode_events(bytes, got, met, {.limits = kLimits, .kinds = kinds, .way = way});
  require(end.status == step.status && end.consumed == step.consumed && end.reason == step.reason);
  require(met.events == counters.events && met.unknown_kinds == counters.unknown_kinds &&
          met.unknown_keys == counters.unknown_keys);
  require(same(got, selected));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  EventBatch all(size + 1);
  DecodeCounters counters;
  const DecodeStep step = decode_events(bytes, all, counters, {.limits = kLimits, .way = DecodeWay::kExact});
  require(step.consumed <= size && counters.events == all.size());
  require((step.status == DecodeStep::Status::kMalformed) == !step.reason.empty());
  for (const DecodeWay way : {DecodeWay::kExact, DecodeWay::kPortable, DecodeWay::kAvx2}) {
    if (!is_available(way)) continue;
    require_same(bytes, all, counters, step, way, kAllKinds);
    require_same(bytes, all, counters, step, way, kModuleKinds);
  }

  EventBatch one(1);
  EventBatch again(size + 1);
  DecodeCounters counters_again;
  std::size_t at = 0;
  DecodeStep::Status status = DecodeStep::Status::kBatchFull;
  while (status == DecodeStep::Status::kBatchFull) {
    one.clear();
    const DecodeStep part = decode_events(bytes.subspan(at), one, counters_again, {.limits = kLimits});
    for (std::size_t i = 0; i < one.size(); ++i) again.append_from(one, i);
    at += part.consumed;
    status = part.status;
  }
  require(status == step.status && at == step.consumed && same(all, again));

  ByteBuffer encoded;
  EventEncoder().encode(all, 0, all.size(), encoded);
  EventBatch decoded(size + 1);
  require(decode_events(encoded.bytes(), decoded, counters_again).status == DecodeStep::Status::kNeedMore);
  require(same(all, decoded));
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) append_text(all, i, text);
  return 0;
}
