#pragma once
// A problem from files: the bed is a raster, whose rectangle is the domain; depths and roughness may be others.
#include <array>
#include <memory>

#include "workloads/shallow_water/config.hpp"
#include "workloads/shallow_water/solution.hpp"

namespace amrbench::workloads::shallow_water {

/// `cells`: along either side of the domain, all of the deepest level. A cell's bed is the mean over it where it is
/// larger than the raster's cells, else bilinear between their centres. Where the bed has no data stands rock 10 m
/// above the highest place. Still water at the start; nothing is known of later times. `periodic`: along either axis.
/// Throws support::InputError that names key and file where one is missing, unreadable, out of range or does not cover
/// the bed's rectangle. O(bytes).
[[nodiscard]] std::unique_ptr<Solution> make_raster_problem(const ShallowWaterConfig& water,
                                                            const std::array<double, 2>& cells,
                                                            const std::array<bool, 2>& periodic);

}  // namespace amrbench::workloads::shallow_water
