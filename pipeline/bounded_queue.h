// BoundedQueue: what the data plane runs on. The only file that names moodycamel.
#pragma once

// (sketch of the contract; the implementer completes the private part)
//
// template <class T> class BoundedQueue
//   Limits{items, bytes}
//   enum class Push { kAccepted, kFull, kClosed };
//   enum class Pop { kItem, kEmpty, kDrained };
//   Producer / Consumer handles (own moodycamel tokens; must die before the queue; one thread at a time each)
//   Producer::try_push(T& item /* moved from only if accepted */, size_t bytes) -> Push
//   Consumer::try_pop(T& out) -> Pop
//   close(); closed(); drained(); items(); bytes(); high_water_items(); high_water_bytes()
