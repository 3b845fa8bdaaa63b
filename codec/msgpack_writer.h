// Internal to codec: MessagePack values in their shortest form, written to raw memory.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace memtrack::msgpack {

static_assert(std::endian::native == std::endian::little, "stores below swap from little to big endian");

/// What a value may write behind its end: its callers keep that much room (store first, then advance).
inline constexpr std::size_t kSlackBytes = 8;
inline constexpr std::size_t kMaxIntBytes = 9;

struct UintForm {
  std::uint8_t tag;
  std::uint8_t bytes;  // behind the tag
};

// By number of significant bits: up to 7 the tag is the value itself.
inline constexpr std::array<UintForm, 65> kUintForms = [] {
  std::array<UintForm, 65> forms{};
  for (std::size_t bits = 0; bits <= 64; ++bits) {
    forms[bits] = bits <= 7    ? UintForm{0x00, 0}
                  : bits <= 8  ? UintForm{0xcc, 1}
                  : bits <= 16 ? UintForm{0xcd, 2}
                  : bits <= 32 ? UintForm{0xce, 4}
                               : UintForm{0xcf, 8};
  }
  return forms;
}();

/// Writes the low `bytes` bytes of `value`, highest first; 8 bytes of memory are written in any case.
inline std::byte* store_big_endian(std::byte* to, std::uint64_t value, unsigned bytes) {
  const std::uint64_t image = __builtin_bswap64(value) >> ((64 - 8 * bytes) & 63);
  std::memcpy(to, &image, sizeof image);
  return to + bytes;
}

/// Free of branches: sizes and addresses have no pattern that a predictor could learn.
inline std::byte* write_uint(std::byte* to, std::uint64_t value) {
  const UintForm form = kUintForms[static_cast<std::size_t>(std::bit_width(value))];
  *to = static_cast<std::byte>(form.tag | (form.bytes == 0 ? value : 0));
  return store_big_endian(to + 1, value, form.bytes);
}

/// The same bytes, for values that nearly always need all 8: time stamps, addresses, hashes.
inline std::byte* write_wide_uint(std::byte* to, std::uint64_t value) {
  if ((value >> 32) == 0) [[unlikely]]
    return write_uint(to, value);
  *to = std::byte{0xcf};
  return store_big_endian(to + 1, value, 8);
}

inline std::byte* write_int(std::byte* to, std::int64_t value) {
  if (value >= 0) return write_uint(to, static_cast<std::uint64_t>(value));
  const auto image = static_cast<std::uint64_t>(value);
  if (value >= -32) return store_big_endian(to, image, 1);
  const unsigned bytes = value >= INT8_MIN ? 1 : value >= INT16_MIN ? 2 : value >= INT32_MIN ? 4 : 8;
  *to = static_cast<std::byte>(0xd0 + std::countr_zero(bytes));
  return store_big_endian(to + 1, image, bytes);
}

/// A header whose small form is one byte `fix | count` below `fix_limit`, else tag8 (where nonzero), tag16, tag16 + 1.
inline std::byte* write_header(std::byte* to, std::uint64_t count, unsigned fix, unsigned fix_limit, unsigned tag8,
                               unsigned tag16) {
  if (count < fix_limit) return store_big_endian(to, fix | count, 1);
  if (tag8 != 0 && count <= 0xff) {
    *to = static_cast<std::byte>(tag8);
    return store_big_endian(to + 1, count, 1);
  }
  const bool small = count <= 0xffff;
  *to = static_cast<std::byte>(small ? tag16 : tag16 + 1);
  return store_big_endian(to + 1, count, small ? 2 : 4);
}

inline std::byte* write_array_header(std::byte* to, std::size_t count) {
  return write_header(to, count, 0x90, 16, 0, 0xdc);
}

inline std::byte* write_string(std::byte* to, std::string_view text) {
  to = write_header(to, text.size(), 0xa0, 32, 0xd9, 0xda);
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

inline std::byte* write_binary(std::byte* to, std::span<const std::byte> bytes) {
  to = write_header(to, bytes.size(), 0, 0, 0xc4, 0xc5);
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

inline std::byte* write_bool(std::byte* to, bool value) {
  *to = static_cast<std::byte>(value ? 0xc3 : 0xc2);
  return to + 1;
}

}  // namespace memtrack::msgpack
