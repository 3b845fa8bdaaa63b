// ReadGraph: the actors of one reader, and the doorbells that connect them to the queues.
#pragma once

#include <vector>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include "actors/read_shared.h"
#include "actors/system_config.h"

namespace memtrack::actors {

/// An actor system of its own a reader. Ownership: `shared` must outlive it. Destruction ends the actors and waits for
/// their threads. Throws std::system_error where threads can't be made.
class ReadGraph {
 public:
  explicit ReadGraph(ReadShared& shared);
  ReadGraph(const ReadGraph&) = delete;
  ReadGraph& operator=(const ReadGraph&) = delete;
  ~ReadGraph();

  /// Blocks until the consumer has had everything, or there is nothing more to have.
  void run();

 private:
  void spawn_stages();
  void connect_doorbells();
  void end_actors();

  ReadShared& shared_;
  SystemConfig config_;
  caf::actor_system system_;  // its destructor joins all threads
  caf::actor splitter_;
  std::vector<caf::actor> decoders_;
  caf::actor reassembler_;
};

}  // namespace memtrack::actors
