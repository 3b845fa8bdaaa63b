#include "preload/process_probe.h"

#include <unistd.h>
#include <utility>

#include "pipeline/process/process_handle.h"
#include "preload/exit_watcher.h"

namespace memtrack::preload {
namespace {

class HandleWatch final : public ProcessWatch {
 public:
  HandleWatch(pipeline::ProcessHandle handle, ExitWatcher& watcher)
      : handle_(std::move(handle)), watcher_(watcher), ticket_(watcher.watch(handle_.fd())) {
    ended_at_once_ = handle_.ended();
  }
  ~HandleWatch() override { watcher_.forget(ticket_.id); }
  [[nodiscard]] bool ended() const override {
    return ended_at_once_ || (ticket_.ended ? ticket_.ended->load(std::memory_order_seq_cst) : handle_.ended());
  }
  [[nodiscard]] bool ended_now() const override { return handle_.ended(); }

 private:
  pipeline::ProcessHandle handle_;
  ExitWatcher& watcher_;
  ExitWatcher::Ticket ticket_;
  bool ended_at_once_ = false;
};

class KernelProbe final : public ProcessProbe {
 public:
  explicit KernelProbe(std::function<void()> on_exit) : watcher_(std::move(on_exit)) {}
  std::unique_ptr<ProcessWatch> watch(std::int32_t pid) override {
    auto handle = pipeline::ProcessHandle::open(pid);
    if (!handle) return nullptr;
    return std::make_unique<HandleWatch>(std::move(*handle), watcher_);
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
  std::vector<std::int32_t> members(const std::string& variable) override {
    return pipeline::find_processes_with(variable);
  }
  std::string name(std::int32_t pid) override {
    auto status = pipeline::read_process_status(pid);
    return status ? std::move(status->name) : std::string();
  }

 private:
  ExitWatcher watcher_;
};

}  // namespace

std::unique_ptr<ProcessProbe> make_process_probe(std::function<void()> on_exit) {
  return std::make_unique<KernelProbe>(std::move(on_exit));
}

}  // namespace memtrack::preload
