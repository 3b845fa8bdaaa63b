// FirstError: many stages may fail, one failure is told.
#pragma once

#include <atomic>
#include <memory>

#include "codec/error.h"

namespace memtrack::pipeline {

/// Keeps the first error that any thread reports; later ones are dropped. Lock-free, any thread.
/// The error's text is published before the flag that says it is there.
class FirstError {
 public:
  FirstError() = default;
  FirstError(const FirstError&) = delete;
  FirstError& operator=(const FirstError&) = delete;
  ~FirstError() { delete error_.load(std::memory_order_relaxed); }

  /// True for the one caller whose error is kept.
  bool set(Error error);
  /// The kept error, or null. Valid as long as this object.
  [[nodiscard]] const Error* get() const { return error_.load(std::memory_order_acquire); }

 private:
  std::atomic<const Error*> error_{nullptr};
};

}  // namespace memtrack::pipeline
