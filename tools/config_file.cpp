#include "tools/config_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "tools/config_schema.h"
#include "tools/utf8.h"

namespace memtrack::tools {
namespace {

constexpr std::size_t kMaxFileBytes = 1u << 20;

Error invalid(std::string message) {
  return Error{.code = ErrorCode::kInvalidArgument, .message = std::move(message)};
}

std::string_view found_type(const toml::node& node) {
  if (node.is_boolean()) return "a boolean";
  if (node.is_integer()) return "an integer";
  if (node.is_floating_point()) return "a floating-point number";
  if (node.is_string()) return "a string";
  if (node.is_array()) return "an array";
  if (node.is_table()) return "a table";
  return "a date or time";
}

std::string_view expected_type(KeyType type) {
  switch (type) {
    case KeyType::kBoolean:
      return "true or false";
    case KeyType::kInteger:
      return "an integer";
    case KeyType::kSize:
      return "a size in quotes, for example \"256KiB\"";
    case KeyType::kDuration:
      return "a time in quotes, for example \"100ms\"";
    case KeyType::kChoice:
    case KeyType::kText:
      return "a string";
    case KeyType::kTextList:
      break;
  }
  return "an array of strings";
}

std::optional<std::vector<std::string>> text_list(const toml::node& node) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<std::string> items;
  for (const toml::node& item : *array) {
    const auto text = item.value_exact<std::string>();
    if (!text) return std::nullopt;
    items.push_back(*text);
  }
  return items;
}

// The value of a node of the right TOML type; the error is half a sentence.
std::expected<KeyValue, std::string> node_value(const Key& key, const toml::node& node) {
  if (key.type == KeyType::kBoolean) {
    if (const auto value = node.value_exact<bool>()) return KeyValue(*value);
  } else if (key.type == KeyType::kInteger) {
    if (const auto value = node.value_exact<std::int64_t>()) return KeyValue(*value);
  } else if (key.type == KeyType::kTextList) {
    if (auto value = text_list(node)) return KeyValue(*std::move(value));
  } else if (const auto value = node.value_exact<std::string>()) {
    return parse_value(key, *value);
  }
  return std::unexpected(fmt::format("must be {}, not {}", expected_type(key.type), found_type(node)));
}

// A string with a NUL inside can't be an argument, a path or a name.
bool holds_nul(const KeyValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return text->find('\0') != std::string::npos;
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& item : *list) {
      if (item.find('\0') != std::string::npos) return true;
    }
  }
  return false;
}

std::expected<void, std::string> store(const Key& key, const std::expected<KeyValue, std::string>& parsed,
                                       Config& config) {
  if (!parsed) return std::unexpected(parsed.error());
  const KeyValue& value = *parsed;
  if (holds_nul(value)) return std::unexpected(std::string("holds a NUL character"));
  if (key.dotted() == "source.kind" && std::get<std::string>(value) == "bpf") {
    return std::unexpected(std::string("\"bpf\" is not in this version; use \"preload\""));
  }
  if (auto checked = check_range(key, value); !checked) return checked;
  key.set(config, value);
  return {};
}

// Walks a document and keeps its first error: tables are sorted by name, so errors come in any order.
class Document {
 public:
  Document(const std::string& file, Config& config) : file_(file), config_(config) {}

  void visit(const toml::table& table, const std::string& section) {
    for (const auto& [name, node] : table) {
      const std::string dotted = section.empty() ? std::string(name.str()) : fmt::format("{}.{}", section, name.str());
      if (const Key* key = find_key(dotted)) {
        apply(*key, node);
      } else if (const toml::table* inner = node.as_table();
                 inner != nullptr && (!inner->empty() || is_section(dotted))) {
        visit(*inner, dotted);
      } else {
        report(name.source().begin,
               fmt::format("unknown key {}; the nearest valid key is {}", dotted, nearest_config_key(dotted)));
      }
    }
  }

  [[nodiscard]] Result<void> result() const {
    if (!first_) return {};
    return std::unexpected(invalid(first_->message));
  }

  void report(const toml::source_position& at, const std::string& sentence) {
    if (first_ && std::tie(first_->at.line, first_->at.column) <= std::tie(at.line, at.column)) return;
    first_ = Found{at, fmt::format("{}:{}:{}: {}", file_, at.line, at.column, sentence)};
  }

 private:
  struct Found {
    toml::source_position at;
    std::string message;
  };

  static bool is_section(std::string_view name) {
    for (const Key& key : config_keys()) {
      if (key.section == name || key.section.starts_with(std::string(name) + ".")) return true;
    }
    return false;
  }

  void apply(const Key& key, const toml::node& node) {
    const auto stored = store(key, node_value(key, node), config_);
    if (!stored) report(node.source().begin, fmt::format("{}: {}", key.dotted(), stored.error()));
  }

  const std::string& file_;
  Config& config_;
  std::optional<Found> first_;
};

Result<std::string> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
  if (file == nullptr) return std::unexpected(io_error("can't open the configuration file", path, errno));
  std::string text(kMaxFileBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return std::unexpected(io_error("can't read the configuration file", path, errno));
  if (text.size() > kMaxFileBytes) return std::unexpected(invalid(path + ": a configuration file has at most 1 MiB"));
  return text;
}

Result<void> check_utf8(const Key& key, const KeyValue& value) {
  bool valid = true;
  if (const auto* text = std::get_if<std::string>(&value)) valid = is_utf8(*text);
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& item : *list) valid = valid && is_utf8(item);
  }
  if (valid) return {};
  return std::unexpected(
      invalid(fmt::format("{} holds bytes that are no UTF-8, which TOML can't express", key.dotted())));
}

}  // namespace

Result<void> apply_toml(std::string_view document, const std::string& file, Config& config) {
  Document walk(file, config);
  try {
    walk.visit(toml::parse(document, file), "");
  } catch (const toml::parse_error& error) {
    walk.report(error.source().begin, fmt::format("not valid TOML: {}", error.description()));
  }
  return walk.result();
}

Result<void> apply_config_file(const std::string& path, Config& config) {
  const Result<std::string> text = read_file(path);
  if (!text) return std::unexpected(text.error());
  return apply_toml(*text, path, config);
}

Result<void> apply_flag(std::string_view flag, std::string_view dotted, std::string_view text, Config& config) {
  const Key* key = find_key(dotted);
  if (key == nullptr) {
    return std::unexpected(invalid(
        fmt::format("{}: unknown key {}; the nearest valid key is {}", flag, dotted, nearest_config_key(dotted))));
  }
  const auto stored = store(*key, parse_value(*key, text), config);
  if (!stored) return std::unexpected(invalid(fmt::format("{}: {}: {}", flag, dotted, stored.error())));
  return {};
}

Result<void> apply_assignment(std::string_view assignment, Config& config) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return std::unexpected(
        invalid(fmt::format("--set {}: write section.key=value, for example batch.events=1000", assignment)));
  }
  return apply_flag("--set", assignment.substr(0, equals), assignment.substr(equals + 1), config);
}

Result<std::string> print_config(const Config& config) {
  std::string out;
  std::string_view section;
  for (const Key& key : config_keys()) {
    const KeyValue value = key.get(config);
    if (auto valid = check_utf8(key, value); !valid) return std::unexpected(valid.error());
    if (key.section != section) {
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", key.section);
      section = key.section;
    }
    out += fmt::format("{} = {}\n", key.name, to_toml(key, value));
  }
  return out;
}

}  // namespace memtrack::tools
