#pragma once
// Records that a kd-tree's build moves about, and the loops over them: tight boxes and partitioning in place.
//
// A record is a copy of a point with its index, so that a node's points lie together and each level streams through
// memory. Only this folder and kd_tree.cpp include this.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "partitioners/parts/compact_cut.hpp"

namespace amrbench::partitioners::kd {

struct NoWeight {};

/// Dim coordinates, index and perhaps weight. 3-D double without weight is 32 bytes, 3-D float 16.
template <class T, int D, class Index_, bool Weighted>
struct Record {
  using Scalar = T;
  using Index = Index_;
  static constexpr int kDim = D;
  static constexpr bool kWeighted = Weighted;

  T x[D];
  Index id;
  [[no_unique_address]] std::conditional_t<Weighted, std::uint64_t, NoWeight> weight;
};

template <class T, int D>
struct Box {
  std::array<T, D> lo;
  std::array<T, D> hi;

  static Box empty() {
    Box b;
    b.lo.fill(std::numeric_limits<T>::infinity());
    b.hi.fill(-std::numeric_limits<T>::infinity());
    return b;
  }
  void merge(const Box& o) {
    for (int d = 0; d < D; ++d) {
      lo[d] = o.lo[d] < lo[d] ? o.lo[d] : lo[d];
      hi[d] = o.hi[d] > hi[d] ? o.hi[d] : hi[d];
    }
  }
};

/// The longest axis, the first of equal ones. Sides that overflow to infinity count as equal.
template <class T, int D>
int longest_axis(const Box<T, D>& box) {
  int axis = 0;
  T side = box.hi[0] - box.lo[0];
  for (int d = 1; d < D; ++d) {
    const T s = box.hi[d] - box.lo[d];
    axis = s > side ? d : axis;
    side = s > side ? s : side;
  }
  return axis;
}

/// How the parts-aware tree cuts a node that serves `parts` >= 2: halves across the longest side, or what compact_cut()
/// finds.
template <class T, int D>
PartsCut parts_cut(const Box<T, D>& box, int parts, bool compact_parts) {
  if (!compact_parts) return {longest_axis(box), parts / 2};
  std::array<double, static_cast<std::size_t>(D)> sides{};
  for (std::size_t d = 0; d < sides.size(); ++d) sides[d] = static_cast<double>(box.hi[d] - box.lo[d]);
  return compact_cut(sides, parts);
}

/// A value v with lo <= v < hi near the middle; lo < hi.
template <class T>
T middle(T lo, T hi) {
  const T half = hi / 2 - lo / 2;  // hi - lo may overflow
  const T mid = lo + half;
  return mid < hi && mid >= lo ? mid : lo;
}

/// Records of three coordinates that fill four lanes of a vector; what the last one holds is not used.
template <class R>
inline constexpr bool kFourLanes = R::kDim == 3 && sizeof(R) == 4 * sizeof(typename R::Scalar);

/// The box of such records, a record an instruction; four chains, since a minimum takes longer than a load.
template <class R>
Box<typename R::Scalar, R::kDim> bounding_box_of_lanes(const R* r, std::size_t n) {
  using T = typename R::Scalar;
  typedef T Lanes __attribute__((vector_size(4 * sizeof(T))));
  constexpr std::size_t kChains = 4;
  constexpr T kFar = std::numeric_limits<T>::infinity();
  Lanes lo[kChains], hi[kChains];
  for (std::size_t c = 0; c < kChains; ++c) {
    lo[c] = Lanes{kFar, kFar, kFar, kFar};
    hi[c] = -lo[c];
  }
  const auto add = [&](std::size_t i, std::size_t c) {
    Lanes v;
    std::memcpy(&v, r + i, sizeof(v));
    lo[c] = v < lo[c] ? v : lo[c];
    hi[c] = v > hi[c] ? v : hi[c];
  };
  std::size_t i = 0;
  for (; i + kChains <= n; i += kChains) {
    for (std::size_t c = 0; c < kChains; ++c) add(i + c, c);
  }
  for (; i < n; ++i) add(i, 0);
  auto box = Box<T, R::kDim>::empty();
  for (std::size_t c = 0; c < kChains; ++c) {
    for (std::size_t d = 0; d < 3; ++d) {
      box.lo[d] = std::min(box.lo[d], lo[c][d]);
      box.hi[d] = std::max(box.hi[d], hi[c][d]);
    }
  }
  return box;
}

template <class R>
Box<typename R::Scalar, R::kDim> bounding_box(const R* r, std::size_t n) {
  using T = typename R::Scalar;
  if constexpr (kFourLanes<R>) return bounding_box_of_lanes(r, n);
  auto box = Box<T, R::kDim>::empty();
  for (std::size_t i = 0; i < n; ++i) {
    for (int d = 0; d < R::kDim; ++d) {
      const T v = r[i].x[d];
      box.lo[d] = v < box.lo[d] ? v : box.lo[d];
      box.hi[d] = v > box.hi[d] ? v : box.hi[d];
    }
  }
  return box;
}

/// Swaps two records, which may be one, as bytes: copied as members those with padding at the end take two overlapping
/// moves, the second of which waits for the first.
template <class R>
void swap_records(R* p, R* q) {
  unsigned char a[sizeof(R)], b[sizeof(R)];
  std::memcpy(a, p, sizeof(R));
  std::memcpy(b, q, sizeof(R));
  std::memcpy(p, b, sizeof(R));
  std::memcpy(q, a, sizeof(R));
}

/// Moves records for which lower() holds in front of the others and returns their number. The result depends on the
/// order before. Without branches: each step writes both records, so unpredictable sides cost nothing.
template <class R, class Lower>
std::size_t partition_records(R* r, std::size_t n, Lower lower) {
  std::size_t j = 0;
  for (std::size_t i = 0; i < n; ++i) {
    // Asked before the record moves: a coordinate loaded from a copy just stored would wait for the store.
    const bool low = lower(r[i]);
    swap_records(r + i, r + j);
    j += low ? 1 : 0;
  }
  return j;
}

/// Predicates of partition_records.
template <class R>
struct UpTo {  ///< coordinates <= value
  typename R::Scalar value;
  int axis;
  bool operator()(const R& r) const { return r.x[axis] <= value; }
};
template <class R>
struct UpToKey {  ///< (coordinate, index) <= (value, id)
  typename R::Scalar value;
  typename R::Index id;
  int axis;
  bool operator()(const R& r) const {
    return static_cast<bool>(static_cast<int>(r.x[axis] < value) |
                             (static_cast<int>(r.x[axis] == value) & static_cast<int>(r.id <= id)));
  }
};
template <class R>
UpToKey<R> up_to(const R& r, int axis) {
  return {r.x[axis], r.id, axis};
}
/// Strict order by (coordinate, index).
template <class R>
struct KeyLess {
  int axis;
  bool operator()(const R& a, const R& b) const {
    return a.x[axis] < b.x[axis] || (a.x[axis] == b.x[axis] && a.id < b.id);
  }
};

}  // namespace amrbench::partitioners::kd
