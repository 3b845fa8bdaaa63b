// Reading an artifact on one thread, a ladder from the floor upwards: copy the content, bare zstd, zstd in pieces, then
// full decode and module scan. Bars N3 and N4 are ratios to bare zstd of the same frames in the same run.
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <zstd.h>

#include "codec/artifact_cursor.h"
#include "codec/frame_decoder.h"
#include "codec/frame_splitter.h"
#include "perf/artifact_maker.h"
#include "perf/bench_main.h"

namespace memtrack::perf {
namespace {

// What stages hand over at once.
constexpr std::size_t kSpanEvents = 4096;

void count(benchmark::State& state, const Artifact& artifact) {
  const auto rounds = static_cast<double>(state.iterations());
  const auto events = static_cast<double>(artifact.events);
  state.SetItemsProcessed(static_cast<std::int64_t>(artifact.events) * state.iterations());
  state.SetBytesProcessed(static_cast<std::int64_t>(artifact.content_bytes) * state.iterations());
  state.counters["ns_per_event"] =
      benchmark::Counter(rounds * events / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["stored_bytes_per_event"] = static_cast<double>(artifact.bytes.size()) / events;
}

void copy_content(benchmark::State& state, const Artifact& artifact) {
  const std::vector<std::byte> content(artifact.largest_content);
  std::vector<std::byte> out(artifact.largest_content);
  for (auto _ : state) {
    for (std::uint64_t left = artifact.content_bytes; left > 0;) {
      const std::uint64_t taken = std::min<std::uint64_t>(left, content.size());
      std::memcpy(out.data(), content.data(), taken);
      benchmark::DoNotOptimize(out.data());
      benchmark::ClobberMemory();
      left -= taken;
    }
  }
  count(state, artifact);
}

void bare_zstd(benchmark::State& state, const Artifact& artifact) {
  const std::unique_ptr<ZSTD_DCtx, decltype([](ZSTD_DCtx* context) { ZSTD_freeDCtx(context); })> zstd(
      ZSTD_createDCtx());
  std::vector<std::byte> out(artifact.largest_content);
  std::size_t produced = 0;
  for (auto _ : state) {
    produced = 0;
    std::size_t begin = 0;
    for (const std::size_t end : artifact.ends) {
      produced += ZSTD_decompressDCtx(zstd.get(), out.data(), out.size(), artifact.bytes.data() + begin, end - begin);
      begin = end;
    }
  }
  if (produced != artifact.content_bytes) state.SkipWithError("bare zstd gave other bytes");
  count(state, artifact);
}

void zstd_in_pieces(benchmark::State& state, const Artifact& artifact) {
  FrameDecoder decoder;
  std::size_t produced = 0;
  for (auto _ : state) {
    produced = 0;
    FrameSplitter splitter(artifact.bytes);
    while (auto frame = splitter.next().value()) {
      decoder.begin(*frame, std::span(artifact.bytes).subspan(frame->offset, frame->size)).value();
      while (true) {
        const auto piece = decoder.next().value();
        if (piece.empty()) break;
        produced += piece.size();
      }
    }
  }
  if (produced != artifact.content_bytes) state.SkipWithError("the frame decoder gave other bytes");
  count(state, artifact);
}

void read_events(benchmark::State& state, const Artifact& artifact, const DecodeOptions& options,
                 std::uint64_t expected) {
  EventBatch batch(kSpanEvents);
  std::uint64_t kept = 0;
  std::uint64_t passed = 0;
  for (auto _ : state) {
    ArtifactCursor cursor(artifact.bytes, options);
    kept = 0;
    auto status = ArtifactCursor::Status::kMore;
    while (status == ArtifactCursor::Status::kMore) {
      batch.clear();
      status = cursor.next(batch).value();
      kept += batch.size();
      benchmark::DoNotOptimize(batch.events().data());
    }
    passed = cursor.counters().events;
  }
  if (kept != expected || passed != artifact.events) state.SkipWithError("events were lost");
  count(state, artifact);
}

template <DecodeWay kWay>
void full_decode(benchmark::State& state, const Artifact& artifact) {
  read_events(state, artifact, {.way = kWay}, artifact.events);
}

template <DecodeWay kWay>
void module_scan(benchmark::State& state, const Artifact& artifact) {
  read_events(state, artifact, {.kinds = kModuleKinds, .way = kWay}, artifact.module_events);
}

using Case = void (*)(benchmark::State&, const Artifact&);

constexpr std::pair<const char*, Case> kCases[] = {
    {"bare_zstd", bare_zstd},
    {"copy_content", copy_content},
    {"zstd_in_pieces", zstd_in_pieces},
    {"module_scan", module_scan<DecodeWay::kAvx2>},
    {"module_scan_portable", module_scan<DecodeWay::kPortable>},
    {"full_decode", full_decode<DecodeWay::kAvx2>},
    {"full_decode_portable", full_decode<DecodeWay::kPortable>},
    {"full_decode_exact", full_decode<DecodeWay::kExact>},
};

void add_group(const std::string& group, Writer writer, bool stack_hashes) {
  const auto artifact = std::make_shared<const Artifact>(make_artifact(writer, stack_hashes));
  for (const auto& [name, body] : kCases) {
    benchmark::RegisterBenchmark((group + "/" + name).c_str(), [run = body, artifact](benchmark::State& state) {
      run(state, *artifact);
    })->Unit(benchmark::kMillisecond);
  }
}

}  // namespace

void register_benchmarks() {
  add_group("decode/plain", Writer::kPlain, false);
  add_group("decode/plain_stacks", Writer::kPlain, true);
  add_group("decode/ours", Writer::kOurs, false);
  add_group("decode/ours_stacks", Writer::kOurs, true);
}

}  // namespace memtrack::perf
