// Internal to codec: the byte images from an event's kind to its own fields, and which slot of a table has which.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "codec/event.h"
#include "codec/event_forms.h"
#include "codec/event_schema.h"

namespace memtrack::forms {

/// From the kind's name to the tag of `size`.
struct alignas(128) KindForm {
  Image<kBlockBytes> image;
  std::uint64_t meta = 0;  ///< the event's word with kind and flags
  std::uint64_t size_mask = 0;
  std::uint64_t old_addr_mask = 0;
  std::uint32_t own_fields = 0;  ///< kNoForm where there is none
};

constexpr std::uint32_t kNoForm = 0x100;  // more than a map header of one byte can say

constexpr std::size_t kOldAddrFieldBytes = 18;
constexpr std::size_t kOldAddrValueAt = 18;  // behind the beginning of "Realloc"
constexpr std::size_t kSizeKeyBytes = 5;
/// Bytes of all own keys and of old_addr's value, by the number of own fields (0, 1, 2): one byte each.
constexpr std::uint64_t kOwnKeyBytes = kSizeKeyBytes << 8 | (kSizeKeyBytes + kOldAddrFieldBytes) << 16;
constexpr unsigned kMetaFlagsShift = 8;

constexpr KindForm kind_form(EventKind kind, bool old_addr) {
  KindForm form;
  std::size_t at = form.image.put_string(0, schema::kKindNames[static_cast<std::size_t>(kind)]);
  if (old_addr) {
    at = form.image.put_string(at, schema::name(schema::Key::kOldAddr));
    form.image.put(at, 0xcf);
    at += 9;
    form.old_addr_mask = ~std::uint64_t{0};
  }
  const bool sized = kind != EventKind::kFree;
  if (sized) {
    form.image.put_string(at, schema::name(schema::Key::kSize));
    form.size_mask = ~std::uint64_t{0};
  }
  const unsigned flags = old_addr ? Event::kHasOldAddr : 0u;
  form.meta = static_cast<std::uint64_t>(kind) | std::uint64_t{flags} << kMetaFlagsShift;
  form.own_fields = (sized ? 1 : 0) + (old_addr ? 1 : 0);
  return form;
}

constexpr std::size_t kFormKinds = 8;
static_assert(static_cast<std::size_t>(EventKind::kBrk) == kFormKinds - 1);

/// A name's first four bytes and the number of own fields tell the forms apart.
constexpr unsigned kKindSlotBits = 5;
constexpr std::size_t kind_slot(std::uint32_t first_four_bytes, std::uint32_t own_fields, std::uint32_t multiplier) {
  return ((first_four_bytes + own_fields) * multiplier) >> (32 - kKindSlotBits);
}

using KindForms = std::array<KindForm, std::size_t{1} << kKindSlotBits>;

/// Places a form; false where its slot is taken.
constexpr bool place(KindForms& forms, const KindForm& form, std::uint32_t multiplier) {
  std::uint32_t word = 0;
  for (std::size_t i = 4; i > 0; --i) word = word << 8 | form.image.bytes[i - 1];
  KindForm& slot = forms[kind_slot(word, form.own_fields, multiplier)];
  if (slot.own_fields != kNoForm) return false;
  slot = form;
  return true;
}

constexpr KindForms place_all(std::uint32_t multiplier, bool& fits) {
  KindForms forms{};
  // Not by a default initialiser: g++ 12 forgets it for most elements of such an array in a constant expression.
  for (KindForm& form : forms) form.own_fields = kNoForm;
  fits = place(forms, kind_form(EventKind::kRealloc, true), multiplier);
  for (std::size_t kind = 0; kind < kFormKinds; ++kind) {
    fits = fits && place(forms, kind_form(static_cast<EventKind>(kind), false), multiplier);
  }
  return forms;
}

constexpr std::uint32_t kKindMultiplier = [] {
  std::uint32_t multiplier = 1;
  for (bool fits = false; !fits;) {
    multiplier = multiplier * 1664525 + 1013904223;
    place_all(multiplier, fits);
  }
  return multiplier;
}();

constexpr KindForms kKindForms = [] {
  bool fits = false;
  return place_all(kKindMultiplier, fits);
}();

}  // namespace memtrack::forms
