#include "tools/command_line.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tools/config_file.h"
#include "tools/exit_code.h"

namespace memtrack::tools {
namespace {

constexpr const char* kProgram = "memtrack-pipeline";
constexpr const char* kVersionText = "memtrack-pipeline " MEMTRACK_VERSION "\n";
constexpr const char* kExamples =
    "examples:\n"
    "  memtrack-pipeline record -- ls -lR /usr/share       record what a command allocates\n"
    "  memtrack-pipeline --config FILE.toml -- COMMAND     the same with the settings of a file\n"
    "  memtrack-pipeline stat 1234.MemtrackArtifact.msgpack\n"
    "  memtrack-pipeline dump 1234.MemtrackArtifact.msgpack --kinds Malloc,Free --pid 1234 | head\n"
    "  memtrack-pipeline modules 1234.MemtrackArtifact.msgpack --maps 1234\n";

// A flag that sets a configuration key.
struct MappedFlag {
  const char* names;
  const char* key;
  const char* value_name;
  const char* description;
};
constexpr MappedFlag kMappedFlags[] = {
    {"--source", "source.kind", "KIND", "preload, replay or synthetic"},
    {"-o,--output", "write.directory", "DIR", "existing folder that gets the artifact"},
    {"--on-full", "source.on_full", "MODE", "block or drop, when a ring of the target is full"},
    {"--wait", "target.wait", "WHAT", "root or tree: whose end is the capture's end"},
};

// What a capture's flags said, in the order in which they are applied to the file's settings.
struct CaptureFlags {
  std::string mapped[std::size(kMappedFlags)] = {};
  CLI::Option* mapped_options[std::size(kMappedFlags)] = {};
  std::vector<std::string> assignments = {};
  bool allow_loss = false;
  bool print_config = false;
};

// What a reader's flags said.
struct ReaderFlags {
  ReaderOptions options = {};
  std::vector<std::string> kinds = {};
  bool modules = false;
  bool no_index = false;
  std::optional<std::uint64_t> until_ns = {};
};

struct ParsedArguments {
  CLI::App app{"Records what memory a program and its children allocate, and reads such recordings.", kProgram};
  CLI::App* record = nullptr;
  CLI::App* dump = nullptr;
  CLI::App* modules = nullptr;
  CLI::App* stat = nullptr;
  CaptureFlags top_flags = {};
  CaptureFlags record_flags = {};
  std::string config_file = {};
  CLI::Option* config_option = nullptr;
  bool version = false;
  ReaderFlags read = {};
  std::vector<std::string> behind_dashes = {};
  bool has_dashes = false;
};

void add_capture_flags(CLI::App& app, CaptureFlags& flags) {
  for (std::size_t i = 0; i < std::size(kMappedFlags); ++i) {
    const MappedFlag& flag = kMappedFlags[i];
    flags.mapped_options[i] = app.add_option(flag.names, flags.mapped[i], flag.description)->type_name(flag.value_name);
  }
  app.add_flag("--allow-loss", flags.allow_loss, "lost events leave the exit code alone")->disable_flag_override();
  app.add_option("--set", flags.assignments, "set any key of a configuration file")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_flag("--print-config", flags.print_config, "print the effective settings as TOML and stop")
      ->disable_flag_override();
}

CLI::App* add_reader(CLI::App& app, const char* name, const char* description, ReaderFlags& flags) {
  CLI::App* reader = app.add_subcommand(name, description);
  reader->add_option("FILE", flags.options.files, "artifacts")->type_name("");
  reader->add_flag("--json", flags.options.json, "print JSON, one object a line")->disable_flag_override();
  reader->add_option("--workers", flags.options.workers, "decoders side by side; 0: one a processor")
      ->type_name("N")
      ->check(CLI::Range(0, 64));
  reader->add_flag("--no-index", flags.no_index, "read the frames, whatever index there is")->disable_flag_override();
  return reader;
}

void add_selection(CLI::App& reader, ReaderFlags& flags) {
  reader.add_option("--pid", flags.options.selection.pids, "only events of this process; may be given more than once")
      ->type_name("PID")
      ->allow_extra_args(false);
  reader.add_option("--since", flags.options.selection.since_ns, "only events with this time stamp or a later one")
      ->type_name("NS");
  reader.add_option("--until", flags.until_ns, "only events with this time stamp or an earlier one")->type_name("NS");
}

void declare(ParsedArguments& parsed) {
  CLI::App& app = parsed.app;
  app.footer(kExamples);
  app.require_subcommand(0, 1);
  app.add_flag("--version", parsed.version, "print the version")->disable_flag_override();
  parsed.config_option =
      app.add_option("--config", parsed.config_file, "record with the settings of this file")->type_name("FILE.toml");
  add_capture_flags(app, parsed.top_flags);
  parsed.record = app.add_subcommand("record", "record the command behind --, without a file");
  add_capture_flags(*parsed.record, parsed.record_flags);
  parsed.dump = add_reader(app, "dump", "print events as text", parsed.read);
  add_selection(*parsed.dump, parsed.read);
  parsed.dump->add_option("--kinds", parsed.read.kinds, "only events of these kinds, as Malloc,Free")
      ->type_name("KIND,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  parsed.dump->add_flag("--modules", parsed.read.modules, "only Mapping, Fork and Exec")->disable_flag_override();
  parsed.modules = add_reader(app, "modules", "print the Mapping, Fork and Exec events", parsed.read);
  add_selection(*parsed.modules, parsed.read);
  auto* maps = parsed.modules->add_option("--maps", parsed.read.options.maps_pid,
                                          "print the files that this process had mapped, and when");
  maps->type_name("PID");
  parsed.modules->add_option("--at", parsed.read.options.maps_at_ns, "print the maps at this time stamp")
      ->type_name("NS")
      ->needs(maps);
  parsed.stat = add_reader(app, "stat", "print counts, sizes and losses; at once where there is an index", parsed.read);
  parsed.stat->add_flag("--full", parsed.read.options.full, "decode every event: counts of kinds and processes")
      ->disable_flag_override();
}

// Only a call that can be nothing but a reader's has a reader's usage code: a capture's codes belong to its target.
int usage_exit_code(std::span<const std::string> arguments) {
  if (arguments.empty()) return kExitReaderUsage;
  return arguments.front() == "record" || arguments.front().starts_with('-') ? kExitTrackerFailed : kExitReaderUsage;
}

Result<void> apply_flags(const CaptureFlags& flags, Config& config) {
  for (std::size_t i = 0; i < std::size(kMappedFlags); ++i) {
    if (flags.mapped_options[i]->empty()) continue;
    const std::string name = flags.mapped_options[i]->get_name();
    if (auto applied = apply_flag(name, kMappedFlags[i].key, flags.mapped[i], config); !applied) return applied;
  }
  if (flags.allow_loss) config.allow_loss = true;
  for (const std::string& assignment : flags.assignments) {
    if (auto applied = apply_assignment(assignment, config); !applied) return applied;
  }
  return {};
}

std::unexpected<UsageError> usage(std::string message, int exit_code) {
  return std::unexpected(UsageError{std::move(message), exit_code});
}

std::expected<Call, UsageError> read_config_call(const ParsedArguments& parsed, const Config& config) {
  if (parsed.has_dashes || !config.preload.command.empty()) {
    return usage("read.files and a command to record exclude each other", kExitReaderUsage);
  }
  ReaderOptions options{.files = config.read.files, .workers = config.read.workers};
  if (config.read.select == ReadSelect::kModules) options.selection = pipeline::ReadSelection::modules();
  return DumpCall{std::move(options)};
}

std::expected<Call, UsageError> capture_call(const ParsedArguments& parsed, const CaptureFlags& flags) {
  Config config;
  if (!parsed.config_option->empty()) {
    if (auto applied = apply_config_file(parsed.config_file, config); !applied) {
      return usage(to_string(applied.error()), kExitTrackerFailed);
    }
  }
  if (auto applied = apply_flags(flags, config); !applied) return usage(to_string(applied.error()), kExitTrackerFailed);
  if (!config.read.files.empty() && !flags.print_config) return read_config_call(parsed, config);
  if (parsed.has_dashes) {
    if (config.source != SourceKind::kPreload) {
      return usage("a command behind -- needs source.kind = \"preload\"", kExitTrackerFailed);
    }
    config.preload.command = parsed.behind_dashes;
  }
  if (flags.print_config) return PrintConfigCall{std::move(config)};
  return CaptureCall{std::move(config)};
}

std::expected<KindSet, UsageError> kinds_of(const ReaderFlags& flags) {
  if (flags.modules && !flags.kinds.empty()) return usage("--modules and --kinds exclude each other", kExitReaderUsage);
  if (flags.modules) return kModuleKinds;
  if (flags.kinds.empty()) return kAllKinds;
  KindSet kinds = 0;
  for (const std::string& name : flags.kinds) {
    const auto kind = event_kind(name);
    if (!kind) return usage(fmt::format("--kinds: there is no kind \"{}\"", name), kExitReaderUsage);
    kinds |= kind_bit(*kind);
  }
  return kinds;
}

std::expected<Call, UsageError> reader_call(ParsedArguments& parsed) {
  ReaderOptions options = std::move(parsed.read.options);
  options.files.insert(options.files.end(), parsed.behind_dashes.begin(), parsed.behind_dashes.end());
  if (options.files.empty()) return usage("name at least one artifact", kExitReaderUsage);
  options.use_index = !parsed.read.no_index;
  if (parsed.read.until_ns) options.selection.until_ns = *parsed.read.until_ns;
  if (parsed.stat->parsed()) return StatCall{std::move(options)};
  const auto kinds = kinds_of(parsed.read);
  if (!kinds) return std::unexpected(kinds.error());
  options.selection.kinds = parsed.modules->parsed() ? kModuleKinds : *kinds;
  if (options.maps_pid && options.selection.selects_by_value()) {
    return usage("--maps takes --at, not --pid, --since or --until", kExitReaderUsage);
  }
  if (parsed.modules->parsed()) return ModulesCall{std::move(options)};
  return DumpCall{std::move(options)};
}

bool has_top_flags(const ParsedArguments& parsed) {
  const CLI::App& app = parsed.app;
  return std::ranges::any_of(app.get_options(), [](const CLI::Option* option) { return !option->empty(); });
}

std::expected<Call, UsageError> dispatch(ParsedArguments& parsed, int usage_code) {
  if (parsed.version) return TextCall{kVersionText};
  const bool sub_command = !parsed.app.get_subcommands().empty();
  if (sub_command && has_top_flags(parsed))
    return usage("options go behind the sub-command; --config takes none", usage_code);
  if (parsed.record->parsed()) return capture_call(parsed, parsed.record_flags);
  if (sub_command) return reader_call(parsed);
  if (!parsed.config_option->empty() || parsed.top_flags.print_config) return capture_call(parsed, parsed.top_flags);
  return usage("say what to do: record, dump, modules, stat or --config FILE.toml; see memtrack-pipeline --help",
               usage_code);
}

}  // namespace

std::expected<Call, UsageError> parse_command_line(std::span<const std::string> arguments) {
  ParsedArguments parsed;
  declare(parsed);
  const auto dashes = std::ranges::find(arguments, "--");
  parsed.has_dashes = dashes != arguments.end();
  if (parsed.has_dashes) parsed.behind_dashes.assign(dashes + 1, arguments.end());
  // CLI11 wants them last first.
  std::vector<std::string> before(std::make_reverse_iterator(dashes), arguments.rend());
  const int usage_code = usage_exit_code(arguments);
  try {
    parsed.app.parse(before);
  } catch (const CLI::CallForHelp&) {
    return TextCall{parsed.app.help()};
  } catch (const CLI::ExtrasError& error) {
    const bool stray_word = usage_code == kExitTrackerFailed && !parsed.has_dashes;
    return usage(fmt::format("{}{}", error.what(), stray_word ? "; the command to record goes behind --" : ""),
                 usage_code);
  } catch (const CLI::ParseError& error) {
    return usage(error.what(), usage_code);
  }
  return dispatch(parsed, usage_code);
}

}  // namespace memtrack::tools
