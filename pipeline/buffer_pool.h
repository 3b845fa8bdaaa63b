// BufferPool: objects with memory worth keeping go round instead of being freed.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace memtrack::pipeline {

/// A shared handle to a pooled T. Copies count; when the last one goes, the object is cleared and returns to its
/// pool. Copying and dropping handles is safe from any thread; the T itself is used by one thread at a time, or by
/// many that only read.
template <class T>
class Pooled;

/// Hands out T objects (which have `void clear()`), reuses the ones that come back.
///
/// Promises: no allocation where an idle object is there; take() always succeeds (bounds come from the queues and
/// the sequence window, so the number in flight is bounded by them); at most `max_idle` objects are kept, others freed.
/// Ownership: handles keep the pool's core alive, so the pool may go before its last handle.
/// Threads: any; a short mutex once a batch, never once an event.
template <class T>
class BufferPool {
 public:
  BufferPool(std::size_t max_idle, std::function<std::unique_ptr<T>()> make);
  [[nodiscard]] Pooled<T> take();
  /// Objects in use and idle, for tests and `stats`.
  [[nodiscard]] std::size_t in_use() const;
  [[nodiscard]] std::size_t idle() const;

 private:
  friend class Pooled<T>;
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace memtrack::pipeline
