#include "pipeline/mapping_guard.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>

namespace memtrack::pipeline {

/// A node of a list that only grows, so that the handler may walk it at any time.
struct MappingGuard::Place {
  std::atomic<bool> taken{false};
  std::atomic<std::uintptr_t> begin{0};  // 0: guards nothing; partner of the handler's load
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> hit{false};
  Place* next = nullptr;
};

struct GuardedPlaces {
  using Place = MappingGuard::Place;

  static inline std::atomic<Place*> first{nullptr};
  static inline struct sigaction previous{};

  static Place* take() {
    for (Place* place = first.load(std::memory_order_acquire); place != nullptr; place = place->next) {
      if (!place->taken.exchange(true, std::memory_order_acq_rel)) return place;
    }
    auto* place = new Place;
    place->taken.store(true, std::memory_order_relaxed);
    place->next = first.load(std::memory_order_relaxed);
    while (!first.compare_exchange_weak(place->next, place, std::memory_order_acq_rel)) {
    }
    return place;
  }

  static Place* find(std::uintptr_t address) {
    for (Place* place = first.load(std::memory_order_acquire); place != nullptr; place = place->next) {
      const std::uintptr_t begin = place->begin.load(std::memory_order_acquire);
      if (begin != 0 && address >= begin && address < place->end.load(std::memory_order_relaxed)) return place;
    }
    return nullptr;
  }

  // Only what a signal handler may do: atomics and one system call.
  static bool repair(const siginfo_t& info) {
    if (info.si_code != BUS_ADRERR) return false;
    const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
    Place* place = find(address);
    if (place == nullptr) return false;
    // Before the zeros: whoever reads them finds it set.
    place->hit.store(true, std::memory_order_seq_cst);
    const std::uintptr_t page = address & ~static_cast<std::uintptr_t>(page_bytes - 1);
    const std::size_t rest = place->end.load(std::memory_order_relaxed) - page;
    return ::mmap(reinterpret_cast<void*>(page), rest, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
           MAP_FAILED;
  }

  static void handle(int signal, siginfo_t* info, void* context) {
    if (repair(*info)) return;
    if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(signal, info, context);
    if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(signal);
    // The faulting instruction runs again and ends the program; a signal that was sent is sent again.
    ::signal(signal, SIG_DFL);
    if (info->si_code <= 0) ::raise(signal);
  }

  static bool install() {
    struct sigaction action{};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    return ::sigaction(SIGBUS, &action, &previous) == 0;
  }

  static inline const std::size_t page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
};

MappingGuard::MappingGuard(std::span<const std::byte> mapping) : place_(GuardedPlaces::take()) {
  [[maybe_unused]] static const bool installed = GuardedPlaces::install();
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping.data());
  place_->hit.store(false, std::memory_order_relaxed);
  place_->end.store(begin + mapping.size(), std::memory_order_relaxed);
  place_->begin.store(begin, std::memory_order_release);
}

MappingGuard::~MappingGuard() {
  place_->begin.store(0, std::memory_order_release);
  place_->taken.store(false, std::memory_order_release);
}

bool MappingGuard::hit() const {
  return place_->hit.load(std::memory_order_seq_cst);
}

}  // namespace memtrack::pipeline
