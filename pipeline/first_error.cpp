#include "pipeline/first_error.h"

#include <utility>

namespace memtrack::pipeline {

bool FirstError::set(Error error) {
  if (get() != nullptr) return false;
  auto kept = std::make_unique<const Error>(std::move(error));
  const Error* none = nullptr;
  // Release: who reads the pointer in get() sees the whole text behind it.
  if (!error_.compare_exchange_strong(none, kept.get(), std::memory_order_acq_rel)) return false;
  (void)kept.release();
  return true;
}

}  // namespace memtrack::pipeline
