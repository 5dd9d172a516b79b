#pragma once
// Charts: maps of a sphere's points to the plane, so that curves of two dimensions run over it.
//
// hemispheres: north and south are parted at the equator, or so near to it that a whole number of slices is in either:
// no slice lies in both, and where points weigh the same and parts are 2^k slices meet the cells of a median tree. Each
// by the azimuthal equidistant projection around its pole: with r the distance from that pole along the sphere and l
// the longitude, (r cos l, r sin l) in the north and (r cos l, -r sin l) in the south. The curve goes through the north
// from the lower left corner of its box to the lower right one, longitude -45 degrees, and through the south from the
// upper right corner, which is the same place on the equator, to the upper left one: so it goes on where it was.
// Corners of a box hold no points of a disc: the step over the equator is some spacings long. Source: document 001,
// section 3.2.1.2, equations 3.1 to 3.6.
//
// conformal: the same with two halves by the stereographic projection, r = tan(angle from the pole / 2), which keeps
// angles: a square of the plane is one on the sphere, where the azimuthal equidistant one draws squares near the
// equator out to 1 : pi / 2. The pole is the coordinate axis whose equator comes nearest to halving the weight (z, x,
// y, the first within 1 % of the best), so that a mesh refined on one side falls into halves, and longitude is counted
// from atan(1 / 3), 18 degrees, off: meshes have rows and symmetries along the axes, which cuts would follow.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "partitioners/points.hpp"

namespace amrbench::partitioners {

struct CurveEntrance;
struct KdTreeOptions;
enum class TreeCurve : std::uint8_t;

enum class Chart : std::uint8_t { none, hemispheres, conformal };
/// Throws support::InputError that lists the names when there is none called `name`; what: the option it is from.
Chart chart_from_name(std::string_view name, std::string_view what);
std::string_view chart_name(Chart chart);

/// Points of one hemisphere in the plane.
struct FlatHemisphere {
  std::vector<double> flat;          ///< two coordinates a point, in radii of the sphere (r as above)
  std::vector<std::uint32_t> point;  ///< their numbers, ascending
  int parts = 0;                     ///< slices that lie in it; 0 in both where there are too few for both
};

/// Weights of a hemisphere's points; empty where there are none.
std::vector<std::uint64_t> weights_of(const FlatHemisphere& half, std::span<const std::uint64_t> weights);

/// Where the curve enters the north (0) and the south (1).
CurveEntrance hemisphere_entrance(std::size_t half);

/// North and south. weights: one a point from fixed_point_weights(), or empty; parts >= 1: slices of both together,
/// each of which is wholly in one (SliceRule::midpoint), where there are enough of them. Points at one height go north
/// by x, then y, then number. The points must be of three dimensions and lie on one sphere around the origin, of any
/// radius, within 1e-3 of it: else support::InputError that names the first that does not. chart: not none; north and z
/// are those of its pole. O(n).
std::array<FlatHemisphere, 2> hemispheres(PointView<double> points, std::span<const std::uint64_t> weights, int parts,
                                          int threads = 0, Chart chart = Chart::hemispheres);

/// The same by axes, for what reads one coordinate at a time: points of the north stand first, those of either half by
/// number. xy, point: memory for all points. weights, parts, chart, errors: as above.
struct HemispheresByAxes {
  std::array<std::size_t, 2> count{};  ///< points
  std::array<int, 2> parts{};
};
HemispheresByAxes hemispheres_by_axes(PointView<double> points, std::span<const std::uint64_t> weights, int parts,
                                      int threads, Chart chart, const std::array<double*, 2>& xy, std::uint32_t* point);

/// Points along the curve through north and south: a permutation. weights, parts: as above. options: of each
/// hemisphere's tree, but for the entrance. Returns the most bytes held besides input and order. Errors as above and as
/// of curve_order(). Serial but for the trees.
std::size_t charted_order(PointView<double> points, std::span<const std::uint64_t> weights,
                          const KdTreeOptions& options, TreeCurve curve, int parts, std::span<std::uint32_t> order,
                          Chart chart = Chart::hemispheres);

}  // namespace amrbench::partitioners
