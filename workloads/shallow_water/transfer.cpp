#include "workloads/shallow_water/transfer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "workloads/shallow_water/maps.hpp"
#include "workloads/shallow_water/single.hpp"

namespace amrbench::workloads::shallow_water {

namespace {

namespace water = kernels::shallow_water;

/// The smaller of two differences, 0 where they disagree.
double minmod_difference(double a, double b) {
  return std::max(0.0, std::min(a, b)) + std::min(0.0, std::max(a, b));
}

/// What four cells of one parent hold.
using Four = std::array<double, 4>;

double sum_of(const Four& x) {
  return (x[0] + x[1]) + (x[2] + x[3]);
}

/// The depths over `bed` that hold `volume` under the surfaces `surface`, all of them raised or lowered by one height.
Four depths_of(const Four& surface, const Four& bed, double volume) {
  Four above{};  // of each surface over its bed: the cell dries where the height falls to -above
  for (std::size_t k = 0; k < 4; ++k) above[k] = surface[k] - bed[k];
  Four order = above;
  std::sort(order.begin(), order.end(), std::greater<>());
  // With the first m cells wet the height is (volume - sum of their above) / m; m is right where that wets no other.
  double sum = 0.0, height = 0.0;
  for (std::size_t m = 1; m <= 4; ++m) {
    sum += order[m - 1];
    height = (volume - sum) / static_cast<double>(m);
    if (m < 4 && height + order[m] <= 0.0) break;
  }
  Four depth{};
  std::size_t deepest = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    depth[k] = std::max(0.0, above[k] + height);
    if (depth[k] > depth[deepest]) deepest = k;
  }
  depth[deepest] += volume - sum_of(depth);  // rounding
  return depth;
}

/// Half the distance to the next cell of the parent's plane along x or y, limited, of a quantity given by a function
/// of the cell; 0 at the edge of the block.
template <class Of>
double quarter_slope(const Of& of, int n, int x, int y, bool along_x) {
  const int at = along_x ? x : y;
  if (at == 0 || at == n - 1) return 0.0;
  const int dx = along_x ? 1 : 0, dy = along_x ? 0 : 1;
  const double here = of(x, y);
  return 0.25 * minmod_difference(here - of(x - dx, y - dy), of(x + dx, y + dy) - here);
}

}  // namespace

void WaterTransfer::merge(const kernels::BlockLayout& layout, std::span<const double* const> children,
                          double* parent) const {
  const int n = layout.cells[0], half = n / 2;
  const std::size_t plane = layout.block_cells();
  // The parent may lie where child 0 does: its quarter is written from cells not yet overwritten, row by row, into a
  // copy.
  std::vector<double> whole(layout.block_values());
  for (int octant = 0; octant < 4; ++octant) {
    const double* const child = children[std::size_t(octant)];
    for (std::size_t v = 0; v < std::size_t(layout.variables); ++v) {
      for (int y = 0; y < half; ++y) {
        const double* const low = child + v * plane + std::size_t(2 * y) * std::size_t(n);
        const double* const high = low + n;
        double* const to = whole.data() + v * plane + std::size_t(y + (octant & 2 ? half : 0)) * std::size_t(n) +
                           (octant & 1 ? half : 0);
        for (int x = 0; x < half; ++x) {
          const double a = low[2 * x], b = low[2 * x + 1], c = high[2 * x], d = high[2 * x + 1];
          to[x] = v < water::kVariables ? 0.25 * ((a + b) + (c + d)) : merge_map(static_cast<int>(v), a, b, c, d);
        }
      }
    }
  }
  if (is_single_) round_to_single(whole);
  std::copy(whole.begin(), whole.end(), parent);
}

void WaterTransfer::split(const kernels::BlockLayout& layout, const double* parent, int octant, double* child) const {
  const int n = layout.cells[0], half = n / 2;
  const std::size_t plane = layout.block_cells();
  std::vector<double> whole(layout.block_values());  // the child may lie where its parent does
  const auto value = [&](int v) {
    return
        [=](int x, int y) { return parent[std::size_t(v) * plane + std::size_t(y) * std::size_t(n) + std::size_t(x)]; };
  };
  const auto depth = value(water::kDepth), bed = value(water::kBed);
  const auto surface = [&](int x, int y) { return depth(x, y) + bed(x, y); };
  const auto is_deep = [&](int x, int y) {
    return std::min({depth(x, y), depth(std::max(x - 1, 0), y), depth(std::min(x + 1, n - 1), y),
                     depth(x, std::max(y - 1, 0)), depth(x, std::min(y + 1, n - 1))}) > dry_depth_;
  };
  for (int y = 0; y < half; ++y) {
    for (int x = 0; x < half; ++x) {
      const int px = x + (octant & 1 ? half : 0), py = y + (octant & 2 ? half : 0);
      Four slope_x{}, slope_y{};
      if (is_deep(px, py)) {
        slope_x[0] = quarter_slope(surface, n, px, py, true);
        slope_y[0] = quarter_slope(surface, n, px, py, false);
        for (int v = 1; v < water::kMoving; ++v) {
          slope_x[std::size_t(v)] = quarter_slope(value(v), n, px, py, true);
          slope_y[std::size_t(v)] = quarter_slope(value(v), n, px, py, false);
        }
        if (std::abs(slope_x[0]) + std::abs(slope_y[0]) > depth(px, py)) slope_x[0] = slope_y[0] = 0.0;
      }
      for (int k = 0; k < 4; ++k) {
        const std::size_t to = std::size_t(2 * y + (k >> 1)) * std::size_t(n) + std::size_t(2 * x + (k & 1));
        for (int v = 0; v < layout.variables; ++v) {
          double out = value(v)(px, py);
          if (v < water::kMoving)
            out += (k & 1 ? slope_x[std::size_t(v)] : -slope_x[std::size_t(v)]) +
                   (k & 2 ? slope_y[std::size_t(v)] : -slope_y[std::size_t(v)]);
          whole[std::size_t(v) * plane + to] = out;
        }
      }
    }
  }
  if (is_single_) round_to_single(whole);
  std::copy(whole.begin(), whole.end(), child);
}

void settle_bed(const Problem& problem, const amr::Mesh<2>& mesh, std::int32_t i, double* block) {
  const int n = problem.cells();
  const std::size_t plane = std::size_t(n) * std::size_t(n);
  std::vector<double> old(block + water::kBed * plane, block + (water::kBed + 1) * plane);
  problem.fill_bed(mesh, i, block);
  double* const h = block + water::kDepth * plane;
  const double* const z = block + water::kBed * plane;
  for (int y = 0; y < n; y += 2) {
    for (int x = 0; x < n; x += 2) {
      const std::size_t corner = std::size_t(y) * std::size_t(n) + std::size_t(x);
      const std::array<std::size_t, 4> at{corner, corner + 1, corner + std::size_t(n), corner + std::size_t(n) + 1};
      Four before{}, surface{}, bed{};
      bool is_same = true;
      for (std::size_t k = 0; k < 4; ++k) {
        before[k] = h[at[k]];
        surface[k] = before[k] + old[at[k]];
        bed[k] = z[at[k]];
        is_same = is_same && bed[k] == old[at[k]];
      }
      // Also blocks that come from another rank are new here: those over the same bed stay as they are.
      const double volume = sum_of(before);
      if (volume == 0.0 || is_same) continue;
      const Four after = depths_of(surface, bed, volume);
      bool shares = false;
      for (std::size_t k = 0; k < 4; ++k) {
        h[at[k]] = after[k];
        shares = shares || after[k] < 0.5 * before[k] || after[k] > 2.0 * before[k];
      }
      for (int v = 1; shares && v < water::kMoving; ++v) {
        double* const q = block + std::size_t(v) * plane;
        const double velocity = sum_of({q[at[0]], q[at[1]], q[at[2]], q[at[3]]}) / volume;
        for (std::size_t k = 0; k < 4; ++k) q[at[k]] = velocity * after[k];
      }
    }
  }
  if (problem.is_single()) round_to_single({block, water::kMoving * plane});
}

}  // namespace amrbench::workloads::shallow_water
