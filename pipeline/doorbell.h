// Doorbell: wakes one waiting side exactly when there may be something for it, without a mutex.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <utility>

namespace memtrack::pipeline {

/// A flag "someone waits" and what to do to wake it (send an actor a message, release a semaphore).
///
/// Promises: a change made before ring() is never missed by a waiter that keeps to this order:
///     bell.arm(); if (nothing to do) wait for the ring; else bell.disarm() and go on.
/// One arm() brings at most one ring; a ring may come late, when the waiter has already found its work: harmless.
///
/// Why no wake-up is lost: arm() and ring() are both read-modify-writes of the one flag, so one comes first. If arm()
/// does, ring() (or another ring() before it) reads `true` and wakes. If ring() does, arm() reads what it wrote, which
/// orders the ringer's change before the waiter's second look. With a plain store in arm() the store may become
/// visible after that look, and both sides miss each other (tests/pipeline/doorbell_model_test.cpp shows it).
///
/// Threads: one waiter, any number of ringers; on_ring() before either. The function runs on the ringing thread: it
/// must not block nor use what the bell belongs to, and may be called as long as the bell lives.
class Doorbell {
 public:
  /// `armed`: the waiter waits from the beginning.
  explicit Doorbell(bool armed) : armed_(armed) {}
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  void on_ring(std::function<void()> function) { function_ = std::move(function); }
  void arm() { armed_.exchange(true, std::memory_order_seq_cst); }
  void disarm() { armed_.exchange(false, std::memory_order_seq_cst); }
  /// Wakes the waiter if it waits; true if it did. A bell without a function never rings.
  bool ring() {
    if (!function_ || !armed_.exchange(false, std::memory_order_seq_cst)) return false;
    function_();
    return true;
  }

 private:
  alignas(64) std::atomic<bool> armed_;
  std::function<void()> function_;
};

/// The bells of one side of a queue. add() before any ringing; references stay valid.
class DoorbellRow {
 public:
  Doorbell& add(bool armed) { return bells_.emplace_back(armed); }
  void ring_all() {
    for (Doorbell& bell : bells_) bell.ring();
  }
  /// Wakes the first that waits: a slow source keeps one worker warm.
  void ring_one() {
    for (Doorbell& bell : bells_) {
      if (bell.ring()) return;
    }
  }

 private:
  std::deque<Doorbell> bells_;
};

}  // namespace memtrack::pipeline
