#pragma once
// Files of `amrbench partition` that show the parts or the curve: PNG pictures in two dimensions, VTK for ParaView.
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "partitioners/inputs/stencil_graph.hpp"
#include "partitioners/points.hpp"

namespace amrbench::apps {

/// What to draw, borrowed.
struct Drawing {
  partitioners::PointView<double> points;         ///< two or three dimensions
  const partitioners::GridShape* grid = nullptr;  ///< set where the points are its cell centres
  std::span<const std::int32_t> part{};           ///< of each point
  std::span<const std::uint32_t> order{};         ///< points along the curve; empty where there is none
  bool sphere = false;                            ///< points of three dimensions on a sphere around the origin
  bool curve = false;                             ///< draw the curve rather than the parts
};

/// Whether this build can write PNG files (libpng).
bool pictures_available();

/// A PNG image of at most `pixels` along its longer side, y upwards. Parts: every cell of a grid, or a dot a point, in
/// the colour of its part; of a sphere the half that is seen from far away at longitude and latitude 30 degrees, parts
/// only. Curve: its line over pale parts, from blue at the start over green to red. Throws support::InputError when the
/// points have not two dimensions and are no sphere, there is no order for the curve, or there is no libpng.
std::string png_picture(const Drawing& drawing, int pixels);

/// A legacy VTK file (version 3.0, binary). Parts of a grid: structured points with cell data; parts of points:
/// vertices with point data. Both carry `part` and, where there is an order, `position` along it. Curve: one poly-line
/// through the points in order, with the same data. Two-dimensional points lie at z = 0. Throws support::InputError for
/// other dimensions, or a curve without an order.
std::string vtk_file(const Drawing& drawing);

}  // namespace amrbench::apps
