// SystemConfig: how every graph's actor system is set up.
#pragma once

#include <cstddef>

#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>

namespace memtrack::actors {

/// Stages are detached, so the scheduler has next to nothing to do: one thread, which sleeps meanwhile ("sharing"; the
/// default policy polls for work to steal).
struct SystemConfig : caf::actor_system_config {
  SystemConfig() {
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{1});
  }
};

}  // namespace memtrack::actors
