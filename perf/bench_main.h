// What every benchmark binary defines; bench_main.cpp has the main function around it.
#pragma once

namespace memtrack::perf {

/// Registers the cases, named "group/.../case". The first case of a group is its floor.
void register_benchmarks();

}  // namespace memtrack::perf
