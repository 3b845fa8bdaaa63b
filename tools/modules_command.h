// modules: the Mapping, Fork and Exec events of artifacts, and the maps of a process that follow from them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "codec/event_batch.h"
#include "tools/module_maps.h"
#include "tools/reader_options.h"

namespace memtrack::tools {

/// Prints to standard output; the worst exit code of the files.
[[nodiscard]] int run_modules(const ReaderOptions& options);

/// The table: a heading line, and a line an event.
void append_module_heading(std::string& out);
void append_module_row(const EventBatch& batch, std::size_t i, std::string& out);
/// One line a map, as /proc/PID/maps has them, with the times behind; with `at_ns` those that are there then, without
/// the times.
void append_maps(std::span<const ModuleMap> maps, std::optional<std::uint64_t> at_ns, bool json, std::string& out);

}  // namespace memtrack::tools
