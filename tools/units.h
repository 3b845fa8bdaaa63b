// Sizes and times as people write them: "256KiB", "100ms".
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace memtrack::tools {

/// Bytes of "0B", "4KiB", "1.5GiB", "10MB": a number, maybe a space, one of B KiB MiB GiB TiB KB MB GB TB.
/// The error is half a sentence: what is wrong and what would be right.
[[nodiscard]] std::expected<std::int64_t, std::string> parse_size(std::string_view text);

/// Nanoseconds of "100ms", "1.5s", "2min": a number, maybe a space, one of ns us ms s min h. Errors as above.
[[nodiscard]] std::expected<std::int64_t, std::string> parse_duration(std::string_view text);

/// The shortest exact text that parse_size and parse_duration read back. Precondition: not negative.
[[nodiscard]] std::string exact_size(std::int64_t bytes);
[[nodiscard]] std::string exact_duration(std::int64_t nanoseconds);

/// For people, rounded: "12.3 MiB", "3.21 s", "1,234,567".
[[nodiscard]] std::string human_size(std::uint64_t bytes);
[[nodiscard]] std::string human_duration(std::int64_t nanoseconds);
[[nodiscard]] std::string human_count(std::uint64_t count);
/// "1 event", "2 events".
[[nodiscard]] std::string human_count(std::uint64_t count, std::string_view noun);

}  // namespace memtrack::tools
