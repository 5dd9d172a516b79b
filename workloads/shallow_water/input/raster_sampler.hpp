#pragma once
// What a raster says of boxes: the beds, depths and roughnesses of mesh cells.
#include <cstdint>

#include "workloads/shallow_water/input/raster.hpp"

namespace amrbench::workloads::shallow_water {

/// The box [x0, x1) x [y0, y1), m. Finite, x0 < x1, y0 < y1.
struct RasterBox {
  double x0, x1;
  double y0, y1;
};

/// What stands for a box that is at most as wide and as high as a raster cell.
enum class SmallBoxes {
  mean,      ///< the mean, as of larger ones: inside a raster cell that cell's value. Means of parts add up to the
             ///< whole's, but a bed refined beyond its raster has steps
  bilinear,  ///< bilinear between centres of raster cells, at the box's centre: a refined bed is continuous
};

/// Looks boxes up. Keeps nothing between calls: any number of threads may ask one sampler, and a box has the same bits
/// whatever was asked before. The raster must outlive it. Boxes that are invalid (RasterBox) are refused with
/// std::invalid_argument.
///
/// Edges within 1e-9 of a raster cell from a raster line count as on it. Where all data touched are equal, results
/// equal them.
class RasterSampler {
 public:
  /// std::invalid_argument where the raster's shape is none. O(1).
  explicit RasterSampler(const Raster& raster, SmallBoxes small = SmallBoxes::bilinear);
  explicit RasterSampler(Raster&&, SmallBoxes = SmallBoxes::bilinear) = delete;

  /// By the box's size, mean() or bilinear(), as SmallBoxes says.
  [[nodiscard]] double value(const RasterBox& box) const;
  /// Mean weighted by area, of cells with data in the part of the box inside the raster; NaN where there are none.
  /// O(cells touched).
  [[nodiscard]] double mean(const RasterBox& box) const;
  /// Bilinear between the four centres around a place; within half a cell of the raster's edge constant across it.
  /// Cells without data are left out and the others' weights made up to 1; NaN where all have none, and outside. O(1).
  [[nodiscard]] double bilinear(double x, double y) const;
  /// Whether the box lies in the raster, up to a millionth of a raster cell.
  [[nodiscard]] bool covers(const RasterBox& box) const;

 private:
  const Raster& raster_;
  SmallBoxes small_;
};

}  // namespace amrbench::workloads::shallow_water
