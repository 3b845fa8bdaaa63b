#include "tools/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

namespace memtrack::tools {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

constexpr std::int64_t kKi = 1024;
constexpr std::int64_t kK = 1000;

// Exact printing takes the first unit that divides the value, so larger and binary units come first.
constexpr std::array kSizeUnits{
    Unit{"TiB", kKi* kKi* kKi* kKi}, Unit{"GiB", kKi* kKi* kKi}, Unit{"MiB", kKi* kKi}, Unit{"KiB", kKi}, Unit{"B", 1},
    Unit{"TB", kK* kK* kK* kK},      Unit{"GB", kK* kK* kK},     Unit{"MB", kK* kK},    Unit{"KB", kK},
};
constexpr std::array kDurationUnits{
    Unit{"h", 3600 * kK* kK* kK},
    Unit{"min", 60 * kK* kK* kK},
    Unit{"s", kK* kK* kK},
    Unit{"ms", kK* kK},
    Unit{"us", kK},
    Unit{"ns", 1},
};

struct Format {
  std::span<const Unit> units;
  std::string_view what;     // "size"
  std::string_view example;  // "256KiB"
  std::string_view names;    // in the order people expect
};
constexpr Format kSize{kSizeUnits, "size", "256KiB", "B, KiB, MiB, GiB, TiB, KB, MB, GB, TB"};
constexpr Format kDuration{kDurationUnits, "time", "100ms", "ns, us, ms, s, min, h"};

std::expected<std::int64_t, std::string> scale(double number, const Unit& unit, std::string_view text) {
  const double scaled = number * static_cast<double>(unit.factor);
  if (scaled >= static_cast<double>(std::numeric_limits<std::int64_t>::max())) {
    return std::unexpected(fmt::format("\"{}\" is too large", text));
  }
  // Decimal fractions are not exact in binary: 1.1 s is a whole number of nanoseconds all the same.
  const double nearest = std::round(scaled);
  if (std::abs(scaled - nearest) > 1e-12 * scaled) {
    return std::unexpected(fmt::format("\"{}\" is not a whole number of the smallest unit", text));
  }
  return static_cast<std::int64_t>(nearest);
}

std::expected<std::int64_t, std::string> parse(std::string_view text, const Format& format) {
  const std::size_t digits_end = text.find_first_not_of("0123456789.");
  const std::string_view digits = text.substr(0, digits_end);
  std::string_view unit_name = digits_end == std::string_view::npos ? "" : text.substr(digits_end);
  if (unit_name.starts_with(' ')) unit_name.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) {
    return std::unexpected(fmt::format("\"{}\" is no {}; write a number and a unit, for example \"{}\"", text,
                                       format.what, format.example));
  }
  if (unit_name.empty()) {
    return std::unexpected(
        fmt::format("\"{}\" has no unit; write one of {}, for example \"{}\"", text, format.names, format.example));
  }
  for (const Unit& unit : format.units) {
    if (unit.name == unit_name) return scale(number, unit, text);
  }
  return std::unexpected(fmt::format("\"{}\" has the unknown unit \"{}\"; a {} has one of {}", text, unit_name,
                                     format.what, format.names));
}

std::string exact(std::int64_t value, const Format& format, std::string_view smallest) {
  if (value == 0) return fmt::format("0{}", smallest);
  for (const Unit& unit : format.units) {
    if (value % unit.factor == 0) return fmt::format("{}{}", value / unit.factor, unit.name);
  }
  return fmt::format("{}{}", value, smallest);
}

}  // namespace

std::expected<std::int64_t, std::string> parse_size(std::string_view text) {
  return parse(text, kSize);
}
std::expected<std::int64_t, std::string> parse_duration(std::string_view text) {
  return parse(text, kDuration);
}

std::string exact_size(std::int64_t bytes) {
  return exact(bytes, kSize, "B");
}
std::string exact_duration(std::int64_t nanoseconds) {
  return exact(nanoseconds, kDuration, "s");
}

std::string human_size(std::uint64_t bytes) {
  constexpr std::array kNames{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kNames[unit]);
}

std::string human_duration(std::int64_t nanoseconds) {
  const double seconds = static_cast<double>(nanoseconds) / 1e9;
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 100) return fmt::format("{:.2f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string human_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string human_count(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", human_count(count), noun, count == 1 ? "" : "s");
}

}  // namespace memtrack::tools
