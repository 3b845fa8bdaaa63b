#include "preload/untracked_programs.h"

#include <algorithm>
#include <unistd.h>

#include "preload/trackability.h"

namespace memtrack::preload {
namespace {

std::uint32_t state_of(const mt_notice& notice) {
  return __atomic_load_n(&notice.state, __ATOMIC_ACQUIRE);
}

/// Paths come from a target: nothing in one may disturb a terminal.
std::string printable(std::string path) {
  std::replace_if(
      path.begin(), path.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return path;
}

/// Why it did not attach, as the end of "... were not tracked: "; empty where nothing shows.
std::string reason_of(const std::string& path, std::uint32_t flags, std::uint32_t uid) {
  if ((flags & MT_NOTICE_OTHER_SESSION) != 0) return "its environment leaves it out or names another session";
  if (std::string reason = untrackable_reason(path); !reason.empty()) return "it " + reason;
  if ((flags & MT_NOTICE_UNREACHABLE) != 0) return "it can't read the shim from where it runs (chroot or rights)";
  if ((flags & MT_NOTICE_UNCHANGED) != 0) return "its environment had no room for the shim's variables";
  if (uid != ::geteuid()) return "it ran as another user, who must not open the segment";
  return {};
}

}  // namespace

bool UntrackedPrograms::has_news() const {
  return std::any_of(std::begin(segment_.header->notices), std::end(segment_.header->notices),
                     [](const mt_notice& notice) { return MT_NOTICE_STATE(state_of(notice)) == MT_STATE_LIVE; });
}

void UntrackedPrograms::collect(std::uint64_t now_ns) {
  for (mt_notice& notice : segment_.header->notices) take(notice, now_ns);
  while (!pending_.empty() && (pending_.size() > kMaxPending || now_ns - pending_.front().found_ns > kPatienceNs)) {
    if (!answered(pending_.front())) never_attached(pending_.front());
    pending_.pop_front();
  }
}

/// Claims, so that nobody withdraws it and fills it anew meanwhile; copies; frees.
void UntrackedPrograms::take(mt_notice& notice, std::uint64_t now_ns) {
  std::uint32_t state = state_of(notice);
  if (MT_NOTICE_STATE(state) != MT_STATE_LIVE) return;
  if (!__atomic_compare_exchange_n(&notice.state, &state, static_cast<std::uint32_t>(MT_STATE_CLAIMED), false,
                                   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    return;
  }
  const std::uint32_t kind = __atomic_load_n(&notice.kind, __ATOMIC_RELAXED);
  Pending pending{.pid = __atomic_load_n(&notice.pid, __ATOMIC_RELAXED),
                  .ticks = __atomic_load_n(&notice.ticks, __ATOMIC_RELAXED),
                  .found_ns = now_ns,
                  .uid = __atomic_load_n(&notice.uid, __ATOMIC_RELAXED),
                  .flags = __atomic_load_n(&notice.flags, __ATOMIC_RELAXED)};
  const std::uint32_t bytes = __atomic_load_n(&notice.path_bytes, __ATOMIC_RELAXED);
  pending.path.assign(notice.path, std::min(bytes, MT_NOTICE_PATH_BYTES));
  __atomic_store_n(&notice.state, static_cast<std::uint32_t>(MT_STATE_FREE), __ATOMIC_RELEASE);
  if (bytes > MT_NOTICE_PATH_BYTES) pending.path += "...";
  sort_in(kind, std::move(pending));
}

void UntrackedPrograms::sort_in(std::uint32_t kind, Pending pending) {
  switch (kind) {
    case MT_NOTICE_EXEC_FAILED:
      std::erase_if(pending_,
                    [&](const Pending& other) { return other.pid == pending.pid && other.ticks == pending.ticks; });
      return;
    case MT_NOTICE_ALLOCATOR:
      bypassed(pending);
      return;
    case MT_NOTICE_SHELL:  // nobody knows its number; the C library's shell attaches unless something keeps it from
                           // that
      if (pending.flags != 0 || !untrackable_reason(pending.path).empty()) never_attached(pending);
      return;
    case MT_NOTICE_EXEC:
    case MT_NOTICE_SPAWN:
      if (!answered(pending)) pending_.push_back(std::move(pending));
      return;
    default:  // nonsense
      return;
  }
}

bool UntrackedPrograms::answered(const Pending& pending) const {
  for (const auto* answers : {&answers_, &old_answers_}) {
    const auto at = answers->find(pending.pid);
    if (at != answers->end() && at->second >= pending.ticks) return true;
  }
  return false;
}

void UntrackedPrograms::answer(std::int32_t pid, std::uint64_t ticks) {
  if (answers_.size() >= kMaxAnswers) old_answers_ = std::exchange(answers_, {});
  std::uint64_t& latest = answers_[pid];
  latest = std::max(latest, ticks);
  std::erase_if(pending_, [&](const Pending& other) { return other.pid == pid && other.ticks <= ticks; });
}

void UntrackedPrograms::never_attached(const Pending& pending) {
  const auto key = std::make_pair(printable(pending.path), pending.flags);
  if (programs_.size() >= kMaxPrograms && !programs_.contains(key)) {
    ++unnamed_;
    return;
  }
  Program& program = programs_[key];
  ++program.processes;
  program.uid = pending.uid;
}

void UntrackedPrograms::bypassed(const Pending& pending) {
  const auto key = std::make_pair(printable(pending.path), pending.flags & (MT_BYPASS_MALLOC | MT_BYPASS_NEW));
  const bool named = bypasses_.size() < kMaxNotes || bypasses_.contains(key);
  ++(named ? bypasses_[key] : unnamed_bypasses_);
}

void UntrackedPrograms::add_bypasses(std::vector<std::string>& notes) const {
  for (const auto& [key, processes] : bypasses_) {
    const bool all = (key.second & MT_BYPASS_MALLOC) != 0;
    notes.push_back((processes == 1 ? "a process allocates" : std::to_string(processes) + " processes allocate") +
                    " by functions in " + key.first + " that bypass the shim: " +
                    (all ? "of its malloc and free calls only those of other libraries, if any, were recorded"
                         : "its operator new and delete were not recorded"));
  }
  if (unnamed_bypasses_ > 0) {
    notes.push_back(std::to_string(unnamed_bypasses_) + " times more a process allocates by functions in other files " +
                    "that bypass the shim");
  }
}

std::vector<std::string> UntrackedPrograms::notes() {
  collect(0);
  for (const Pending& pending : std::exchange(pending_, {})) {
    // One for which nothing shows may have been on its way when the capture ended.
    const bool why = !reason_of(pending.path, pending.flags, pending.uid).empty();
    if (why && !answered(pending)) never_attached(pending);
  }
  std::vector<std::pair<std::uint64_t, std::string>> lines;
  for (const auto& [key, program] : programs_) {
    const std::string reason = reason_of(key.first, key.second, program.uid);
    const bool one = program.processes == 1;
    lines.emplace_back(program.processes,
                       (one ? "a process of " : std::to_string(program.processes) + " processes of ") + key.first +
                           (one ? " was" : " were") +
                           " not tracked: " + (reason.empty() ? "it ended before it had loaded the shim" : reason));
  }
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> notes;
  std::uint64_t others = unnamed_;
  for (auto& [processes, line] : lines) {
    if (notes.size() < kMaxNotes) {
      notes.push_back(std::move(line));
    } else {
      others += processes;
    }
  }
  if (others > 0) notes.push_back(std::to_string(others) + " processes of other programs were not tracked either");
  add_bypasses(notes);
  const std::uint32_t lost = __atomic_load_n(&segment_.header->notices_lost, __ATOMIC_RELAXED);
  if (lost > 0) {
    notes.push_back("up to " + std::to_string(lost) +
                    " starts of programs came too fast to be looked at; whether those were tracked is not known");
  }
  return notes;
}

}  // namespace memtrack::preload
