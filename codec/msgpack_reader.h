// Internal to codec: reads MessagePack out of bytes that may be anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace memtrack::msgpack {

enum class Scan : std::uint8_t {
  kOk,
  kShort,  ///< the bytes end inside the value
  kBad,    ///< no value at all, or one over the cap
};

/// Number of bytes behind a one-byte tag that has a fixed size; kVariable where a length or count follows.
inline constexpr std::uint8_t kVariable = 0xff;
inline constexpr std::array<std::uint8_t, 256> kFixedBytes = [] {
  std::array<std::uint8_t, 256> sizes{};
  for (unsigned tag = 0; tag < 256; ++tag) {
    const bool has_length = (tag >= 0x80 && tag <= 0xbf) || (tag >= 0xc4 && tag <= 0xc9) || tag >= 0xd9;
    if (has_length && tag < 0xe0) sizes[tag] = kVariable;
  }
  sizes[0xc1] = kVariable;                                       // never used: the slow path refuses it
  for (const unsigned tag : {0xcc, 0xd0}) sizes[tag] = 1;        // 8 bit
  for (const unsigned tag : {0xcd, 0xd1}) sizes[tag] = 2;        // 16 bit
  for (const unsigned tag : {0xca, 0xce, 0xd2}) sizes[tag] = 4;  // 32 bit and float
  for (const unsigned tag : {0xcb, 0xcf, 0xd3}) sizes[tag] = 8;  // 64 bit and double
  for (unsigned log = 0; log <= 4; ++log) sizes[0xd4 + log] = static_cast<std::uint8_t>(1 + (1u << log));  // fixext
  return sizes;
}();

inline unsigned tag_at(const std::byte* at) {
  return std::to_integer<unsigned>(*at);
}

inline std::uint64_t load_big_endian(const std::byte* from, unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value = value << 8 | std::to_integer<std::uint64_t>(from[i]);
  return value;
}

/// Walks values front to back without ever reading behind `end`. Declared lengths and counts are compared with
/// `cap` (bytes that one value may have), so a lie costs nothing. No recursion: nesting is a counter.
class Scanner {
 public:
  Scanner(const std::byte* at, const std::byte* end, std::uint64_t cap) : at_(at), end_(end), cap_(cap) {}

  [[nodiscard]] const std::byte* at() const { return at_; }
  [[nodiscard]] const char* reason() const { return reason_; }

  [[nodiscard]] Scan map_header(std::uint64_t& entries) {
    if (at_ == end_) return Scan::kShort;
    const unsigned tag = tag_at(at_);
    if ((tag & 0xf0) == 0x80) {
      entries = tag & 0x0f;
      ++at_;
      return Scan::kOk;
    }
    if (tag != 0xde && tag != 0xdf) return bad("is no map");
    if (const Scan read = length(tag == 0xde ? 2 : 4, entries); read != Scan::kOk) return read;
    return entries > cap_ / 2 ? bad("has more fields than an event may have bytes") : Scan::kOk;
  }

  [[nodiscard]] Scan string(std::string_view& text) {
    if (at_ == end_) return Scan::kShort;
    const unsigned tag = tag_at(at_);
    std::uint64_t size = tag & 0x1f;
    if ((tag & 0xe0) == 0xa0) {
      ++at_;
    } else if (tag >= 0xd9 && tag <= 0xdb) {
      if (const Scan read = length(1u << (tag - 0xd9), size); read != Scan::kOk) return read;
    } else {
      return bad("has a key that is no string");
    }
    const std::byte* begin = at_;
    if (const Scan read = pass(size); read != Scan::kOk) return read;
    text = {reinterpret_cast<const char*>(begin), static_cast<std::size_t>(size)};
    return Scan::kOk;
  }

  /// Passes one value of any type with all that is nested in it.
  [[nodiscard]] Scan skip() {
    if (at_ == end_) return Scan::kShort;
    const std::uint8_t bytes = kFixedBytes[tag_at(at_)];
    if (bytes == kVariable) return skip_nested();
    if (static_cast<std::size_t>(end_ - at_) <= bytes) return Scan::kShort;
    at_ += 1 + bytes;
    return Scan::kOk;
  }

 private:
  Scan bad(const char* reason) {
    reason_ = reason;
    return Scan::kBad;
  }
  /// The big-endian number behind the tag at `at_`; passes both.
  Scan length(unsigned bytes, std::uint64_t& value) {
    if (static_cast<std::size_t>(end_ - at_) <= bytes) return Scan::kShort;
    value = load_big_endian(at_ + 1, bytes);
    at_ += 1 + bytes;
    return Scan::kOk;
  }
  Scan pass(std::uint64_t bytes) {
    if (bytes > cap_) return bad("declares a length over the cap on an event's size");
    if (static_cast<std::uint64_t>(end_ - at_) < bytes) return Scan::kShort;
    at_ += bytes;
    return Scan::kOk;
  }
  Scan skip_nested();
  Scan skip_variable(unsigned tag, std::uint64_t& children);

  const std::byte* at_;
  const std::byte* end_;
  std::uint64_t cap_;
  const char* reason_ = "";
};

inline Scan Scanner::skip_nested() {
  std::uint64_t left = 1;  // values still to pass, nested ones included; each has at least one byte
  while (left > 0) {
    if (at_ == end_) return Scan::kShort;
    --left;
    const unsigned tag = tag_at(at_);
    const std::uint8_t bytes = kFixedBytes[tag];
    if (bytes != kVariable) {
      if (static_cast<std::size_t>(end_ - at_) <= bytes) return Scan::kShort;
      at_ += 1 + bytes;
      continue;
    }
    std::uint64_t children = 0;
    if (const Scan read = skip_variable(tag, children); read != Scan::kOk) return read;
    left += children;
    if (left > cap_) return bad("declares more elements than an event may have bytes");
  }
  return Scan::kOk;
}

inline Scan Scanner::skip_variable(unsigned tag, std::uint64_t& children) {
  if (tag == 0xc1) return bad("holds the byte c1, which MessagePack never uses");
  if (tag < 0xa0) {  // fixmap, fixarray
    children = tag < 0x90 ? 2 * (tag & 0x0f) : tag & 0x0f;
    ++at_;
    return Scan::kOk;
  }
  if (tag < 0xc0) {  // fixstr
    ++at_;
    return pass(tag & 0x1f);
  }
  std::uint64_t size = 0;
  if (tag >= 0xdc) {  // array 16, 32, map 16, 32
    const Scan read = length((tag & 1) == 0 ? 2 : 4, size);
    children = tag >= 0xde ? 2 * size : size;
    return read;
  }
  const bool extension = tag >= 0xc7 && tag <= 0xc9;
  const unsigned first = tag >= 0xd9 ? 0xd9 : extension ? 0xc7 : 0xc4;
  if (const Scan read = length(1u << (tag - first), size); read != Scan::kOk) return read;
  return pass(size + (extension ? 1 : 0));
}

// The functions below read values that Scanner has passed already: they are whole and well formed.

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
