#pragma once
// A serial shallow-water run on blocks of one or two levels, for tests: the plainest thing around advance_block.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "kernels/shallow_water/block.hpp"
#include "kernels/shallow_water/boundary.hpp"

namespace amrbench::kernels::shallow_water::checks {

/// Values of the cell with this centre and size.
using CellFunction = std::function<std::array<double, kVariables>(double x, double y, double dx, double dy)>;

/// Sides of the domain: a boundary condition, or the other side, or cells given from outside.
struct GridSide {
  enum class Kind { boundary, periodic, given } kind = Kind::boundary;
  Boundary<double> boundary;
};

/// blocks[0] x blocks[1] coarse blocks of n x n cells, of which some are four fine ones instead.
template <class Real>
class Grid {
 public:
  struct Block {
    int level, bx, by;
    BlockShape<Real> shape;
    std::vector<Real> values, next, first;
  };
  Grid(
      int n, std::array<int, 2> blocks, std::array<double, 2> low, std::array<double, 2> high,
      const std::function<bool(int, int)>& fine = [](int, int) { return false; })
      : n_(n), count_(blocks), low_(low), scratch_(n) {
    for (int level = 0; level < 2; ++level) index_[level].assign(std::size_t(count(level, 0)) * count(level, 1), -1);
    for (int y = 0; y < blocks[1]; ++y)
      for (int x = 0; x < blocks[0]; ++x) {
        const int level = fine(x, y) ? 1 : 0;
        for (int k = 0; k < (level == 0 ? 1 : 4); ++k)
          add(level, level == 0 ? x : 2 * x + k % 2, level == 0 ? y : 2 * y + k / 2, low, high);
      }
  }

  std::array<GridSide, 4> sides;
  CellFunction given;  ///< cells outside sides of kind `given`
  Physics<Real> physics;
  double cfl = 0.45;
  double longest_step = 1e300;  ///< where little moves yet, but water comes in from a side
  double time = 0;

  [[nodiscard]] std::vector<Block>& blocks() { return blocks_; }
  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }
  [[nodiscard]] int cells() const { return n_; }
  [[nodiscard]] std::array<double, 2> centre(const Block& b, int x, int y) const {
    return {low_[0] + (double(b.bx) * n_ + x + 0.5) * b.shape.dx, low_[1] + (double(b.by) * n_ + y + 0.5) * b.shape.dy};
  }
  void fill(const CellFunction& values) {
    for (Block& b : blocks_)
      for (int y = 0; y < n_; ++y)
        for (int x = 0; x < n_; ++x) {
          const auto at = centre(b, x, y);
          const auto cell = values(at[0], at[1], b.shape.dx, b.shape.dy);
          for (int v = 0; v < kVariables; ++v) b.values[v * b.shape.plane() + std::size_t(y) * n_ + x] = Real(cell[v]);
        }
    result_ = {};
    for (const Block& b : blocks_) merge(measure_block(b.shape, physics, b.values.data()));
  }
  /// One time step of both stages, at most `longest`. Returns its length.
  double step(double longest) {
    const Real dt =
        Real(std::min({longest, longest_step, result_.fastest > 0 ? cfl / double(result_.fastest) : longest}));
    for (Block& b : blocks_) b.first = b.values;
    stage(dt, false);
    stage(dt, true);
    time += double(dt);
    return double(dt);
  }
  void run(double end) {
    while (time < end * (1 - 1e-12)) step(end - time);
  }
  [[nodiscard]] const StepResult<Real>& result() const { return result_; }
  [[nodiscard]] double fastest() const { return double(result_.fastest); }
  /// Volume of the water.
  [[nodiscard]] double volume() const {
    long double sum = 0;
    for (const Block& b : blocks_) {
      long double here = 0;
      for (std::size_t i = 0; i < b.shape.plane(); ++i) here += b.values[i];
      sum += here * b.shape.dx * b.shape.dy;
    }
    return double(sum);
  }
  /// Calls visit(x, y, area, values of the cell) for every cell.
  template <class Visit>
  void each(Visit visit) const {
    for (const Block& b : blocks_)
      for (int y = 0; y < n_; ++y)
        for (int x = 0; x < n_; ++x) {
          std::array<double, kVariables> cell;
          for (int v = 0; v < kVariables; ++v)
            cell[v] = double(b.values[v * b.shape.plane() + std::size_t(y) * n_ + x]);
          const auto at = centre(b, x, y);
          visit(at[0], at[1], double(b.shape.dx) * double(b.shape.dy), cell);
        }
  }
  /// The strips of a block, as they are now; `memory` holds them.
  std::array<Strip<Real>, 4> strips_of(const Block& b, std::array<std::vector<Real>, 4>& memory) const {
    std::array<Strip<Real>, 4> strips;
    for (int face = 0; face < 4; ++face) {
      strips[face].kind = gather(b, face, memory[face]);
      strips[face].values = memory[face].data();
    }
    return strips;
  }

 private:
  [[nodiscard]] int count(int level, int axis) const { return count_[axis] << level; }
  [[nodiscard]] const Block* find(int level, int x, int y) const {
    const int i = index_[level][std::size_t(y) * count(level, 0) + x];
    return i < 0 ? nullptr : &blocks_[i];
  }
  void add(int level, int x, int y, std::array<double, 2> low, std::array<double, 2> high) {
    Block b{level, x, y, {}, {}, {}, {}};
    // Those of the fine level are exactly half of the coarse level's.
    const Real part = level == 0 ? Real(1) : Real(0.5);
    b.shape = {n_, part * Real((high[0] - low[0]) / (count_[0] * n_)),
               part * Real((high[1] - low[1]) / (count_[1] * n_))};
    b.values.assign(b.shape.values(), Real(0));
    b.next = b.values;
    index_[level][std::size_t(y) * count(level, 0) + x] = int(blocks_.size());
    blocks_.push_back(std::move(b));
  }
  void merge(const StepResult<Real>& r) {
    result_.smallest_depth = merged_ ? std::min(result_.smallest_depth, r.smallest_depth) : r.smallest_depth;
    merged_ = true;
    result_.fastest = std::max(result_.fastest, r.fastest);
    result_.largest_depth = std::max(result_.largest_depth, r.largest_depth);
    result_.wet = result_.wet || r.wet;
  }
  void stage(Real dt, bool second) {
    result_ = {};
    merged_ = false;
    std::array<std::vector<Real>, 4> memory;
    for (Block& b : blocks_) {
      b.next = b.values;
      merge(advance_block(b.shape, physics, b.values.data(), strips_of(b, memory), second ? b.first.data() : nullptr,
                          dt, b.next.data(), scratch_));
    }
    for (Block& b : blocks_) b.values.swap(b.next);
  }
  StripKind gather(const Block& b, int face, std::vector<Real>& strip) const {
    const int axis = face / 2, last = count(b.level, axis) - 1;
    int at[2] = {b.bx, b.by};
    if (at[axis] == (face % 2 == 0 ? 0 : last)) {
      if (sides[face].kind != GridSide::Kind::periodic) return outside(b, face, strip);
      at[axis] = face % 2 == 0 ? last : 0;
    } else {
      at[axis] += face % 2 == 0 ? -1 : 1;
    }
    const int other = face ^ 1;
    if (const Block* same = find(b.level, at[0], at[1])) {
      strip.assign(strip_values(StripKind::same, n_), Real(0));
      copy_layers(n_, other, same->values.data(), 0, n_, strip.data());
      return StripKind::same;
    }
    if (b.level == 1) {
      const Block* coarse = find(0, at[0] / 2, at[1] / 2);
      std::vector<Real> whole(strip_values(StripKind::same, n_));
      copy_layers(n_, other, coarse->values.data(), 0, n_, whole.data());
      const int half = n_ / 2, from = at[1 - axis] % 2 * half;
      strip.assign(strip_values(StripKind::coarse, n_), Real(0));
      for (int k = 0; k < 2 * kVariables; ++k)
        for (int m = 0; m < half; ++m) strip[std::size_t(k) * half + m] = whole[std::size_t(k) * n_ + from + m];
      return StripKind::coarse;
    }
    strip.assign(strip_values(StripKind::fine, n_), Real(0));
    for (int part = 0; part < 2; ++part) {
      int child[2] = {2 * at[0], 2 * at[1]};
      child[axis] += face % 2 == 0 ? 1 : 0;
      child[1 - axis] += part;
      copy_layers(n_, other, find(1, child[0], child[1])->values.data(), part * n_, 2 * n_, strip.data());
    }
    return StripKind::fine;
  }
  StripKind outside(const Block& b, int face, std::vector<Real>& strip) const {
    strip.assign(strip_values(StripKind::same, n_), Real(0));
    if (sides[face].kind == GridSide::Kind::boundary) {
      const Boundary<Real> boundary{sides[face].boundary.kind, Real(sides[face].boundary.value)};
      fill_boundary(boundary, n_, face, physics, b.values.data(), strip.data());
      return StripKind::same;
    }
    for (int layer = 0; layer < 2; ++layer)
      for (int m = 0; m < n_; ++m) {
        const int across = face % 2 == 0 ? -1 - layer : n_ + layer;
        const auto c = face < 2 ? centre(b, across, m) : centre(b, m, across);
        const auto cell = given(c[0], c[1], b.shape.dx, b.shape.dy);
        for (int v = 0; v < kVariables; ++v) strip[(std::size_t(v) * 2 + layer) * n_ + m] = Real(cell[v]);
      }
    return StripKind::same;
  }

  int n_;
  std::array<int, 2> count_;
  std::array<double, 2> low_;
  std::vector<Block> blocks_;
  std::array<std::vector<int>, 2> index_;
  Scratch<Real> scratch_;
  StepResult<Real> result_;
  bool merged_ = false;
};

}  // namespace amrbench::kernels::shallow_water::checks
