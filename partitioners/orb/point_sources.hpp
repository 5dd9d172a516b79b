#pragma once
// Where a round of the multiway method takes its points from: sources in the sense of RoundWalk.
#include <algorithm>
#include <cstdint>

#include "partitioners/orb/round_tree.hpp"
#include "partitioners/orb/rules.hpp"

namespace amrbench::partitioners {

/// Packed coordinates; a point's number is its position after `first_id`.
template <class T, int Dim>
struct InputSource {
  const T* coordinates = nullptr;
  std::uint64_t count = 0;
  std::uint32_t first_id = 0;

  [[nodiscard]] OrbPoint<T, Dim> point(std::uint64_t i) const {
    OrbPoint<T, Dim> p;
    for (int a = 0; a < Dim; ++a) p.x[a] = coordinates[i * Dim + static_cast<unsigned>(a)];
    p.id = first_id + static_cast<std::uint32_t>(i);
    return p;
  }
  void prefetch(std::uint64_t i) const { __builtin_prefetch(coordinates + i * Dim); }
  void block(std::uint64_t first, T* x) const {
    constexpr int kBlock = RoundTree<T, Dim>::kBlock;
    const int n = static_cast<int>(std::min<std::uint64_t>(kBlock, count - first));
    const T* from = coordinates + first * Dim;
    for (int a = 0; a < Dim; ++a) {
      for (int i = 0; i < n; ++i) x[a * kBlock + i] = from[i * Dim + a];
      for (int i = n; i < kBlock; ++i) x[a * kBlock + i] = 0;
    }
  }
};

/// Points that an earlier round moved.
template <class T, int Dim>
struct PointSource {
  const OrbPoint<T, Dim>* points = nullptr;
  std::uint64_t count = 0;

  [[nodiscard]] const OrbPoint<T, Dim>& point(std::uint64_t i) const { return points[i]; }
  void prefetch(std::uint64_t i) const { __builtin_prefetch(points + i); }
  void block(std::uint64_t first, T* x) const {
    constexpr int kBlock = RoundTree<T, Dim>::kBlock;
    const int n = static_cast<int>(std::min<std::uint64_t>(kBlock, count - first));
    for (int i = 0; i < n; ++i)
      for (int a = 0; a < Dim; ++a) x[a * kBlock + i] = points[first + static_cast<unsigned>(i)].x[a];
    for (int a = 0; a < Dim; ++a)
      for (int i = n; i < kBlock; ++i) x[a * kBlock + i] = 0;
  }
};

}  // namespace amrbench::partitioners
