#include "tools/utf8.h"

#include <cstddef>
#include <cstdint>

namespace memtrack::tools {
namespace {

struct Form {
  std::size_t continuations;
  std::uint32_t bits;      // of the lead byte
  std::uint32_t smallest;  // code point that needs this form
};

bool read_form(unsigned char lead, Form& form) {
  if (lead < 0x80) {
    form = {0, lead, 0};
  } else if (lead >> 5 == 0x6) {
    form = {1, lead & 0x1Fu, 0x80};
  } else if (lead >> 4 == 0xE) {
    form = {2, lead & 0x0Fu, 0x800};
  } else if (lead >> 3 == 0x1E) {
    form = {3, lead & 0x07u, 0x10000};
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    Form form{};
    if (!read_form(static_cast<unsigned char>(bytes[i++]), form)) return false;
    if (bytes.size() - i < form.continuations) return false;
    std::uint32_t code_point = form.bits;
    for (std::size_t k = 0; k < form.continuations; ++k) {
      const auto byte = static_cast<unsigned char>(bytes[i++]);
      if (byte >> 6 != 0x2) return false;
      code_point = code_point << 6 | (byte & 0x3Fu);
    }
    const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
    if (code_point < form.smallest || code_point > 0x10FFFF || surrogate) return false;
  }
  return true;
}

}  // namespace memtrack::tools
