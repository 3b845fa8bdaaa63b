#include "tools/config_schema.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/nearest_key.h"
#include "tools/units.h"

namespace memtrack::tools {
namespace {

std::string number_text(const Key& key, std::int64_t value) {
  if (key.type == KeyType::kSize) return exact_size(value);
  if (key.type == KeyType::kDuration) return exact_duration(value);
  return std::to_string(value);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::expected<KeyValue, std::string> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::unexpected(fmt::format("\"{}\" is no integer", text));
  }
  return KeyValue(value);
}

std::expected<KeyValue, std::string> as_value(std::expected<std::int64_t, std::string> number) {
  if (!number) return std::unexpected(std::move(number.error()));
  return KeyValue(*number);
}

std::expected<KeyValue, std::string> parse_boolean(std::string_view text) {
  if (text == "true") return KeyValue(true);
  if (text == "false") return KeyValue(false);
  return std::unexpected(fmt::format("\"{}\" is no boolean; write true or false", text));
}

}  // namespace

std::string Key::dotted() const {
  return fmt::format("{}.{}", section, name);
}

const Key* find_key(std::string_view dotted) {
  for (const Key& key : config_keys()) {
    if (key.dotted() == dotted) return &key;
  }
  return nullptr;
}

std::string_view nearest_config_key(std::string_view wrong) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Key& key : config_keys()) all.push_back(key.dotted());
    return all;
  }();
  const std::vector<std::string_view> views(names.begin(), names.end());
  return nearest_key(wrong, views);
}

std::expected<void, std::string> check_range(const Key& key, const KeyValue& value) {
  if (key.type == KeyType::kChoice) {
    const std::string& name = std::get<std::string>(value);
    if (std::ranges::find(key.choices, name) != key.choices.end()) return {};
    return std::unexpected(fmt::format("{} is not one of {}", quoted(name), range_text(key)));
  }
  const auto* number = std::get_if<std::int64_t>(&value);
  if (number == nullptr) return {};
  const bool power_of_two =
      !key.power_of_two || (*number > 0 && std::has_single_bit(static_cast<std::uint64_t>(*number)));
  if (*number >= key.minimum && *number <= key.maximum && power_of_two) return {};
  return std::unexpected(fmt::format("{} is out of range; allowed is {}", number_text(key, *number), range_text(key)));
}

std::expected<KeyValue, std::string> parse_value(const Key& key, std::string_view text) {
  switch (key.type) {
    case KeyType::kBoolean:
      return parse_boolean(text);
    case KeyType::kInteger:
      return parse_integer(text);
    case KeyType::kSize:
      return as_value(parse_size(text));
    case KeyType::kDuration:
      return as_value(parse_duration(text));
    case KeyType::kChoice:
    case KeyType::kText:
      return KeyValue(std::string(text));
    case KeyType::kTextList:
      break;
  }
  return std::unexpected(std::string("a list can't be set by a flag; put the command behind --"));
}

std::string to_toml(const Key& key, const KeyValue& value) {
  switch (key.type) {
    case KeyType::kBoolean:
      return std::get<bool>(value) ? "true" : "false";
    case KeyType::kInteger:
      return std::to_string(std::get<std::int64_t>(value));
    case KeyType::kSize:
    case KeyType::kDuration:
      return quoted(number_text(key, std::get<std::int64_t>(value)));
    case KeyType::kChoice:
    case KeyType::kText:
      return quoted(std::get<std::string>(value));
    case KeyType::kTextList:
      break;
  }
  std::vector<std::string> items;
  for (const std::string& item : std::get<std::vector<std::string>>(value)) items.push_back(quoted(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string_view type_name(KeyType type) {
  switch (type) {
    case KeyType::kBoolean:
      return "boolean";
    case KeyType::kInteger:
      return "integer";
    case KeyType::kSize:
      return "size";
    case KeyType::kDuration:
      return "time";
    case KeyType::kChoice:
      return "choice";
    case KeyType::kText:
      return "text";
    case KeyType::kTextList:
      break;
  }
  return "list of texts";
}

std::string_view unit_text(const Key& key) {
  if (key.type == KeyType::kSize) return "B, KiB, MiB, GiB";
  if (key.type == KeyType::kDuration) return "us, ms, s, min";
  return key.unit.empty() ? "-" : key.unit;
}

std::string range_text(const Key& key) {
  switch (key.type) {
    case KeyType::kBoolean:
      return "true, false";
    case KeyType::kInteger:
    case KeyType::kSize:
    case KeyType::kDuration:
      return fmt::format("{} to {}{}", number_text(key, key.minimum), number_text(key, key.maximum),
                         key.power_of_two ? ", a power of two" : "");
    case KeyType::kChoice: {
      std::vector<std::string> names;
      for (const std::string_view name : key.choices) names.push_back(quoted(name));
      return fmt::format("{}", fmt::join(names, ", "));
    }
    case KeyType::kText:
    case KeyType::kTextList:
      break;
  }
  return "any";
}

}  // namespace memtrack::tools
