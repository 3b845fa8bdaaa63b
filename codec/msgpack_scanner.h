// Internal to codec: reads MessagePack out of bytes that may be anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "codec/msgpack_value.h"

namespace memtrack::msgpack {

enum class Scan : std::uint8_t {
  kOk,
  kShort,  ///< the bytes end inside the value
  kBad,    ///< no value at all, or one over the cap
};

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

}  // namespace memtrack::msgpack
