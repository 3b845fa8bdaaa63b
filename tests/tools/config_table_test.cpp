#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tools/config_file.h"
#include "tools/config_schema.h"

namespace {

using namespace memtrack;
using namespace memtrack::tools;

const std::filesystem::path kConfigs = MEMTRACK_CONFIGS_DIR;

std::vector<std::string> table_rows() {
  std::ifstream file(kConfigs / "README.md");
  REQUIRE(file.good());
  std::vector<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `")) rows.push_back(line);
  }
  return rows;
}

std::string expected_row(const Key& key) {
  std::ostringstream row;
  row << "| `" << key.dotted() << "` | " << type_name(key.type) << " | " << unit_text(key) << " | " << range_text(key)
      << " | `" << to_toml(key, key.get(Config{})) << "` | " << key.description << " |";
  return row.str();
}

TEST_CASE("the table in configs/README.md has a row for every key of the code, in its order, and no other") {
  std::vector<std::string> expected;
  for (const Key& key : config_keys()) expected.push_back(expected_row(key));
  const std::vector<std::string> rows = table_rows();
  for (std::size_t i = 0; i < std::min(rows.size(), expected.size()); ++i) CHECK(rows[i] == expected[i]);
  CHECK(rows.size() == expected.size());
}

TEST_CASE("every key has a name of its own, a description and a default in its range") {
  for (const Key& key : config_keys()) {
    INFO(key.dotted());
    CHECK(find_key(key.dotted()) == &key);
    CHECK_FALSE(key.description.empty());
    CHECK(check_range(key, key.get(Config{})).has_value());
  }
}

TEST_CASE("every ready configuration is valid and named in the README") {
  std::ifstream readme(kConfigs / "README.md");
  const std::string text((std::istreambuf_iterator<char>(readme)), std::istreambuf_iterator<char>());
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs)) {
    if (entry.path().extension() != ".toml") continue;
    ++files;
    INFO(entry.path().string());
    Config config;
    const Result<void> applied = apply_config_file(entry.path().string(), config);
    INFO((applied ? std::string() : to_string(applied.error())));
    CHECK(applied.has_value());
    CHECK(text.find(entry.path().filename().string()) != std::string::npos);
  }
  CHECK(files >= 4);
}

}  // namespace
