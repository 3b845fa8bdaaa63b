// Runs the registered cases interleaved and ends with a table: the median of each case and its ratio to the floor of
// its group. Arguments are Google Benchmark's own; what stands here are only other defaults.
#include "perf/bench_main.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace {

struct Row {
  std::string name;
  std::int64_t family;     // order of registration
  std::vector<double> ns;  // CPU time of an iteration, one a repetition
  double items_per_iteration = 0;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

class TableReporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& context) override {
    PrintBasicContext(&std::cerr, context);
    return true;
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      if (run.error_occurred) {
        std::fprintf(stderr, "%s: %s\n", run.benchmark_name().c_str(), run.error_message.c_str());
        failed_ = true;
        continue;
      }
      Row& row = row_of(run);
      const double seconds = run.cpu_accumulated_time / static_cast<double>(run.iterations);
      row.ns.push_back(seconds * 1e9);
      if (const auto rate = run.counters.find("items_per_second"); rate != run.counters.end())
        row.items_per_iteration = rate->second.value * seconds;
    }
  }

  [[nodiscard]] bool failed() const { return failed_; }

  void print_table() {
    std::ranges::sort(rows_, {}, [](const Row& row) { return row.family; });
    std::map<std::string, double> floors;
    std::printf("\n%-48s %10s %10s %8s %8s\n", "median of CPU time", "ns/item", "M items/s", "spread", "to floor");
    for (const Row& row : rows_) {
      const double ns = median(row.ns);
      const double per_item = row.items_per_iteration > 0 ? ns / row.items_per_iteration : ns;
      const auto [floor, first] = floors.try_emplace(row.name.substr(0, row.name.rfind('/')), per_item);
      const auto [low, high] = std::ranges::minmax(row.ns);
      std::printf("%-48s %10.2f %10.1f %7.0f%% %8.3f\n", row.name.c_str(), per_item, 1e3 / per_item,
                  100 * (high - low) / ns, per_item / floor->second);
    }
  }

 private:
  Row& row_of(const Run& run) {
    const auto found = std::ranges::find(rows_, run.family_index, &Row::family);
    if (found != rows_.end()) return *found;
    return rows_.emplace_back(Row{.name = run.run_name.function_name, .family = run.family_index, .ns = {}});
  }

  std::vector<Row> rows_;
  bool failed_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  // Before the user's arguments, which win. Interleaving spreads what else the machine does over all cases.
  std::vector<char*> arguments = {argv[0]};
  std::string defaults[] = {"--benchmark_repetitions=15", "--benchmark_enable_random_interleaving=true",
                            "--benchmark_min_time=0.05"};
  for (std::string& text : defaults) arguments.push_back(text.data());
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  int count = static_cast<int>(arguments.size());
  memtrack::perf::register_benchmarks();
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  TableReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.print_table();
  return reporter.failed() ? 1 : 0;
}
