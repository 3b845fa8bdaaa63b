// The one table of every configuration key; parsing, printing, checking and suggesting all derive from it.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tools/config.h"

namespace memtrack::tools {

enum class KeyType { kBoolean, kInteger, kSize, kDuration, kChoice, kText, kTextList };

/// Sizes are bytes and times are nanoseconds here; choices are their names.
using KeyValue = std::variant<bool, std::int64_t, std::string, std::vector<std::string>>;

struct Key {
  std::string_view section;  ///< "source.preload"
  std::string_view name;     ///< "ring_size"
  KeyType type;
  std::int64_t minimum = 0;  ///< integers, sizes, times
  std::int64_t maximum = 0;
  bool power_of_two = false;
  std::vector<std::string_view> choices = {};  ///< kChoice
  std::string_view unit = {};                  ///< kInteger: what is counted
  std::string_view description = {};           ///< one sentence without its full stop
  std::function<KeyValue(const Config&)> get = {};
  std::function<void(Config&, const KeyValue&)> set =
      {};  ///< Precondition: check() passed and the value has the key's type

  [[nodiscard]] std::string dotted() const;
};

/// All keys, in the order in which --print-config and configs/README.md show them: a section's keys are together.
[[nodiscard]] std::span<const Key> config_keys();
/// The key of a dotted name, or null.
[[nodiscard]] const Key* find_key(std::string_view dotted);
/// The valid key nearest to a wrong one.
[[nodiscard]] std::string_view nearest_config_key(std::string_view wrong);

/// A value of the right type is in the key's range; else half a sentence that says what is allowed.
[[nodiscard]] std::expected<void, std::string> check_range(const Key& key, const KeyValue& value);
/// The value that `text` (of a flag) stands for, its type checked, its range not.
[[nodiscard]] std::expected<KeyValue, std::string> parse_value(const Key& key, std::string_view text);

/// "true", 65536, "256KiB", ["ls", "-l"]: as TOML. Precondition: strings are UTF-8.
[[nodiscard]] std::string to_toml(const Key& key, const KeyValue& value);
/// "boolean", "size", ...
[[nodiscard]] std::string_view type_name(KeyType type);
/// What a value is counted in: "bytes" with a unit in the text, "events"; "-" where nothing is counted.
[[nodiscard]] std::string_view unit_text(const Key& key);
/// What configs/README.md says about allowed values, e.g. "4KiB to 1GiB, a power of two".
[[nodiscard]] std::string range_text(const Key& key);

}  // namespace memtrack::tools
