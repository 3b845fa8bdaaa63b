// Blocking push and pop on top of a BoundedQueue's bells, for tests with real threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "pipeline/bounded_queue.h"

namespace memtrack::pipeline {

/// Counts rings; one waiter. A std::counting_semaphore would yield the processor again and again before it sleeps,
/// which takes minutes on a busy machine.
class Rings {
 public:
  void release() {
    const std::scoped_lock lock(mutex_);
    ++count_;
    changed_.notify_one();
  }
  void acquire() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return count_ > 0; });
    --count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t count_ = 0;
};

/// A producer that sleeps while the queue is full. A lost wake-up would hang it for ever.
template <class T>
class WaitingProducer {
 public:
  explicit WaitingProducer(BoundedQueue<T>& queue) : producer_(queue) {
    producer_.on_room([bell = bell_] { bell->release(); });
  }
  /// False where the queue is closed.
  bool push(T& item, std::uint64_t bytes) {
    for (;;) {
      switch (producer_.try_push(item, bytes)) {
        case BoundedQueue<T>::Push::kAccepted:
          return true;
        case BoundedQueue<T>::Push::kClosed:
          return false;
        case BoundedQueue<T>::Push::kFull:
          if (producer_.await_room()) bell_->acquire();
      }
    }
  }

 private:
  std::shared_ptr<Rings> bell_ = std::make_shared<Rings>();
  typename BoundedQueue<T>::Producer producer_;
};

/// A consumer that sleeps while the queue is empty.
template <class T>
class WaitingConsumer {
 public:
  explicit WaitingConsumer(BoundedQueue<T>& queue) : consumer_(queue) {
    consumer_.on_work([bell = bell_] { bell->release(); });
  }
  /// False where the queue is drained.
  bool pop(T& item) {
    for (;;) {
      switch (consumer_.try_pop(item)) {
        case BoundedQueue<T>::Pop::kItem:
          return true;
        case BoundedQueue<T>::Pop::kDrained:
          return false;
        case BoundedQueue<T>::Pop::kEmpty:
          if (consumer_.await_work()) bell_->acquire();
      }
    }
  }

 private:
  std::shared_ptr<Rings> bell_ = std::make_shared<Rings>();
  typename BoundedQueue<T>::Consumer consumer_;
};

}  // namespace memtrack::pipeline
