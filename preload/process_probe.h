// ProcessProbe: what the tracker asks the kernel about processes, so that tests can answer instead.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/process/proc_maps.h"

namespace memtrack::preload {

/// Stands for one process, whatever becomes of its number.
class ProcessWatch {
 public:
  virtual ~ProcessWatch() = default;
  /// All its threads have ended.
  [[nodiscard]] virtual bool ended() const = 0;
};

class ProcessProbe {
 public:
  virtual ~ProcessProbe() = default;
  /// Null where no such process lives.
  [[nodiscard]] virtual std::unique_ptr<ProcessWatch> watch(std::int32_t pid) = 0;
  [[nodiscard]] virtual bool thread_exists(std::int32_t pid, std::int32_t tid) = 0;
  [[nodiscard]] virtual std::optional<std::vector<pipeline::FileMapping>> mappings(std::int32_t pid) = 0;
  [[nodiscard]] virtual std::optional<pipeline::ResidentMemory> resident(std::int32_t pid) = 0;
  /// Its command name; empty where it is gone.
  [[nodiscard]] virtual std::string name(std::int32_t pid) = 0;
};

/// The real one.
[[nodiscard]] std::unique_ptr<ProcessProbe> make_process_probe();

}  // namespace memtrack::preload
