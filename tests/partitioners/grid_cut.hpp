#pragma once
// Points on grids, and the cut and degree of parts under a grid's stencil, counted point by point.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

namespace amrbench::partitioners {

/// Extents of a grid; z = 1 is a plane, whose points have two coordinates.
struct Grid {
  int x, y, z;
  [[nodiscard]] int dim() const { return z == 1 ? 2 : 3; }
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(x) * static_cast<std::size_t>(y) * static_cast<std::size_t>(z);
  }
  [[nodiscard]] std::size_t at(int i, int j, int k) const {
    return (static_cast<std::size_t>(k) * static_cast<std::size_t>(y) + static_cast<std::size_t>(j)) *
               static_cast<std::size_t>(x) +
           static_cast<std::size_t>(i);
  }
};

template <class T = double>
std::vector<T> grid_points(const Grid& g) {
  std::vector<T> points;
  points.reserve(g.size() * static_cast<std::size_t>(g.dim()));
  for (int k = 0; k < g.z; ++k) {
    for (int j = 0; j < g.y; ++j) {
      for (int i = 0; i < g.x; ++i) {
        points.push_back(static_cast<T>(i));
        points.push_back(static_cast<T>(j));
        if (g.dim() == 3) points.push_back(static_cast<T>(k));
      }
    }
  }
  return points;
}

struct CutAndDegree {
  int cut = 0;     ///< most stencil edges that leave a part
  int degree = 0;  ///< most parts that a part touches
};

/// faces: neighbours across faces only, else across edges and corners too.
inline CutAndDegree cut_and_degree(const Grid& g, std::span<const std::int32_t> part, int parts, bool faces) {
  std::vector<int> cut(static_cast<std::size_t>(parts)), degree(static_cast<std::size_t>(parts));
  std::vector<std::pair<int, int>> pairs;
  const int deep = g.dim() == 3 ? 1 : 0;
  for (int k = 0; k < g.z; ++k) {
    for (int j = 0; j < g.y; ++j) {
      for (int i = 0; i < g.x; ++i) {
        const int own = part[g.at(i, j, k)];
        for (int c = -deep; c <= deep; ++c) {
          for (int b = -1; b <= 1; ++b) {
            for (int a = -1; a <= 1; ++a) {
              if (faces && std::abs(a) + std::abs(b) + std::abs(c) != 1) continue;
              if (i + a < 0 || i + a >= g.x || j + b < 0 || j + b >= g.y || k + c < 0 || k + c >= g.z) continue;
              const int other = part[g.at(i + a, j + b, k + c)];
              if (other == own) continue;
              ++cut[static_cast<std::size_t>(own)];
              pairs.emplace_back(own, other);
            }
          }
        }
      }
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  for (const auto& p : pairs) ++degree[static_cast<std::size_t>(p.first)];
  return {*std::max_element(cut.begin(), cut.end()), *std::max_element(degree.begin(), degree.end())};
}

}  // namespace amrbench::partitioners
