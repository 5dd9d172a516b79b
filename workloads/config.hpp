#pragma once
// What workloads take of a run's configuration besides amr/config.hpp, as plain data, under the names of
// docs/config.md.

namespace amrbench::workloads {

/// One member a workload that has a table of its own.
struct WorkloadConfig {};

}  // namespace amrbench::workloads
