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

template <class T>
class BufferPool;

namespace internal {

template <class T>
struct PoolCore;

/// One pooled object and the count of its handles.
template <class T>
struct PoolNode {
  std::unique_ptr<T> object;
  std::atomic<std::size_t> handles{0};
  std::shared_ptr<PoolCore<T>> core;  // only while in use: an idle node is owned by the core
};

template <class T>
struct PoolCore {
  std::size_t max_idle;
  std::function<std::unique_ptr<T>()> make;
  std::atomic<std::size_t> in_use{0};
  std::mutex mutex;
  std::vector<std::unique_ptr<PoolNode<T>>> idle = {};  // guarded by mutex; reserved, so giving back never allocates

  void give_back(std::unique_ptr<PoolNode<T>> node) {
    node->object->clear();
    in_use.fetch_sub(1, std::memory_order_relaxed);
    const std::scoped_lock lock(mutex);
    if (idle.size() < max_idle) idle.push_back(std::move(node));
  }
};

}  // namespace internal

/// A shared handle to a pooled T. Copies count; when the last one goes, the object is cleared and returns to its
/// pool. Copying and dropping handles is safe from any thread; the T itself is used by one thread at a time, or by
/// many that only read.
template <class T>
class Pooled {
 public:
  Pooled() = default;
  Pooled(const Pooled& other) : node_(other.node_) {
    if (node_ != nullptr) node_->handles.fetch_add(1, std::memory_order_relaxed);
  }
  Pooled(Pooled&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Pooled& operator=(Pooled other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Pooled() { reset(); }

  void reset() {
    Node* node = std::exchange(node_, nullptr);
    // Release what this handle did; the last one acquires what all others did, before clear() writes.
    if (node == nullptr || node->handles.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const auto core = std::move(node->core);
    core->give_back(std::unique_ptr<Node>(node));
  }

  [[nodiscard]] T& operator*() const { return *node_->object; }
  [[nodiscard]] T* operator->() const { return node_->object.get(); }
  [[nodiscard]] explicit operator bool() const { return node_ != nullptr; }
  /// Handles of this object; 0 for an empty handle. 1 means that it is the caller's alone, to write to as well.
  [[nodiscard]] std::size_t use_count() const {
    return node_ == nullptr ? 0 : node_->handles.load(std::memory_order_acquire);
  }

 private:
  friend class BufferPool<T>;
  using Node = internal::PoolNode<T>;
  explicit Pooled(Node* node) : node_(node) {}

  Node* node_ = nullptr;
};

/// Hands out T objects (which have `void clear()`), reuses the ones that come back.
///
/// Promises: no allocation where an idle object is there; take() always succeeds (bounds come from the queues and
/// the sequence window, so the number in flight is bounded by them); at most `max_idle` objects are kept, others freed.
/// Ownership: handles keep the pool's core alive, so the pool may go before its last handle.
/// Threads: any; a short mutex once a batch, never once an event.
template <class T>
class BufferPool {
 public:
  BufferPool(std::size_t max_idle, std::function<std::unique_ptr<T>()> make)
      : core_(std::make_shared<Core>(max_idle, std::move(make))) {
    core_->idle.reserve(max_idle);
  }

  [[nodiscard]] Pooled<T> take() {
    std::unique_ptr<internal::PoolNode<T>> node = take_idle();
    if (node == nullptr) {
      node = std::make_unique<internal::PoolNode<T>>();
      node->object = core_->make();
    }
    node->core = core_;
    node->handles.store(1, std::memory_order_relaxed);
    core_->in_use.fetch_add(1, std::memory_order_relaxed);
    return Pooled<T>(node.release());
  }

  /// Objects in use and idle, for tests and `stats`.
  [[nodiscard]] std::size_t in_use() const { return core_->in_use.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t idle() const {
    const std::scoped_lock lock(core_->mutex);
    return core_->idle.size();
  }

 private:
  using Core = internal::PoolCore<T>;

  std::unique_ptr<internal::PoolNode<T>> take_idle() {
    const std::scoped_lock lock(core_->mutex);
    if (core_->idle.empty()) return nullptr;
    auto node = std::move(core_->idle.back());
    core_->idle.pop_back();
    return node;
  }

  std::shared_ptr<Core> core_;
};

}  // namespace memtrack::pipeline
