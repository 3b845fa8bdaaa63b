// ExitWatcher: tells at once when a process ends, so that nobody has to look.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace memtrack::preload {

/// A thread that sleeps on pidfds.
///
/// Promises: once a watched process has ended, its flag becomes true and then `wake` is called (from that thread).
/// Threads: one calls watch(), any may call forget(). The first watch() starts the thread. Bounds: an entry a watched
/// process; the thread sleeps without limit. Failure: where the system gives no epoll or no thread, works() is false,
/// and whoever wants to know must look. Destruction stops and joins the thread.
class ExitWatcher {
 public:
  using Flag = std::shared_ptr<const std::atomic<bool>>;
  struct Ticket {
    std::uint64_t id = 0;
    Flag ended;  ///< null: not watched
  };

  explicit ExitWatcher(std::function<void()> wake);
  ExitWatcher(const ExitWatcher&) = delete;
  ExitWatcher& operator=(const ExitWatcher&) = delete;
  ~ExitWatcher();

  [[nodiscard]] bool works() const { return works_; }
  /// `pidfd` stays the caller's, who closes it after forget().
  [[nodiscard]] Ticket watch(int pidfd);
  void forget(std::uint64_t id);

 private:
  void start();
  void run();
  void note_end(std::uint64_t id);

  std::function<void()> wake_;
  int epoll_ = -1;
  int stop_ = -1;  // an eventfd
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<std::atomic<bool>>> flags_;  // of those that live; by mutex_
  std::uint64_t last_id_ = 0;                                                    // by mutex_; 0 is stop_
  bool works_ = false;
  std::thread thread_;
};

}  // namespace memtrack::preload
