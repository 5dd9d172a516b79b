#pragma once
// What ranks tell each other of their points before they cut, and the refusal of bad input on all of them alike.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "partitioners/orb/tree.hpp"
#include "partitioners/weights.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners::detail {

/// What every rank knows of all points.
template <class T, int Dim>
struct Common {
  std::vector<std::uint64_t> counts;  ///< points of each rank
  std::uint64_t n = 0;
  std::uint64_t first = 0;  ///< number of this rank's first point
  bool weighted = false;
  OrbBox<T, Dim> box;
  double largest = 0;  ///< weight
  int exponent = 0;    ///< of weights (weights.hpp)

  /// Uncut; the weight of its root is the number of points.
  [[nodiscard]] OrbTree<T, Dim> tree(std::uint32_t leaves) const {
    return make_orb_tree<T, Dim>(leaves, box, n, n, std::ldexp(1.0, -exponent));
  }
};

/// Collective, 2 collectives. Where a rank refuses its input, all throw the message of the first one that does.
/// points, weights: how many this rank has; examine(common) looks at them, and sets box and largest weight of its own.
template <class T, int Dim, class Examine>
Common<T, Dim> check_input(const support::Communicator& comm, std::uint64_t points, std::uint64_t weights,
                           const OrbOptions& options, Examine&& examine) {
  using support::InputError;
  struct Sizes {
    std::uint64_t points, weights;
  };
  Common<T, Dim> all;
  const Sizes mine{points, weights};
  for (const Sizes& sizes : support::all_gather(comm, mine)) {
    if (all.counts.size() < static_cast<std::size_t>(comm.rank())) all.first += sizes.points;
    all.counts.push_back(sizes.points);
    all.n += sizes.points;
    all.weighted = all.weighted || sizes.weights > 0;
  }
  std::string message;
  try {
    std::string wrong_weights;
    if (all.weighted && mine.weights != mine.points)
      wrong_weights = fmt::format("rank {}: {} weights for {} points; one a point is needed", comm.rank(), mine.weights,
                                  mine.points);
    check_orb_options(options, all.n, wrong_weights);
    examine(all);
  } catch (const InputError& error) {
    message = error.what();
  }
  // One reduction: the first rank that refuses, the box, and the largest weight, as minima.
  std::array<double, 2 * Dim + 2> least{};
  least[0] = message.empty() ? comm.size() : comm.rank();
  least[1] = -all.largest;
  for (std::size_t a = 0; a < Dim; ++a) {
    least[2 + a] = static_cast<double>(all.box.lower[a]);
    least[2 + Dim + a] = -static_cast<double>(all.box.upper[a]);
  }
  support::all_min(comm, std::span<double>(least));
  const auto refusing = static_cast<int>(least[0]);
  if (refusing < comm.size()) throw InputError(support::broadcast_string(comm, message, refusing));
  all.largest = -least[1];
  if (all.weighted) all.exponent = fixed_point_shift(all.n, all.largest, kOrbWeightBits);
  for (std::size_t a = 0; a < Dim; ++a) {  // + 0: no negative zero
    all.box.lower[a] = static_cast<T>(least[2 + a]) + T(0);
    all.box.upper[a] = static_cast<T>(-least[2 + Dim + a]) + T(0);
  }
  return all;
}

}  // namespace amrbench::partitioners::detail
