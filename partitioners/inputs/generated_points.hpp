#pragma once
// Points and weights made from a seed. Each is a function of (kind, dimension, seed, its number), so that any rank or
// thread makes any part of an input, and the same text gives the same points on every machine.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace amrbench::partitioners {

/// All lie in [0, 1)^dim. Draws of `uniform`, `cluster` and weights have 24 bits, so that float and double inputs hold
/// the same values.
enum class PointKind {
  uniform,  ///< 1 to 16 dimensions
  cluster,  ///< half of the points uniform, half in the lower left corner's cube of edge 1/16; 1 to 16 dimensions
  plummer,  ///< Plummer's sphere, scale radius 1/64, around the middle, cut off at radius 1/2; in 2-D its projection
  field,    ///< density like a smoothed Gaussian field's exponential: a lattice displaced by 48 plane waves; 2-D, 3-D
  corner,   ///< half of the points uniform, half with coordinates 0.1 u v w of uniform u, v, w: ever denser towards the
            ///< origin; 1 to 16 dimensions, 53 bits
};

/// The kind called `name`; nothing when there is none.
std::optional<PointKind> point_kind(std::string_view name);

/// 1 to 16 dimensions; 2 and 3 of `plummer` and `field`.
bool kind_has_dimension(PointKind kind, int dim);

/// coordinates[i * dim + a] of points first .. first + coordinates.size() / dim - 1. dim must be one the kind has.
/// `threads` (0: all that OpenMP offers) change nothing but the time. T: float or double.
template <class T>
void make_points(PointKind kind, int dim, std::uint64_t seed, std::uint64_t first, std::span<T> coordinates,
                 int threads = 0);

/// Weights of points first .., uniform in (0, 1].
void make_weights(std::uint64_t seed, std::uint64_t first, std::span<double> weights, int threads = 0);

/// Uniform in [0, 1) with 53 random bits: number `index` of the stream `seed`.
double counter_uniform(std::uint64_t seed, std::uint64_t index);

}  // namespace amrbench::partitioners
