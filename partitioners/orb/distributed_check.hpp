#pragma once
// What ranks tell each other of their points before they cut, and the refusal of bad input on all of them alike.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "partitioners/orb/orb.hpp"
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
    if (options.leaves == 0) throw InputError("leaves is 0; at least 1 is needed");
    if (options.leaves > all.n)
      throw InputError(
          fmt::format("leaves is {}, but there are only {} points; a leaf needs a point", options.leaves, all.n));
    if (all.n > kOrbMaxPoints) throw InputError(fmt::format("{} points; at most 2^32 are possible", all.n));
    if (all.weighted && mine.weights != mine.points)
      throw InputError(fmt::format("rank {}: {} weights for {} points; one a point is needed", comm.rank(),
                                   mine.weights, mine.points));
    if (!(options.side_tolerance >= 0 && options.side_tolerance < 1))
      throw InputError(fmt::format("side tolerance is {}; it must be in [0, 1)", options.side_tolerance));
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
  for (std::size_t a = 0; a < Dim; ++a) {  // + 0: no negative zero
    all.box.lower[a] = static_cast<T>(least[2 + a]) + T(0);
    all.box.upper[a] = static_cast<T>(-least[2 + Dim + a]) + T(0);
  }
  return all;
}

}  // namespace amrbench::partitioners::detail
