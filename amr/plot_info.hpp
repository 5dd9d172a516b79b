#pragma once
// What pictures of a workload's variables need besides their values.
#include <array>
#include <string>
#include <vector>

namespace amrbench::amr {

/// What a reader is to know of the values.
struct PlotInfo {
  std::vector<std::string> names = {};  ///< one a variable; none: var000, var001, ...
  bool is_extensive = true;             ///< an ancestor's cell is the sum of those it was split into, else their mean
  std::array<double, 3> extent{1.0, 1.0, 1.0};  ///< of the domain
};

}  // namespace amrbench::amr
