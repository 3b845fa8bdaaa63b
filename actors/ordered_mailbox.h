// OrderedMailbox: tells ThreadSanitizer what a mailbox orders.
#pragma once

#include <utility>

#include <caf/event_based_actor.hpp>
#include <caf/mailbox_element.hpp>

#if defined(__SANITIZE_THREAD__)
#define MEMTRACK_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MEMTRACK_TSAN 1
#endif
#endif

#ifdef MEMTRACK_TSAN
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

namespace memtrack::actors {

/// The base of every actor. What happens before a message is sent happens before it is handled: CAF promises that, but
/// its mailbox is inside a library that is not instrumented, so ThreadSanitizer can't see it and would report each
/// message as a race. A suppression can't help: every stage runs below frames of that library, so it would hide our
/// races too. In other builds this is caf::event_based_actor and nothing more.
#ifdef MEMTRACK_TSAN
inline char actor_ends = 0;  // an address that stands for "an actor has ended"

class OrderedMailbox : public caf::event_based_actor {
 public:
  using caf::event_based_actor::enqueue;
  using caf::event_based_actor::event_based_actor;

  void enqueue(caf::mailbox_element_ptr element, caf::execution_unit* unit) override {
    __tsan_release(&mailbox_order_);
    caf::event_based_actor::enqueue(std::move(element), unit);
  }
  /// An actor of CAF's scheduler is initialised, and then resumed, on whichever of its threads is free.
  void initialize() override {
    caf::event_based_actor::initialize();
    __tsan_release(&mailbox_order_);
  }
  caf::invoke_message_result consume(caf::mailbox_element& element) override {
    __tsan_acquire(&mailbox_order_);
    const caf::invoke_message_result result = caf::event_based_actor::consume(element);
    __tsan_release(&mailbox_order_);
    return result;
  }
  /// Frees what nobody has read.
  bool cleanup(caf::error&& reason, caf::execution_unit* unit) override {
    __tsan_acquire(&mailbox_order_);
    __tsan_release(&actor_ends);
    return caf::event_based_actor::cleanup(std::move(reason), unit);
  }

 private:
  char mailbox_order_ = 0;  // an address that stands for the mailbox
};
/// After caf::actor_system::await_all_actors_done(), which counts the ends with an atomic inside the library.
inline void note_actors_ended() {
  __tsan_acquire(&actor_ends);
}
#else
using OrderedMailbox = caf::event_based_actor;
inline void note_actors_ended() {}
#endif

}  // namespace memtrack::actors
