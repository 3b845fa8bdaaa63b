#include "tests/preload/segment_harness.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <linux/futex.h>
#include <new>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_map>
#include <unordered_set>

namespace memtrack::test {
namespace {

std::uint64_t round_up(std::uint64_t bytes) {
  return (bytes + 4095) & ~std::uint64_t{4095};
}

void futex_wake_all(std::uint32_t* word) {
  syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

std::uint64_t own_start_time() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  return std::strtoull(field.c_str(), nullptr, 10);
}

bool process_gone(std::int32_t pid) {
  return kill(pid, 0) != 0 && errno == ESRCH;
}
bool thread_gone(std::int32_t pid, std::int32_t tid) {
  return syscall(SYS_tgkill, pid, tid, 0) != 0 && errno == ESRCH;
}

}  // namespace

SegmentHarness::SegmentHarness(const HarnessOptions& options)
    : options_(options), stream_of_ring_(options.ring_count, kNoStream), image_noted_(options.image_count, false) {
  const std::uint64_t images_offset = MT_SEGMENT_HEADER_BYTES;
  const std::uint64_t rings_offset = round_up(images_offset + options.image_count * sizeof(mt_image));
  const std::uint64_t data_offset = round_up(rings_offset + options.ring_count * sizeof(mt_ring));
  bytes_ = data_offset + std::uint64_t{options.ring_count} * options.ring_slots * MT_SLOT_BYTES;

  path_ = "/dev/shm/memtrack-test-XXXXXX";
  file_ = mkostemp(path_.data(), O_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(bytes_)) != 0 || flock(file_, LOCK_EX | LOCK_NB) != 0)
    throw std::runtime_error("no segment file");
  void* base = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (base == MAP_FAILED) throw std::runtime_error("segment not mapped");
  auto* bytes = static_cast<char*>(base);
  segment_ = new (base) mt_segment{};
  images_ = reinterpret_cast<mt_image*>(bytes + images_offset);
  rings_ = reinterpret_cast<mt_ring*>(bytes + rings_offset);
  slots_ = reinterpret_cast<mt_record*>(bytes + data_offset);

  segment_->clock = options.clock;
  segment_->segment_bytes = bytes_;
  segment_->images_offset = images_offset;
  segment_->rings_offset = rings_offset;
  segment_->data_offset = data_offset;
  segment_->image_count = options.image_count;
  segment_->ring_count = options.ring_count;
  segment_->ring_slots = options.ring_slots;
  segment_->on_full = options.on_full;
  segment_->tracker_pid = getpid();
  segment_->tracker_start_time = own_start_time();
  segment_->enabled = options.enabled ? 1 : 0;
  segment_->version = MT_SEGMENT_VERSION;
  segment_->magic = MT_SEGMENT_MAGIC;
}

SegmentHarness::~SegmentHarness() {
  unlink(path_.c_str());
  munmap(segment_, bytes_);
  close(file_);
}

RunResult SegmentHarness::run(const std::vector<std::string>& command, const std::string& shim_path) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    setenv("LD_PRELOAD", shim_path.c_str(), 1);
    setenv(MT_SEGMENT_ENV, path_.c_str(), 1);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  RunResult result;
  bool ended = false;
  bool open = true;
  while (!ended || open) {
    pollfd watched{.fd = open ? ends[0] : -1, .events = POLLIN, .revents = 0};
    poll(&watched, 1, 1);
    if (watched.revents != 0) {
      char buffer[65536];
      const ssize_t got = read(ends[0], buffer, sizeof buffer);
      if (got > 0) result.output.append(buffer, static_cast<std::size_t>(got));
      if (got == 0) open = false;
    }
    if (!ended && waitpid(child, &result.wait_status, WNOHANG) == child) ended = true;
    drain();
  }
  close(ends[0]);
  drain();
  return result;
}

void SegmentHarness::drain() {
  for (std::uint32_t i = 0; i < options_.image_count; ++i) {
    if (image_noted_[i] || __atomic_load_n(&images_[i].state, __ATOMIC_ACQUIRE) != MT_STATE_LIVE) continue;
    image_noted_[i] = true;
    images_seen_.push_back(images_[i]);
  }
  for (std::uint32_t i = 0; i < options_.ring_count; ++i) drain_ring(i);
  take_notices();
  free_dead();
}

void SegmentHarness::take_notices() {
  for (mt_notice& notice : segment_->notices) {
    std::uint32_t state = __atomic_load_n(&notice.state, __ATOMIC_ACQUIRE);
    if (MT_NOTICE_STATE(state) != MT_STATE_LIVE) continue;
    if (!__atomic_compare_exchange_n(&notice.state, &state, static_cast<std::uint32_t>(MT_STATE_CLAIMED), false,
                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      continue;
    }
    SeenNotice seen{.kind = static_cast<mt_notice_kind>(notice.kind),
                    .writer = notice.writer,
                    .pid = notice.pid,
                    .ticks = notice.ticks,
                    .flags = notice.flags,
                    .path = std::string(notice.path, std::min(notice.path_bytes, MT_NOTICE_PATH_BYTES))};
    __atomic_store_n(&notice.state, static_cast<std::uint32_t>(MT_STATE_FREE), __ATOMIC_RELEASE);
    notices_seen_.push_back(std::move(seen));
  }
}

void SegmentHarness::drain_ring(std::uint32_t index) {
  mt_ring& ring = rings_[index];
  const std::uint32_t state = __atomic_load_n(&ring.state, __ATOMIC_ACQUIRE);
  if (state != MT_STATE_LIVE && state != MT_STATE_RELEASED) return;
  if (stream_of_ring_[index] == kNoStream) {
    stream_of_ring_[index] = streams_.size();
    RingStream stream;
    stream.image = images_[ring.image];
    stream.tid = ring.tid;
    streams_.push_back(std::move(stream));
  }
  RingStream& stream = streams_[stream_of_ring_[index]];
  const bool gone = thread_gone(stream.image.pid, stream.tid);
  const std::uint64_t head = __atomic_load_n(&ring.head, __ATOMIC_ACQUIRE);
  const std::uint64_t tail = __atomic_load_n(&ring.tail, __ATOMIC_RELAXED);
  const mt_record* slots = slots_ + std::uint64_t{index} * options_.ring_slots;
  for (std::uint64_t at = tail; at != head; ++at) stream.slots.push_back(slots[at & (options_.ring_slots - 1)]);
  __atomic_store_n(&ring.tail, head, __ATOMIC_SEQ_CST);
  if (__atomic_exchange_n(&ring.room_wanted, 0U, __ATOMIC_SEQ_CST) == 1) futex_wake_all(&ring.room_wanted);
  for (std::size_t i = 0; i < MT_LOSS_COUNT; ++i) stream.lost[i] = __atomic_load_n(&ring.lost[i], __ATOMIC_RELAXED);
  if (state == MT_STATE_RELEASED || gone) {
    stream_of_ring_[index] = kNoStream;
    __atomic_store_n(&ring.tail, 0U, __ATOMIC_RELAXED);
    __atomic_store_n(&ring.head, 0U, __ATOMIC_RELAXED);
    __atomic_store_n(&ring.state, static_cast<std::uint32_t>(MT_STATE_FREE), __ATOMIC_RELEASE);
    wake_claimers();
  }
}

void SegmentHarness::free_dead() {
  for (std::uint32_t i = 0; i < options_.image_count; ++i) {
    if (!image_noted_[i]) continue;
    bool used = false;
    for (std::uint32_t r = 0; r < options_.ring_count; ++r) {
      const std::uint32_t state = __atomic_load_n(&rings_[r].state, __ATOMIC_ACQUIRE);
      // One that is being claimed does not say yet whose it is.
      used = used || state == MT_STATE_CLAIMED || (state != MT_STATE_FREE && rings_[r].image == i);
    }
    if (used || !process_gone(images_[i].pid)) continue;
    image_noted_[i] = false;
    __atomic_store_n(&images_[i].state, static_cast<std::uint32_t>(MT_STATE_FREE), __ATOMIC_RELEASE);
    wake_claimers();
  }
}

void SegmentHarness::wake_claimers() {
  __atomic_fetch_add(&segment_->free_waiters, 1U, __ATOMIC_SEQ_CST);
  futex_wake_all(&segment_->free_waiters);
}

std::array<std::uint64_t, MT_LOSS_COUNT> SegmentHarness::lost() const {
  std::array<std::uint64_t, MT_LOSS_COUNT> total{};
  for (std::size_t i = 0; i < MT_LOSS_COUNT; ++i) {
    total[i] = __atomic_load_n(&segment_->lost[i], __ATOMIC_RELAXED);
    for (const RingStream& stream : streams_) total[i] += stream.lost[i];
  }
  return total;
}

std::vector<ParsedRecord> parse_records(const std::vector<mt_record>& slots) {
  std::vector<ParsedRecord> records;
  for (std::size_t at = 0; at < slots.size(); ++at) {
    ParsedRecord record;
    record.first = slots[at];
    if (record.first.kind == MT_MAPPING) {
      const std::size_t path_slots = (record.first.more + MT_SLOT_BYTES - 1) / MT_SLOT_BYTES;
      if (slots.size() - at < 2 + path_slots) break;
      std::memcpy(&record.mapping, &slots[at + 1], sizeof record.mapping);
      record.path.assign(reinterpret_cast<const char*>(slots.data() + at + 2), record.first.more);
      at += 1 + path_slots;
    }
    records.push_back(std::move(record));
  }
  return records;
}

namespace {

bool allocates(std::uint16_t kind) {
  return (kind >= MT_MALLOC && kind <= MT_REALLOC_FRESH) || kind == MT_REALLOC_END;
}

/// The heap of one process as its records tell it.
class Replay {
 public:
  explicit Replay(bool inherits) : inherits_(inherits) {}

  /// Empty, or why the record can't be.
  std::string step(std::size_t stream, const mt_record& record) {
    if (record.kind == MT_FREE) return free(record.addr);
    if (record.kind == MT_REALLOC_BEGIN) {
      moving_[record.addr] = stream;
      open_[stream] = record.addr;
      return {};
    }
    if (record.kind == MT_REALLOC_END) return end_realloc(stream, record.addr);
    if (allocates(record.kind)) return allocate(record.addr);
    return {};
  }

 private:
  std::string free(std::uint64_t addr) { return live_.erase(addr) == 1 || inherits_ ? "" : "a free of a dead block"; }
  std::string allocate(std::uint64_t addr) {
    if (moving_.erase(addr) == 1) live_.erase(addr);  // its realloc has let go of it already
    return live_.insert(addr).second ? "" : "an allocation of a live block";
  }
  std::string end_realloc(std::size_t stream, std::uint64_t result) {
    const std::uint64_t old = open_[stream];
    const auto found = moving_.find(old);
    const bool held = found != moving_.end() && found->second == stream;
    if (held) moving_.erase(found);
    if (result == 0) return {};
    if (held && live_.erase(old) == 0 && !inherits_) return "a realloc of a dead block";
    return allocate(result);
  }

  bool inherits_;
  std::unordered_set<std::uint64_t> live_;
  std::unordered_map<std::uint64_t, std::size_t> moving_;  ///< old address -> stream
  std::unordered_map<std::size_t, std::uint64_t> open_;
};

}  // namespace

std::string find_impossible(const std::vector<RingStream>& streams, const mt_image& image) {
  std::vector<std::vector<ParsedRecord>> records;
  for (const RingStream& stream : streams) {
    const mt_image& owner = stream.image;
    if (owner.pid == image.pid && owner.origin == image.origin && owner.ticks == image.ticks)
      records.push_back(parse_records(stream.slots));
  }
  std::vector<std::size_t> next(records.size(), 0);
  Replay replay(image.origin == MT_ORIGIN_FORK);
  for (std::uint64_t count = 0;; ++count) {
    std::size_t first = records.size();
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (next[i] == records[i].size()) continue;
      const mt_record& candidate = records[i][next[i]].first;
      if (first != records.size()) {
        const mt_record& best = records[first][next[first]].first;
        if (candidate.ticks > best.ticks) continue;
        if (candidate.ticks == best.ticks && (allocates(candidate.kind) || !allocates(best.kind))) continue;
      }
      first = i;
    }
    if (first == records.size()) return {};
    const mt_record& record = records[first][next[first]++].first;
    const std::string wrong = replay.step(first, record);
    if (!wrong.empty()) return wrong + " at record " + std::to_string(count) + " of stream " + std::to_string(first);
  }
}

}  // namespace memtrack::test
