#include "tools/log.h"

#include <memory>

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace memtrack::tools {
namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made =
        std::make_shared<spdlog::logger>("memtrack-pipeline", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%n: %v");
    made->set_level(spdlog::level::info);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kDebug:
      break;
  }
  return spdlog::level::debug;
}

void say(spdlog::level::level_enum level, std::string_view text) {
  const std::string line = printable(text);
  logger().log(level, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace

void set_log_level(LogLevel level) {
  logger().set_level(spdlog_level(level));
}

void say_error(std::string_view text) {
  say(spdlog::level::err, text);
}
void say_warning(std::string_view text) {
  say(spdlog::level::warn, text);
}
void say_info(std::string_view text) {
  say(spdlog::level::info, text);
}
void say_debug(std::string_view text) {
  say(spdlog::level::debug, text);
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace memtrack::tools
