// MappingGuard: a file that shrinks while it is mapped is a fact to ask for, not a signal that kills.
#pragma once

#include <cstddef>
#include <span>

namespace memtrack::pipeline {

/// While it lives, touching a page of `mapping` that the file no longer has gives zeros and sets hit(), in whatever
/// thread that happens; without it the kernel sends SIGBUS. docs/decisions/shrinking-files.md tells why this way.
///
/// How: the first guard installs a SIGBUS handler for the process; it maps zero pages over the rest of the mapping.
/// What is not about a guarded mapping goes to the handler that was there before, or does what SIGBUS does by default.
/// A program that installs its own handler afterwards takes this protection away. Ownership: the mapping must outlive
/// the guard. Threads: any; making and destroying one takes no lock. Bounds: a few words for the most mappings that
/// were ever guarded at once, kept for good.
class MappingGuard {
 public:
  explicit MappingGuard(std::span<const std::byte> mapping);
  MappingGuard(const MappingGuard&) = delete;
  MappingGuard& operator=(const MappingGuard&) = delete;
  ~MappingGuard();

  [[nodiscard]] bool hit() const;

 private:
  struct Place;
  friend struct GuardedPlaces;
  Place* place_;
};

}  // namespace memtrack::pipeline
