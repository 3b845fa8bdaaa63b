// What an executable file is (elfutils lives here and nowhere else).
#pragma once

#include <string>

#include "codec/error.h"

namespace memtrack::pipeline {

struct ElfImage {
  bool is_64bit = false;
  std::uint16_t machine = 0;     ///< EM_*
  std::string interpreter = {};  ///< PT_INTERP; empty: static
};

/// Reads the headers of an ELF file. kInvalidArgument where it is none.
[[nodiscard]] Result<ElfImage> read_elf_image(const std::string& path);

}  // namespace memtrack::pipeline
