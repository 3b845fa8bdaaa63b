#include "codec/xxhash64.h"

#include <xxhash.h>

namespace memtrack {

std::uint64_t xxhash64(std::span<const std::byte> bytes) {
  constexpr XXH64_hash_t kNoSeed = 0;
  return XXH64(bytes.data(), bytes.size(), kNoSeed);
}

}  // namespace memtrack
