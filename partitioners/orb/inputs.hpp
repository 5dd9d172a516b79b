#pragma once
// Points to cut, made from a seed: a point is a function of (kind, seed, its number), so that any rank or thread can
// make any part of an input.
#include <cstdint>
#include <span>
#include <string_view>

#include "support/page_buffer.hpp"

namespace amrbench::partitioners {

enum class OrbInputKind {
  uniform,  ///< in [0, 1)^Dim
  cluster,  ///< half of the points uniform, half in the lower left corner's cube of edge 1/16
  plummer,  ///< Plummer's sphere, scale radius 1/64, around the middle, cut off at radius 1/2; in 2-D its projection
  field,    ///< density like a smoothed Gaussian field's exponential: a lattice displaced by 48 plane waves
};

/// coordinates[i * Dim + a] of points first .. first + coordinates.size() / Dim - 1, all in [0, 1). Threads; the result
/// does not depend on them.
template <class T, int Dim>
void make_orb_points(OrbInputKind kind, std::uint64_t seed, std::uint64_t first, std::span<T> coordinates);

/// Weights in (0, 1], uniform, of points first ..
void make_orb_weights(std::uint64_t seed, std::uint64_t first, std::span<double> weights);

/// The kind called `name`; support::InputError that lists the names when there is none.
OrbInputKind orb_input_kind(std::string_view name);

}  // namespace amrbench::partitioners
