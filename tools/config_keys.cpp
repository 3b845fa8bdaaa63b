// The table of keys itself; what is done with it is in config_schema.cpp.
#include <array>
#include <limits>
#include <type_traits>

#include "tools/config_schema.h"

namespace memtrack::tools {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr std::int64_t kGiB = 1024 * kMiB;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMillisecond;
constexpr std::int64_t kHour = 3600 * kSecond;
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

struct Place {
  std::string_view section;
  std::string_view name;
  std::string_view description;
  std::string_view unit = {};
};

struct Range {
  std::int64_t minimum;
  std::int64_t maximum;
  bool power_of_two = false;
};

// `member` of each of the following gives a reference to the setting inside a (const or not) Config.

template <class Member>
Key number(KeyType type, const Place& place, const Range& range, Member member) {
  Key key{
      .section = place.section, .name = place.name, .type = type, .unit = place.unit, .description = place.description};
  key.minimum = range.minimum;
  key.maximum = range.maximum;
  key.power_of_two = range.power_of_two;
  key.get = [member](const Config& config) { return KeyValue(static_cast<std::int64_t>(member(config))); };
  key.set = [member](Config& config, const KeyValue& value) {
    using Target = std::remove_reference_t<decltype(member(config))>;
    member(config) = static_cast<Target>(std::get<std::int64_t>(value));
  };
  return key;
}

template <class Member>
Key integer(const Place& place, const Range& range, Member member) {
  return number(KeyType::kInteger, place, range, member);
}

template <class Member>
Key size(const Place& place, const Range& range, Member member) {
  return number(KeyType::kSize, place, range, member);
}

template <class Member>
Key duration(const Place& place, const Range& range, Member member) {
  Key key{.section = place.section, .name = place.name, .type = KeyType::kDuration, .description = place.description};
  key.minimum = range.minimum;
  key.maximum = range.maximum;
  key.get = [member](const Config& config) { return KeyValue(std::int64_t{member(config).count()}); };
  key.set = [member](Config& config, const KeyValue& value) {
    member(config) = std::chrono::nanoseconds(std::get<std::int64_t>(value));
  };
  return key;
}

template <class Member>
Key boolean(const Place& place, Member member) {
  Key key{.section = place.section, .name = place.name, .type = KeyType::kBoolean, .description = place.description};
  key.get = [member](const Config& config) { return KeyValue(bool{member(config)}); };
  key.set = [member](Config& config, const KeyValue& value) { member(config) = std::get<bool>(value); };
  return key;
}

template <class T, class Member>
Key plain(KeyType type, const Place& place, Member member) {
  Key key{.section = place.section, .name = place.name, .type = type, .description = place.description};
  key.get = [member](const Config& config) { return KeyValue(T(member(config))); };
  key.set = [member](Config& config, const KeyValue& value) { member(config) = std::get<T>(value); };
  return key;
}

template <class Member>
Key text(const Place& place, Member member) {
  return plain<std::string>(KeyType::kText, place, member);
}

// The choices' order is the order of the enumerators, which count from 0.
template <class Member>
Key choice(const Place& place, std::vector<std::string_view> names, Member member) {
  Key key{.section = place.section, .name = place.name, .type = KeyType::kChoice, .description = place.description};
  key.choices = names;
  key.get = [member, names](const Config& config) {
    return KeyValue(std::string(names[static_cast<std::size_t>(member(config))]));
  };
  key.set = [member, names](Config& config, const KeyValue& value) {
    using Enum = std::remove_reference_t<decltype(member(config))>;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == std::get<std::string>(value)) member(config) = static_cast<Enum>(i);
    }
  };
  return key;
}

#define MT_MEMBER(path) [](auto& config) -> auto& { return config.path; }

void add_source_keys(std::vector<Key>& keys) {
  keys.push_back(
      choice({"source", "kind", "Where events come from: a target under the preload shim, an artifact, a generator"},
             {"preload", "replay", "synthetic"}, MT_MEMBER(source)));
  keys.push_back(choice(
      {"source", "on_full",
       "What a thread of the target does when its ring is full: wait for room, or go on and count the event as lost"},
      {"block", "drop"}, MT_MEMBER(preload.on_full)));
  keys.push_back(
      boolean({"source", "allow_loss", "Whether lost events leave the exit code alone (they are counted in any case)"},
              MT_MEMBER(allow_loss)));
  keys.push_back(size({"source.preload", "segment_size", "Shared memory for all rings together"}, {kMiB, 64 * kGiB},
                      MT_MEMBER(preload.segment_bytes)));
  keys.push_back(size({"source.preload", "ring_size", "Ring of each thread of the target"}, {4 * kKiB, kGiB, true},
                      MT_MEMBER(preload.ring_bytes)));
  keys.push_back(
      duration({"source.preload", "rss_interval", "Time between two samples of resident memory; 0s takes none"},
               {0, kHour}, MT_MEMBER(preload.rss_interval)));
  keys.push_back(boolean({"source.preload", "start_enabled", "Whether allocations are recorded from the start"},
                         MT_MEMBER(preload.start_enabled)));
  keys.push_back(text(
      {"source.preload", "shim", "Path of libmemtrack_preload.so; empty takes the one that belongs to the program"},
      MT_MEMBER(preload.shim_path)));
  keys.push_back(
      text({"source.replay", "file", "Artifact to replay, relative to the current folder"}, MT_MEMBER(replay_file)));
  keys.push_back(
      integer({"source.synthetic", "seed", "Seed of the generator; the same seed gives the same events", "number"},
              {0, kLargest}, MT_MEMBER(synthetic.seed)));
  keys.push_back(integer({"source.synthetic", "events", "Events to generate", "events"}, {0, 1'000'000'000'000},
                         MT_MEMBER(synthetic.events)));
  keys.push_back(choice({"source.synthetic", "mix", "A possible history of a program, or every kind equally often"},
                        {"realistic", "uniform"}, MT_MEMBER(synthetic.mix)));
  keys.push_back(boolean({"source.synthetic", "stack_hashes", "Whether allocations carry a stack hash"},
                         MT_MEMBER(synthetic.stack_hashes)));
}

void add_target_keys(std::vector<Key>& keys) {
  keys.push_back(plain<std::vector<std::string>>(
      KeyType::kTextList, {"target", "command", "Program and its arguments; no shell reads them"},
      MT_MEMBER(preload.command)));
  keys.push_back(
      choice({"target", "wait", "The capture ends with the root process, or with the last process of its tree"},
             {"root", "tree"}, MT_MEMBER(preload.wait)));
}

void add_stage_keys(std::vector<Key>& keys) {
  keys.push_back(integer({"batch", "events", "Events that make a frame", "events"}, {1, 1'048'576},
                         MT_MEMBER(capture.batch.events)));
  keys.push_back(size({"batch", "bytes", "Memory of a batch at which it makes a frame with fewer events"},
                      {4 * kKiB, 4 * kGiB}, MT_MEMBER(capture.batch.bytes)));
  keys.push_back(duration({"batch", "flush_interval", "Age at which a partial batch makes a frame"},
                          {kMillisecond, kHour}, MT_MEMBER(capture.batch.flush_interval)));
  keys.push_back(integer({"queue", "items", "Items in each queue between two stages", "items"}, {1, 65'536},
                         MT_MEMBER(capture.queue.items)));
  keys.push_back(size({"queue", "bytes", "Memory of the items in each queue"}, {4 * kKiB, 16 * kGiB},
                      MT_MEMBER(capture.queue.bytes)));
  keys.push_back(integer({"compress", "workers", "Compressors that work side by side", "workers"}, {1, 64},
                         MT_MEMBER(capture.compress.workers)));
  keys.push_back(integer({"compress", "level", "zstd level; lower is faster, higher is smaller", "zstd level"},
                         {-7, 19}, MT_MEMBER(capture.compress.level)));
  keys.push_back(boolean({"compress", "checksum", "Whether every frame ends with a checksum of its content"},
                         MT_MEMBER(capture.compress.checksum)));
  keys.push_back(
      text({"write", "directory", "Existing folder that gets the artifact"}, MT_MEMBER(capture.write.directory)));
  keys.push_back(
      boolean({"write", "index", "Whether the artifact ends with an index"}, MT_MEMBER(capture.write.index)));
  keys.push_back(choice({"write", "mappings", "Mapping events where they happen, or all at the end for older readers"},
                        {"inline", "suffix"}, MT_MEMBER(capture.write.mappings)));
  keys.push_back(boolean({"write", "sync", "Whether drain and the end wait until the disk has everything"},
                         MT_MEMBER(capture.write.sync)));
  keys.push_back(size({"write", "index_modules", "Module events that the index may hold, before compression"},
                      {0, 4 * kGiB}, MT_MEMBER(capture.write.index_modules_bytes)));
  keys.push_back(
      duration({"pipeline", "poll_interval", "Longest time that the poller sleeps while the source is silent"},
               {kMillisecond, 10 * kSecond}, MT_MEMBER(capture.poll_interval)));
  keys.push_back(duration({"pipeline", "shutdown_deadline",
                           "Time for everything to end, after which the stuck stage is named and the capture given up"},
                          {100 * kMillisecond, kHour}, MT_MEMBER(capture.shutdown_deadline)));
}

void add_read_keys(std::vector<Key>& keys) {
  keys.push_back(plain<std::vector<std::string>>(
      KeyType::kTextList, {"read", "files", "Artifacts to print, instead of recording one"}, MT_MEMBER(read.files)));
  keys.push_back(choice({"read", "select", "Events to print: all, or those of modules (Mapping, Fork, Exec)"},
                        {"all", "modules"}, MT_MEMBER(read.select)));
  keys.push_back(integer({"read", "workers", "Decoders that work side by side; 0 takes one a processor", "workers"},
                         {0, 64}, MT_MEMBER(read.workers)));
}

void add_report_keys(std::vector<Key>& keys) {
  keys.push_back(choice(
      {"log", "level", "What is told on stderr: errors; losses and notes too; the summary too; stage counters too"},
      {"error", "warning", "info", "debug"}, MT_MEMBER(log_level)));
  keys.push_back(choice({"log", "progress", "Progress line on stderr: on a terminal, always, never"},
                        {"auto", "always", "never"}, MT_MEMBER(progress)));
  keys.push_back(duration({"stats", "interval", "Time between two lines of counters on stderr; 0s prints none"},
                          {0, kHour}, MT_MEMBER(stats_interval)));
}

#undef MT_MEMBER

}  // namespace

std::span<const Key> config_keys() {
  static const std::vector<Key> keys = [] {
    std::vector<Key> all;
    add_source_keys(all);
    add_target_keys(all);
    add_stage_keys(all);
    add_read_keys(all);
    add_report_keys(all);
    return all;
  }();
  return keys;
}

}  // namespace memtrack::tools
