#include "kernels/layout.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace amrbench::kernels {

BlockLayout make_layout(const std::array<int, 3>& cells, int variables, int most_lanes) {
  if (cells[2] == 1) return {cells, variables, 1, variables};
  BlockLayout layout;
  layout.cells = cells;
  layout.variables = variables;
  int waste = std::numeric_limits<int>::max();
  for (int lanes = most_lanes; lanes >= 1; --lanes) {
    const int chunks = (variables + lanes - 1) / lanes;
    // Few lanes mean many short rows: below 4 lanes a little padding is the smaller loss.
    const int cost = chunks * lanes - variables + (lanes < 4 && variables >= 4 ? 1 : 0) * (variables / 8 + 1);
    if (cost < waste) {
      waste = cost;
      layout.lanes = lanes;
      layout.chunks = chunks;
    }
  }
  return layout;
}

BlockLayout make_layout(const std::array<int, 3>& cells, int variables, const LaneSpeeds& speeds) {
  if (cells[2] == 1) return make_layout(cells, variables);
  constexpr double kGain = 1.03;
  const auto padded = [&](int lanes) { return (variables + lanes - 1) / lanes * lanes; };
  const auto speed = [&](int lanes) { return speeds[lanes - 1] / double(padded(lanes)); };
  double fastest = 0;
  for (int lanes = 1; lanes <= kMaxLanes; ++lanes) fastest = std::max(fastest, speed(lanes));
  int best = 0;
  for (int lanes = kMaxLanes; lanes >= 1; --lanes) {
    if (speed(lanes) * kGain < fastest) continue;
    if (best == 0 || padded(lanes) < padded(best) || (padded(lanes) == padded(best) && speed(lanes) > speed(best)))
      best = lanes;
  }
  return {cells, variables, best, padded(best) / best};
}

void change_layout(const BlockLayout& from, const double* values, const BlockLayout& to, double* out) {
  for (int v = 0; v < to.lanes * to.chunks; ++v) {
    double* const cells = out + std::size_t(v / to.lanes) * to.chunk_values() + std::size_t(v % to.lanes);
    const double* const old = values + from.offset(std::min(v, from.variables - 1), 0, 0, 0);
    for (std::size_t cell = 0; cell < to.block_cells(); ++cell)
      cells[cell * std::size_t(to.lanes)] = v < from.variables ? old[cell * std::size_t(from.lanes)] : 0.0;
  }
}

std::size_t result_skew(const BlockLayout& layout) {
  constexpr int kPage = static_cast<int>(kPageValues), kHalf = kPage / 2;
  constexpr int kEnough = 64;  // doubles: eight vectors of results are stored by the time
  const auto apart = [](int a, std::size_t b) {
    const int d = std::abs(a - static_cast<int>(b % kPageValues));
    return std::min(d, kPage - d);
  };
  const auto room = [&](int skew) {
    int least = kEnough;
    for (const std::size_t shift : {std::size_t{0}, layout.row_values(), layout.plane_values()})
      least = std::min({least, apart(skew, shift), apart(kPage - skew, shift)});
    return least;
  };
  int best = kHalf;
  for (int k = 8; k < kHalf; k += 8)
    for (const int skew : {kHalf - k, kHalf + k})
      if (room(skew) > room(best)) best = skew;
  return static_cast<std::size_t>(best);
}

}  // namespace amrbench::kernels
