// ProcessProbe: what the tracker asks the kernel about processes, so that tests can answer instead.
#pragma once

#include <cstdint>
#include <functional>
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
  /// All its threads have ended, as far as is known: cheap, and maybe a moment late. What was true when the watch was
  /// made is known.
  [[nodiscard]] virtual bool ended() const = 0;
  /// The same, exactly.
  [[nodiscard]] virtual bool ended_now() const = 0;
};

class ProcessProbe {
 public:
  virtual ~ProcessProbe() = default;
  /// Null where no such process lives.
  [[nodiscard]] virtual std::unique_ptr<ProcessWatch> watch(std::int32_t pid) = 0;
  [[nodiscard]] virtual bool thread_exists(std::int32_t pid, std::int32_t tid) = 0;
  [[nodiscard]] virtual std::optional<std::vector<pipeline::FileMapping>> mappings(std::int32_t pid) = 0;
  [[nodiscard]] virtual std::optional<pipeline::ResidentMemory> resident(std::int32_t pid) = 0;
  /// The live processes that were started with this variable ("NAME=value"), as far as this user may look.
  [[nodiscard]] virtual std::vector<std::int32_t> members(const std::string& variable) = 0;
  /// Its command name; empty where it is gone.
  [[nodiscard]] virtual std::string name(std::int32_t pid) = 0;
};

/// The real one. `on_exit` is called, from another thread, when a watched process has ended; not after the probe's
/// destruction, which must come after that of all its watches.
[[nodiscard]] std::unique_ptr<ProcessProbe> make_process_probe(std::function<void()> on_exit);

}  // namespace memtrack::preload
