// Encoding frames on one thread, a ladder: zstd level -5 on content that is there already (the floor that N1 divides
// by), a copy of the content, serialising alone, our own compression, and the whole way from events to frames.
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <zstd.h>

#include "codec/byte_buffer.h"
#include "codec/event_encoder.h"
#include "codec/frame_encoder.h"
#include "perf/artifact_maker.h"
#include "perf/bench_main.h"

namespace memtrack::perf {
namespace {

constexpr int kPlainLevel = -5;
// 8 MiB of events: as warm as a batch is that its chunks were just put together to.
constexpr std::size_t kBatches = 2;

struct Input {
  EventBatch events;
  Contents contents;
};

void count(benchmark::State& state, const Input& input, std::size_t stored_bytes) {
  state.SetItemsProcessed(static_cast<std::int64_t>(input.events.size()) * state.iterations());
  state.SetBytesProcessed(static_cast<std::int64_t>(input.contents.bytes.size()) * state.iterations());
  state.counters["stored_bytes_per_event"] =
      static_cast<double>(stored_bytes) / static_cast<double>(input.events.size());
}

/// Every frame's content through one encoder; `stored` is what it came to.
void compress(benchmark::State& state, const Input& input, int level) {
  FrameEncoder encoder = FrameEncoder::create(level).value();
  ByteBuffer out;
  std::size_t stored = 0;
  for (auto _ : state) {
    stored = 0;
    for (std::size_t i = 0; i < input.contents.ends.size(); ++i) {
      out.clear();
      encoder.encode(input.contents.frame(i), out).value();
      stored += out.size();
    }
  }
  count(state, input, stored);
}

void zstd_minus_5(benchmark::State& state, const Input& input) {
  compress(state, input, kPlainLevel);
}
void zstd_default(benchmark::State& state, const Input& input) {
  compress(state, input, kDefaultCompressionLevel);
}

void copy_content(benchmark::State& state, const Input& input) {
  std::vector<std::byte> out(input.contents.bytes.size());
  for (auto _ : state) {
    for (std::size_t i = 0; i < input.contents.ends.size(); ++i) {
      const auto content = input.contents.frame(i);
      std::memcpy(out.data(), content.data(), content.size());
      benchmark::ClobberMemory();
    }
  }
  count(state, input, 0);
}

void serialise(benchmark::State& state, const Input& input) {
  EventEncoder encoder;
  ByteBuffer out;
  std::size_t produced = 0;
  for (auto _ : state) {
    produced = 0;
    for (std::size_t begin = 0; begin < input.events.size(); begin += kEventsPerFrame) {
      out.clear();
      encoder.encode(input.events, begin, std::min(input.events.size(), begin + kEventsPerFrame), out);
      produced += out.size();
      benchmark::DoNotOptimize(out.data());
    }
  }
  if (produced != input.contents.bytes.size()) state.SkipWithError("the encoder gave other bytes");
  count(state, input, 0);
}

void whole_frames(benchmark::State& state, const Input& input) {
  EventEncoder events;
  FrameEncoder frames = FrameEncoder::create().value();
  ByteBuffer content;
  ByteBuffer out;
  std::size_t stored = 0;
  for (auto _ : state) {
    stored = 0;
    for (std::size_t begin = 0; begin < input.events.size(); begin += kEventsPerFrame) {
      content.clear();
      out.clear();
      events.encode(input.events, begin, std::min(input.events.size(), begin + kEventsPerFrame), content);
      frames.encode(content.bytes(), out).value();
      stored += out.size();
    }
  }
  count(state, input, stored);
}

using Case = void (*)(benchmark::State&, const Input&);

constexpr std::pair<const char*, Case> kCases[] = {
    {"zstd_minus_5", zstd_minus_5}, {"copy_content", copy_content}, {"serialise", serialise},
    {"zstd_default", zstd_default}, {"whole_frames", whole_frames},
};

void add_group(const std::string& group, bool stack_hashes) {
  EventBatch events = realistic_events(kBatches * kEventsPerFrame, stack_hashes);
  Contents contents = encode_frames(events);
  const auto input = std::make_shared<const Input>(std::move(events), std::move(contents));
  for (const auto& [name, body] : kCases) {
    benchmark::RegisterBenchmark((group + "/" + name).c_str(), [run = body, input](benchmark::State& state) {
      run(state, *input);
    })->Unit(benchmark::kMillisecond);
  }
}

}  // namespace

void register_benchmarks() {
  add_group("encode/realistic", false);
  add_group("encode/stacks", true);
}

}  // namespace memtrack::perf
