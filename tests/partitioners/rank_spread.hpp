#pragma once
// Points dealt out to ranks at random, for tests over ranks.
#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "partitioners/partitioner.hpp"

namespace amrbench::partitioners {

/// Where each rank's points begin, ranks + 1 places: at random, so that some ranks have none; all on one rank at times.
inline std::vector<std::size_t> random_spread(std::size_t n, int ranks, std::mt19937_64& rng) {
  std::vector<std::size_t> cuts{0, n};
  const bool one = rng() % 4 == 0;
  const std::size_t owner = rng() % static_cast<std::size_t>(ranks);
  for (std::size_t r = 1; r < static_cast<std::size_t>(ranks); ++r)
    cuts.push_back(one ? (r <= owner ? 0 : n) : rng() % (n + 1));
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

/// A rank's points and weights.
inline Problem share_of(const Problem& all, const std::vector<std::size_t>& cuts, int rank) {
  const std::size_t begin = cuts[static_cast<std::size_t>(rank)];
  const std::size_t count = cuts[static_cast<std::size_t>(rank) + 1] - begin;
  const auto dim = static_cast<std::size_t>(all.points.dim);
  Problem mine = all;
  mine.points.data = all.points.data.subspan(begin * dim, count * dim);
  if (!all.weights.empty()) mine.weights = all.weights.subspan(begin, count);
  return mine;
}

}  // namespace amrbench::partitioners
