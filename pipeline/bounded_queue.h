// BoundedQueue: what the data plane runs on. The only file that names moodycamel.
// A little over 200 lines: a template and its two handles, whose usage loops belong beside them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

#include <concurrentqueue/concurrentqueue.h>

#include "pipeline/doorbell.h"
#include "pipeline/queue_credits.h"

namespace memtrack::pipeline {

/// A queue of many producers and consumers with an exact bound of items and bytes, close as a state, and doorbells.
///
/// Promises: exactly one of three outcomes for a push, decided by one compare-exchange; at most limits.items items and
/// limits.bytes bytes are inside, but an item larger than limits.bytes is accepted when the queue is empty; a refused
/// item is untouched; the items of one producer leave in its order, those of different producers in any (number them).
/// Ownership: handles refer to the queue and must die before it. The bells' functions live as long as the queue.
/// Threads: make every handle and set every bell before traffic begins; then one thread at a time per handle, and any
/// thread for close() and the getters. Nothing blocks; a push may allocate a block of slots until traffic is steady.
/// Errors: std::invalid_argument for limits out of range, std::bad_alloc (after which a push has not happened).
///
/// How to use, with bells that make the loops below run again:
///
///     consumer: for (;;) {                                 // at the bell on_work(), and once at the start
///                 switch (consumer.try_pop(item)) {
///                   case Pop::kItem: handle(item); break;
///                   case Pop::kDrained: finish(); return;
///                   case Pop::kEmpty: if (consumer.await_work()) return;  // the bell will ring
///                 } }                                                     // else: look again
///     producer: for (;;) {                                 // with an item to push, and at the bell on_room()
///                 switch (producer.try_push(item, bytes)) {
///                   case Push::kAccepted: return;
///                   case Push::kClosed: stop(); return;
///                   case Push::kFull: if (producer.await_room()) return;  // keep `item`; the bell will ring
///                 } }                                                     // else: try again
///
/// A push rings one idle consumer, a pop all producers that wait for room, close() everybody; the pop that leaves a
/// closed queue empty rings all consumers, so that each learns kDrained. A bell may ring for nothing.
template <class T>
class BoundedQueue {
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>);

 public:
  using Limits = QueueLimits;
  using Push = QueueCredits::Taken;  // kAccepted, kFull, kClosed
  enum class Pop {
    kItem,
    kEmpty,    ///< nothing at hand; also where a push is under way
    kDrained,  ///< closed, and nothing will ever come again
  };
  class Producer;
  class Consumer;

  explicit BoundedQueue(const Limits& limits) : credits_(limits) {}
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  /// From now on every push gives kClosed; what is inside can still be popped. Idempotent.
  void close() {
    if (!credits_.close()) return;
    work_.ring_all();
    room_.ring_all();
  }
  [[nodiscard]] bool closed() const { return credits_.state().closed(); }
  [[nodiscard]] bool drained() const { return credits_.state().drained(); }
  /// Items and bytes inside, those of a push or pop under way included.
  [[nodiscard]] std::uint64_t items() const { return credits_.state().items(); }
  [[nodiscard]] std::uint64_t bytes() const { return credits_.state().bytes(); }
  [[nodiscard]] std::uint64_t high_water_items() const { return credits_.high_water_items(); }
  [[nodiscard]] std::uint64_t high_water_bytes() const { return credits_.high_water_bytes(); }

 private:
  struct Entry {
    T item;
    std::uint64_t bytes;
  };
  // What an entry is moved into.
  struct Sink {
    T& item;
    std::uint64_t bytes = 0;
    Sink& operator=(Entry&& entry) noexcept {
      item = std::move(entry.item);
      bytes = entry.bytes;
      return *this;
    }
  };
  struct Traits : moodycamel::ConcurrentQueueDefaultTraits {
    static const std::size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 0;  // no push without a token
  };
  using Inner = moodycamel::ConcurrentQueue<Entry, Traits>;

  void release(std::uint64_t bytes) {
    const QueueCredits::State left = credits_.give_back(bytes);
    room_.ring_all();
    if (left.drained()) work_.ring_all();
  }
  // published_ counts items that are enqueued and not yet claimed; a consumer claims first and dequeues then. Unlike a
  // failed try_dequeue, which may come from another consumer's step half done, 0 here is a fact to sleep on.
  bool claim() {
    std::uint64_t count = published_.load(std::memory_order_seq_cst);
    while (count != 0 && !published_.compare_exchange_weak(count, count - 1, std::memory_order_seq_cst)) {
    }
    return count != 0;
  }

  QueueCredits credits_;
  Inner inner_;
  DoorbellRow work_;  // one a consumer; fixed before traffic
  DoorbellRow room_;  // one a producer
  alignas(64) std::atomic<std::uint64_t> published_{0};
};

template <class T>
class BoundedQueue<T>::Producer {
 public:
  explicit Producer(BoundedQueue& queue)
      : queue_(&queue), token_(queue.inner_), room_(&queue.room_.add(/*armed=*/false)) {
    if (!token_.valid()) throw std::bad_alloc();
  }
  Producer(Producer&&) noexcept = default;
  Producer& operator=(Producer&&) = delete;

  /// The bell that await_room() asks for.
  void on_room(std::function<void()> ring) { room_->on_ring(std::move(ring)); }

  /// Moves from `item` only if it is accepted. `bytes` is what the item counts against the byte bound.
  [[nodiscard]] Push try_push(T& item, std::uint64_t bytes) {
    bytes = std::min(bytes, QueueCredits::kMaxBytes);
    const Push outcome = queue_->credits_.take(bytes);
    if (outcome == Push::kFull) refused_bytes_ = bytes;
    if (outcome != Push::kAccepted) return outcome;
    Entry entry{std::move(item), bytes};
    if (!queue_->inner_.enqueue(token_, std::move(entry))) {  // out of memory; it has not moved from the entry
      item = std::move(entry.item);
      queue_->release(bytes);
      throw std::bad_alloc();
    }
    queue_->published_.fetch_add(1, std::memory_order_seq_cst);
    queue_->work_.ring_one();
    return outcome;
  }

  /// After kFull. True: no room yet, the bell will ring when there may be some. False: try again now.
  [[nodiscard]] bool await_room() {
    room_->arm();
    const QueueCredits::State state = queue_->credits_.state();
    if (!state.closed() && !queue_->credits_.fits(state, refused_bytes_)) return true;
    room_->disarm();
    return false;
  }

 private:
  BoundedQueue* queue_;
  moodycamel::ProducerToken token_;
  Doorbell* room_;
  std::uint64_t refused_bytes_ = 0;
};

template <class T>
class BoundedQueue<T>::Consumer {
 public:
  explicit Consumer(BoundedQueue& queue)
      : queue_(&queue), token_(queue.inner_), work_(&queue.work_.add(/*armed=*/true)) {}
  Consumer(Consumer&&) noexcept = default;
  Consumer& operator=(Consumer&&) = delete;

  /// The bell that await_work() asks for; a new consumer counts as waiting.
  void on_work(std::function<void()> ring) { work_->on_ring(std::move(ring)); }

  /// `out` is assigned only with kItem.
  [[nodiscard]] Pop try_pop(T& out) {
    if (!queue_->claim()) return queue_->drained() ? Pop::kDrained : Pop::kEmpty;
    Sink sink{out};
    // A claimed item is there, but another consumer's unfinished step can hide one a look. Each such consumer has
    // claimed an item too, so one is left to be seen: this never waits for a particular thread.
    while (!queue_->inner_.try_dequeue(token_, sink)) {
    }
    queue_->release(sink.bytes);
    return Pop::kItem;
  }

  /// After kEmpty. True: nothing is there, the bell will ring when that may have changed. False: look again now.
  [[nodiscard]] bool await_work() {
    work_->arm();
    if (queue_->published_.load(std::memory_order_seq_cst) == 0 && !queue_->drained()) return true;
    work_->disarm();
    return false;
  }

 private:
  BoundedQueue* queue_;
  moodycamel::ConsumerToken token_;
  Doorbell* work_;
};

}  // namespace memtrack::pipeline
