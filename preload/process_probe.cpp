#include "preload/process_probe.h"

#include <unistd.h>
#include <utility>

#include "pipeline/process/process_handle.h"

namespace memtrack::preload {
namespace {

class HandleWatch final : public ProcessWatch {
 public:
  explicit HandleWatch(pipeline::ProcessHandle handle) : handle_(std::move(handle)) {}
  [[nodiscard]] bool ended() const override { return handle_.ended(); }

 private:
  pipeline::ProcessHandle handle_;
};

class KernelProbe final : public ProcessProbe {
 public:
  std::unique_ptr<ProcessWatch> watch(std::int32_t pid) override {
    auto handle = pipeline::ProcessHandle::open(pid);
    if (!handle) return nullptr;
    return std::make_unique<HandleWatch>(std::move(*handle));
  }
  bool thread_exists(std::int32_t pid, std::int32_t tid) override {
    const std::string path = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid);
    return ::access(path.c_str(), F_OK) == 0;
  }
  std::optional<std::vector<pipeline::FileMapping>> mappings(std::int32_t pid) override {
    return pipeline::read_executable_mappings(pid);
  }
  std::optional<pipeline::ResidentMemory> resident(std::int32_t pid) override {
    return pipeline::read_resident_memory(pid);
  }
  std::string name(std::int32_t pid) override {
    auto status = pipeline::read_process_status(pid);
    return status ? std::move(status->name) : std::string();
  }
};

}  // namespace

std::unique_ptr<ProcessProbe> make_process_probe() {
  return std::make_unique<KernelProbe>();
}

}  // namespace memtrack::preload
