// Recording: what the built program makes of a command, with the events of the artifact.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "codec/event_batch.h"
#include "codec/loss.h"
#include "tests/system/child_process.h"

namespace memtrack::test {

/// The program under test, and the folder of the fixtures.
[[nodiscard]] std::string program();
[[nodiscard]] std::string fixture(const std::string& name);

/// The whole artifact; fails the test where it does not decode to its end.
[[nodiscard]] EventBatch read_events(const std::filesystem::path& artifact);
/// The losses in the artifact's index; nothing without one.
[[nodiscard]] std::optional<LossCounters> read_losses(const std::filesystem::path& artifact);
/// The artifacts of a folder; fails the test on a `.part` among them.
[[nodiscard]] std::vector<std::filesystem::path> artifacts_in(const std::filesystem::path& folder);

struct Recording {
  Outcome outcome = {};
  std::filesystem::path artifact = {};
  std::int32_t root_pid = 0;
  EventBatch events = EventBatch(0);
};

/// `memtrack-pipeline record -o FOLDER FLAGS... -- COMMAND...`, which must leave exactly one artifact.
[[nodiscard]] Recording record(const std::filesystem::path& folder, const std::vector<std::string>& command,
                               const std::vector<std::string>& flags = {}, const ChildOptions& options = {});
/// The same from arguments of the caller's own.
[[nodiscard]] Recording record_with(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
                                    const ChildOptions& options = {});

/// Everything that must hold for any artifact of a run that ended: zstd accepts it; the root has an Exec and no Fork;
/// any other process has one Fork, before all else of it; each has one Exit, after all its allocations; the order is a
/// possible history.
void check_recording(const Recording& recording);

/// Events of one kind, with a size where one is given.
[[nodiscard]] std::uint64_t count_events(const EventBatch& events, EventKind kind,
                                         std::optional<std::uint64_t> size = std::nullopt);

}  // namespace memtrack::test
