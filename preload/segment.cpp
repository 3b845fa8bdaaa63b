#include "preload/segment.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <new>
#include <random>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <utility>

#include <boost/interprocess/mapped_region.hpp>
#include <boost/interprocess/shared_memory_object.hpp>

namespace memtrack::preload {
namespace {

namespace ipc = boost::interprocess;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMinRingBytes = 4096;
constexpr std::uint64_t kMaxRingBytes = 1ull << 32;
constexpr std::uint64_t kMaxRings = 65'536;  // every sweep looks at each
constexpr std::uint64_t kMinImages = 16;
constexpr std::uint64_t kMaxImages = 4096;
constexpr std::uint64_t kBytesPerImage = 64u << 10;  // an image for each so many bytes of segment, within the bounds
const std::string kDirectory = "/dev/shm/";

constexpr std::uint64_t align(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

Error bad_setting(std::string message) {
  return Error{.code = ErrorCode::kInvalidArgument, .message = std::move(message)};
}

std::string hex16(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

std::string random_name(std::int32_t pid) {
  std::random_device random;
  const std::uint64_t number = (std::uint64_t{random()} << 32) | random();
  return MT_SEGMENT_PREFIX + std::to_string(pid) + "-" + hex16(number);
}

Result<void> check_room(std::uint64_t bytes) {
  struct statvfs info{};
  if (::statvfs(kDirectory.c_str(), &info) != 0) {
    return std::unexpected(io_error("shared memory is not available", kDirectory, errno));
  }
  const std::uint64_t room = std::uint64_t{info.f_bavail} * info.f_frsize;
  if (room >= bytes) return {};
  return std::unexpected(Error{.code = ErrorCode::kLimitExceeded,
                               .message = "only " + std::to_string(room >> 20) + " MiB are free, the rings need " +
                                          std::to_string((bytes + (1u << 20) - 1) >> 20) +
                                          " MiB; make source.preload.segment_size smaller or /dev/shm larger",
                               .path = kDirectory});
}

}  // namespace

Result<SegmentLayout> plan_segment(std::uint64_t segment_bytes, std::uint64_t ring_bytes) {
  if (!std::has_single_bit(ring_bytes) || ring_bytes < kMinRingBytes || ring_bytes > kMaxRingBytes) {
    return std::unexpected(bad_setting("source.preload.ring_size is " + std::to_string(ring_bytes) +
                                       " bytes, but must be a power of two from 4 KiB to 4 GiB"));
  }
  SegmentLayout layout;
  layout.image_count = static_cast<std::uint32_t>(std::clamp(segment_bytes / kBytesPerImage, kMinImages, kMaxImages));
  layout.ring_slots = static_cast<std::uint32_t>(ring_bytes / MT_SLOT_BYTES);
  layout.images_offset = MT_SEGMENT_HEADER_BYTES;
  layout.rings_offset = align(layout.images_offset + layout.image_count * sizeof(mt_image), MT_CACHE_LINE);
  const std::uint64_t fixed = layout.rings_offset + kPage;  // up to a page goes to the data's alignment
  const std::uint64_t rings = segment_bytes <= fixed ? 0 : (segment_bytes - fixed) / (ring_bytes + sizeof(mt_ring));
  if (rings == 0) {
    return std::unexpected(bad_setting("source.preload.segment_size is " + std::to_string(segment_bytes) +
                                       " bytes, too little for a ring of " + std::to_string(ring_bytes) +
                                       " bytes (source.preload.ring_size) and the tables beside it"));
  }
  layout.ring_count = static_cast<std::uint32_t>(std::min(rings, kMaxRings));
  layout.data_offset = align(layout.rings_offset + layout.ring_count * sizeof(mt_ring), kPage);
  layout.bytes = layout.data_offset + layout.ring_count * ring_bytes;
  return layout;
}

SegmentView format_segment(void* memory, const SegmentLayout& layout, const SegmentSettings& settings) {
  auto* const bytes = static_cast<std::byte*>(memory);
  auto* const header = new (memory) mt_segment{};
  header->version = MT_SEGMENT_VERSION;
  header->clock = settings.clock;
  header->segment_bytes = layout.bytes;
  header->images_offset = layout.images_offset;
  header->rings_offset = layout.rings_offset;
  header->data_offset = layout.data_offset;
  header->image_count = layout.image_count;
  header->ring_count = layout.ring_count;
  header->ring_slots = layout.ring_slots;
  header->on_full = settings.on_full;
  header->tracker_pid = settings.tracker_pid;
  header->tracker_start_time = settings.tracker_start_time;
  header->enabled = settings.enabled ? 1 : 0;
  __atomic_store_n(&header->magic, MT_SEGMENT_MAGIC, __ATOMIC_RELEASE);
  return SegmentView{.header = header,
                     .images = reinterpret_cast<mt_image*>(bytes + layout.images_offset),
                     .rings = reinterpret_cast<mt_ring*>(bytes + layout.rings_offset),
                     .data = reinterpret_cast<std::uint64_t*>(bytes + layout.data_offset),
                     .layout = layout};
}

struct Segment::State {
  std::string name;
  std::string path;
  ipc::shared_memory_object object;  // keeps the lock
  ipc::mapped_region region;
  SegmentView view;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { ipc::shared_memory_object::remove(name.c_str()); }
};

Segment::Segment(std::unique_ptr<State> state) : state_(std::move(state)) {}
Segment::Segment(Segment&&) noexcept = default;
Segment& Segment::operator=(Segment&&) noexcept = default;
Segment::~Segment() = default;

Result<Segment> Segment::create(const SegmentLayout& layout, const SegmentSettings& settings) {
  if (auto room = check_room(layout.bytes); !room) return std::unexpected(std::move(room.error()));
  auto state = std::make_unique<State>();
  const std::string name = random_name(settings.tracker_pid);
  state->path = kDirectory + name;
  try {
    ipc::permissions owner_only;
    owner_only.set_permissions(0600);
    state->object = ipc::shared_memory_object(ipc::create_only, name.c_str(), ipc::read_write, owner_only);
    state->name = name;  // from here on it is ours to remove
    if (::flock(state->object.get_mapping_handle().handle, LOCK_EX | LOCK_NB) != 0) {
      return std::unexpected(io_error("can't be locked", state->path, errno));
    }
    state->object.truncate(static_cast<ipc::offset_t>(layout.bytes));
    state->region = ipc::mapped_region(state->object, ipc::read_write);
  } catch (const ipc::interprocess_exception& error) {
    return std::unexpected(
        io_error("can't make the shared memory of the rings", state->path, error.get_native_error()));
  }
  state->view = format_segment(state->region.get_address(), layout, settings);
  return Segment(std::move(state));
}

const SegmentView& Segment::view() const {
  return state_->view;
}
const std::string& Segment::path() const {
  return state_->path;
}

}  // namespace memtrack::preload
