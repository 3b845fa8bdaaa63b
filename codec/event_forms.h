// Internal to codec: the byte images that events have when they are written in key order, for comparing whole blocks of
// bytes at once. Everything here is made at compile time from event_schema.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "codec/event.h"
#include "codec/event_schema.h"

namespace memtrack::forms {

constexpr std::size_t kBlockBytes = 32;

/// Bytes to compare with, and which bits of them count.
template <std::size_t kBytes>
struct Image {
  alignas(kBlockBytes) std::array<std::uint8_t, kBytes> bytes{};
  alignas(kBlockBytes) std::array<std::uint8_t, kBytes> mask{};

  constexpr void put(std::size_t at, unsigned byte, unsigned bits = 0xff) {
    bytes[at] = static_cast<std::uint8_t>(byte);
    mask[at] = static_cast<std::uint8_t>(bits);
  }
  /// Puts a short string and returns where it ends.
  constexpr std::size_t put_string(std::size_t at, std::string_view text) {
    put(at++, static_cast<unsigned>(0xa0 + text.size()));
    for (const char c : text) put(at++, static_cast<unsigned char>(c));
    return at;
  }
};

/// How an unsigned integer is written: its width, by the tag.
enum class Width : std::uint8_t { kTag, k8, k16, k32, k64, kNone };

constexpr Width width_of(unsigned tag) {
  return tag <= 0x7f ? Width::kTag : tag >= 0xcc && tag <= 0xcf ? static_cast<Width>(1 + tag - 0xcc) : Width::kNone;
}
constexpr unsigned value_bytes(Width width) {
  return width == Width::kTag ? 1 : 1u << (static_cast<unsigned>(width) - 1);
}

/// How to read an integer whose tag is at some place: big-endian word at tag + `skip`, shifted right by `shift`.
struct IntForm {
  std::uint8_t bytes = 0;  ///< of tag and value; 0: no unsigned integer
  std::uint8_t skip = 0;
  std::uint8_t shift = 0;
  std::uint8_t unused = 0;
};

constexpr IntForm int_form(Width width) {
  if (width == Width::kNone) return {};
  const std::uint8_t skip = width == Width::kTag ? 0 : 1;
  const unsigned bytes = value_bytes(width);
  return {.bytes = static_cast<std::uint8_t>(skip + bytes),
          .skip = skip,
          .shift = static_cast<std::uint8_t>(64 - 8 * bytes)};
}

/// By the tag; first row: where an event has no such integer, and any byte stands there.
constexpr std::array<std::array<IntForm, 256>, 2> kIntForms = [] {
  std::array<std::array<IntForm, 256>, 2> made{};
  for (unsigned tag = 0; tag < 256; ++tag) made[1][tag] = int_form(width_of(tag));
  return made;
}();

/// Map header (not compared: it depends on what follows) to the value of "addr", for one choice of integer widths; then
/// the key "type", where no stack_hash may come before it.
struct CommonForm {
  Image<2 * kBlockBytes> image;
  // Where a word is loaded, counted from the map header, and how far it is shifted right.
  std::uint8_t pid_at = 0;
  std::uint8_t pid_shift = 0;
  std::uint8_t tid_at = 0;
  std::uint8_t tid_shift = 0;
  std::uint8_t timestamp_at = 0;
  std::uint8_t addr_at = 0;
  std::uint8_t addr_shift = 0;
  std::uint8_t end = 0;  ///< of the value of "addr"

  /// Puts key and tag at `at`; returns where the value's word is to be loaded.
  constexpr std::size_t put_field(std::size_t& at, schema::Key key, Width width, bool is_signed) {
    at = image.put_string(at, schema::name(key));
    const IntForm form = int_form(width);
    const std::size_t value = at + form.skip;
    if (width == Width::kTag) {
      image.put(at, 0, 0x80);
    } else {
      image.put(at, 0xcb + static_cast<unsigned>(width));
      // A signed field of 32 bits must not have the sign's bit set in the unsigned form.
      if (width == Width::k32 && is_signed) image.put(value, 0, 0x80);
    }
    at += form.bytes;
    return value;
  }
};

constexpr CommonForm common_form(Width pid, Width tid, Width addr, bool maybe_hash) {
  CommonForm form;
  std::size_t at = 1;
  form.pid_at = static_cast<std::uint8_t>(form.put_field(at, schema::Key::kPid, pid, true));
  form.pid_shift = int_form(pid).shift;
  form.tid_at = static_cast<std::uint8_t>(form.put_field(at, schema::Key::kTid, tid, true));
  form.tid_shift = int_form(tid).shift;
  form.timestamp_at = static_cast<std::uint8_t>(form.put_field(at, schema::Key::kTimestamp, Width::k64, false));
  form.addr_at = static_cast<std::uint8_t>(form.put_field(at, schema::Key::kAddr, addr, false));
  form.addr_shift = int_form(addr).shift;
  form.end = static_cast<std::uint8_t>(at);
  if (!maybe_hash) form.image.put_string(at, schema::name(schema::Key::kType));
  return form;
}

constexpr std::size_t kIdWidths = 4;  // up to 32 bits
constexpr std::size_t kAddrWidths = 5;

template <bool kMaybeHash>
constexpr auto kCommonForms = [] {
  std::array<CommonForm, kIdWidths * kIdWidths * kAddrWidths> made{};
  std::size_t i = 0;
  for (std::size_t pid = 0; pid < kIdWidths; ++pid) {
    for (std::size_t tid = 0; tid < kIdWidths; ++tid) {
      for (std::size_t addr = 0; addr < kAddrWidths; ++addr) {
        made[i++] = common_form(static_cast<Width>(pid), static_cast<Width>(tid), static_cast<Width>(addr), kMaybeHash);
      }
    }
  }
  return made;
}();

/// What stands between the value of "addr" and the kind's name: [stack_hash,] the key "type".
constexpr std::size_t kTypeKeyBytes = 5;
constexpr std::size_t kHashFieldBytes = 20;
constexpr std::size_t kHashValueAt = 12;
constexpr std::array<Image<kBlockBytes>, 2> kTypeForms = [] {
  std::array<Image<kBlockBytes>, 2> made{};
  made[0].put_string(0, schema::name(schema::Key::kType));
  const std::size_t tag = made[1].put_string(0, schema::name(schema::Key::kStackHash));
  made[1].put(tag, 0xcf);
  made[1].put_string(tag + 9, schema::name(schema::Key::kType));
  return made;
}();

}  // namespace memtrack::forms
