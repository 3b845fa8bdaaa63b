// Internal to codec: XXH64, the checksum that zstd's content checksum is the lower half of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace memtrack {

/// XXH64 with seed 0 of the whole of `bytes`.
[[nodiscard]] std::uint64_t xxhash64(std::span<const std::byte> bytes);

}  // namespace memtrack
