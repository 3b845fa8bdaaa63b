#include "actors/capture_board.h"

#include <algorithm>
#include <utility>

namespace memtrack::actors {

CaptureBoard::Clock::time_point CaptureBoard::after(Clock::time_point now, std::chrono::nanoseconds wait) {
  // A century stands for "for ever": far from the clock's limits in any sum.
  constexpr std::chrono::nanoseconds kForEver = std::chrono::hours(24 * 365 * 100);
  return now + std::min(wait, kForEver);
}

std::uint64_t CaptureBoard::open_ticket() {
  const std::scoped_lock lock(mutex_);
  tickets_.emplace(next_ticket_, std::nullopt);
  return next_ticket_++;
}

std::optional<Answer> CaptureBoard::await_answer(std::uint64_t ticket, Clock::time_point until, bool end_counts) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [&] { return tickets_.at(ticket).has_value() || (end_counts && end_); });
  return std::move(tickets_.extract(ticket).mapped());
}

std::optional<CaptureEnd> CaptureBoard::end() const {
  const std::scoped_lock lock(mutex_);
  return end_;
}

std::optional<CaptureEnd> CaptureBoard::await_end(Clock::time_point until) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [&] { return end_.has_value(); });
  return end_;
}

std::optional<CaptureEnd> CaptureBoard::await_end_after_source(Clock::duration grace) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return end_ || ending_since_; });
  if (!end_) changed_.wait_until(lock, after(*ending_since_, grace), [&] { return end_.has_value(); });
  return end_;
}

bool CaptureBoard::await_ending(Clock::time_point until, Clock::duration grace) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [&] { return end_ || ending_since_; });
  if (end_) return true;
  if (!ending_since_) return false;
  const Clock::time_point over = after(*ending_since_, grace);
  changed_.wait_until(lock, std::min(until, over), [&] { return end_.has_value(); });
  return end_ || Clock::now() >= over;
}

void CaptureBoard::answer(std::uint64_t ticket, Answer answer) {
  const std::scoped_lock lock(mutex_);
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return;  // the caller has given up
  found->second = std::move(answer);
  changed_.notify_all();
}

void CaptureBoard::note_ending() {
  const std::scoped_lock lock(mutex_);
  if (!ending_since_) ending_since_ = Clock::now();
  changed_.notify_all();
}

void CaptureBoard::finish(CaptureEnd end) {
  const std::scoped_lock lock(mutex_);
  end_ = std::move(end);
  changed_.notify_all();
}

}  // namespace memtrack::actors
