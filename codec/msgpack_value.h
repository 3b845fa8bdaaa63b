// Internal to codec: MessagePack values that are known to be whole, and what their first byte says.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace memtrack::msgpack {

/// Number of bytes behind a one-byte tag that has a fixed size; kVariable where a length or count follows.
inline constexpr std::uint8_t kVariable = 0xff;
inline constexpr std::array<std::uint8_t, 256> kFixedBytes = [] {
  std::array<std::uint8_t, 256> sizes{};
  for (unsigned tag = 0; tag < 256; ++tag) {
    const bool has_length = (tag >= 0x80 && tag <= 0xbf) || (tag >= 0xc4 && tag <= 0xc9) || tag >= 0xd9;
    if (has_length && tag < 0xe0) sizes[tag] = kVariable;
  }
  sizes[0xc1] = kVariable;                                          // never used: the slow path refuses it
  for (const unsigned tag : {0xccu, 0xd0u}) sizes[tag] = 1;         // 8 bit
  for (const unsigned tag : {0xcdu, 0xd1u}) sizes[tag] = 2;         // 16 bit
  for (const unsigned tag : {0xcau, 0xceu, 0xd2u}) sizes[tag] = 4;  // 32 bit and float
  for (const unsigned tag : {0xcbu, 0xcfu, 0xd3u}) sizes[tag] = 8;  // 64 bit and double
  for (unsigned log = 0; log <= 4; ++log) sizes[0xd4 + log] = static_cast<std::uint8_t>(1 + (1u << log));  // fixext
  return sizes;
}();

inline unsigned tag_at(const std::byte* at) {
  return std::to_integer<unsigned>(*at);
}

/// `bytes` is 1, 2, 4 or 8.
inline std::uint64_t load_big_endian(const std::byte* from, unsigned bytes) {
  const auto load = [from]<class Word>(Word word) {
    std::memcpy(&word, from, sizeof word);
    return word;
  };
  switch (bytes) {
    case 1:
      return std::to_integer<std::uint64_t>(*from);
    case 2:
      return __builtin_bswap16(load(std::uint16_t{}));
    case 4:
      return __builtin_bswap32(load(std::uint32_t{}));
    default:
      return __builtin_bswap64(load(std::uint64_t{}));
  }
}

// The readers below are for values that a Scanner has passed already: they are whole and well formed.

/// A non-negative integer of any width, signed forms included.
inline std::optional<std::uint64_t> read_uint(const std::byte* at) {
  const unsigned tag = tag_at(at);
  if (tag <= 0x7f) return tag;
  if (tag >= 0xcc && tag <= 0xcf) return load_big_endian(at + 1, 1u << (tag - 0xcc));
  if (tag < 0xd0 || tag > 0xd3) return std::nullopt;
  const unsigned bytes = 1u << (tag - 0xd0);
  const std::uint64_t value = load_big_endian(at + 1, bytes);
  if ((value >> (8 * bytes - 1)) != 0) return std::nullopt;
  return value;
}

/// An integer of any width that fits in 64 signed bits.
inline std::optional<std::int64_t> read_int(const std::byte* at) {
  const unsigned tag = tag_at(at);
  if (tag >= 0xe0) return static_cast<std::int8_t>(tag);
  if (tag >= 0xd0 && tag <= 0xd3) {
    const unsigned bytes = 1u << (tag - 0xd0);
    const unsigned unused_bits = 64 - 8 * bytes;
    return static_cast<std::int64_t>(load_big_endian(at + 1, bytes) << unused_bits) >> unused_bits;
  }
  const auto value = read_uint(at);
  if (!value || *value > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

/// Moves `at` behind an array's header and gives its count.
inline std::optional<std::uint64_t> read_array_header(const std::byte*& at) {
  const unsigned tag = tag_at(at);
  if ((tag & 0xf0) == 0x90) {
    ++at;
    return tag & 0x0f;
  }
  if (tag != 0xdc && tag != 0xdd) return std::nullopt;
  const unsigned bytes = tag == 0xdc ? 2 : 4;
  const std::uint64_t count = load_big_endian(at + 1, bytes);
  at += 1 + bytes;
  return count;
}

/// Contents of a string (`kString`) or of binary data.
enum class Blob : std::uint8_t { kString, kBinary };
inline std::optional<std::string_view> read_blob(const std::byte* at, Blob wanted) {
  const unsigned tag = tag_at(at);
  const auto* text = reinterpret_cast<const char*>(at);
  if (wanted == Blob::kString && (tag & 0xe0) == 0xa0) return std::string_view(text + 1, tag & 0x1f);
  const unsigned first = wanted == Blob::kString ? 0xd9 : 0xc4;
  if (tag < first || tag > first + 2) return std::nullopt;
  const unsigned bytes = 1u << (tag - first);
  return std::string_view(text + 1 + bytes, static_cast<std::size_t>(load_big_endian(at + 1, bytes)));
}

inline std::optional<bool> read_bool(const std::byte* at) {
  const unsigned tag = tag_at(at);
  if (tag != 0xc2 && tag != 0xc3) return std::nullopt;
  return tag == 0xc3;
}

inline bool is_nil(const std::byte* at) {
  return tag_at(at) == 0xc0;
}

}  // namespace memtrack::msgpack
