// Internal to codec: finds a short name of a fixed list by one look-up, without a chain of string compares.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace memtrack {

/// The names of `kCount` enumerators of `Enum`, in their order. Their first eight bytes must tell them apart: these are
/// hashed by a multiplier that is searched at compile time, so that no two names share a slot.
template <class Enum, std::size_t kCount>
class NameIndex {
 public:
  explicit consteval NameIndex(const std::array<std::string_view, kCount>& names) : names_(names) {
    do {
      multiplier_ = multiplier_ * 6364136223846793005u + 1442695040888963407u;
    } while (!fill());
  }

  /// `end` is the end of the bytes that `text` lies in: up to there they may be read.
  [[nodiscard]] std::optional<Enum> find(std::string_view text, const std::byte* end) const {
    if (text.empty()) return std::nullopt;
    const std::uint64_t head = load_head(text, end);
    const Slot& slot = slots_[slot_of(head)];
    if (slot.head != head || slot.size != text.size()) return std::nullopt;
    if (slot.size > kHeadBytes && text.substr(kHeadBytes) != names_[slot.name].substr(kHeadBytes)) return std::nullopt;
    return static_cast<Enum>(slot.name);
  }

 private:
  static_assert(std::endian::native == std::endian::little);
  static constexpr std::size_t kHeadBytes = 8;
  static constexpr unsigned kSlotBits = 6;

  struct Slot {
    std::uint64_t head = 0;
    std::uint32_t size = 0;  // 0: no name here; names are not empty
    std::uint8_t name = 0;
  };

  // Places all names; false where two meet.
  constexpr bool fill() {
    slots_ = {};
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::uint64_t head = constant_head(names_[i]);
      Slot& slot = slots_[slot_of(head)];
      if (slot.size != 0) return false;
      slot = {.head = head, .size = static_cast<std::uint32_t>(names_[i].size()), .name = static_cast<std::uint8_t>(i)};
    }
    return true;
  }
  [[nodiscard]] constexpr std::size_t slot_of(std::uint64_t head) const {
    return (head * multiplier_) >> (64 - kSlotBits);
  }
  static constexpr std::uint64_t constant_head(std::string_view text) {
    std::uint64_t head = 0;
    for (std::size_t i = std::min(text.size(), kHeadBytes); i > 0; --i) {
      head = head << 8 | static_cast<unsigned char>(text[i - 1]);
    }
    return head;
  }
  static std::uint64_t load_head(std::string_view text, const std::byte* end) {
    const auto readable = end - reinterpret_cast<const std::byte*>(text.data());
    if (readable < static_cast<std::ptrdiff_t>(kHeadBytes)) [[unlikely]]
      return constant_head(text);
    std::uint64_t head = 0;
    std::memcpy(&head, text.data(), kHeadBytes);
    const std::size_t unused_bits = 8 * (kHeadBytes - std::min(text.size(), kHeadBytes));
    return head << unused_bits >> unused_bits;
  }

  std::array<std::string_view, kCount> names_;
  std::array<Slot, std::size_t{1} << kSlotBits> slots_{};
  std::uint64_t multiplier_ = 1;
};

}  // namespace memtrack
