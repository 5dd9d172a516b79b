#pragma once
// How fine a mesh is to be, from a raster of cell sizes.
//
// The raster says of each of its cells how large the mesh's cells over it may be [m]; none: as they come. A block must
// have the finest that its area asks for, and 2:1 balance adds what it needs: a block-uniform quadtree of document 002,
// 1.2.1.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/shallow_water/input/raster.hpp"
#include "workloads/shallow_water/solution.hpp"

namespace amrbench::workloads::shallow_water {

/// Immutable; may be asked by several threads.
class ResolutionMap {
 public:
  /// `coarsest`: width and height of a cell of level 0 [m]. Throws support::InputError that names the file where it
  /// cannot be read, does not cover the domain, or asks for sizes that are none or that max_level does not reach.
  ResolutionMap(const std::string& file, const Setup& setup, const std::array<double, 2>& coarsest, int max_level);

  /// The least level that blocks over the box [low, high) [m] may have. O(raster cells in it).
  [[nodiscard]] int level(const std::array<double, 2>& low, const std::array<double, 2>& high) const;

 private:
  Raster raster_;                    ///< without its cells
  std::vector<std::int8_t> levels_;  ///< of them
};

}  // namespace amrbench::workloads::shallow_water
