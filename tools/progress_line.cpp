#include "tools/progress_line.h"

#include <cstdio>

#include <fmt/format.h>

namespace memtrack::tools {
namespace {

// Back to the first column, then erase to the end of the line.
constexpr std::string_view kErase = "\r\x1b[K";

void put(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

}  // namespace

void ProgressLine::update(std::string_view text, Clock::time_point now) {
  if (!shown_) return;
  put(fmt::format("{}{}", kErase, text));
  visible_ = true;
  last_ = now;
}

void ProgressLine::clear() {
  if (visible_) put(kErase);
  visible_ = false;
}

}  // namespace memtrack::tools
