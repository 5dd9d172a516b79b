#pragma once
// A small box of blocks in which any face may be cut, so that what lies behind it comes from an extended face; every
// value tells where it is. For tests of what finds the pieces around blocks (kernels/beside.hpp).
#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/beside.hpp"

namespace amrbench::kernels::checks {

class BesideGrid {
 public:
  explicit BesideGrid(std::mt19937_64& random) {
    const auto whole = [&](int low, int high) { return low + static_cast<int>(random() % (high - low + 1)); };
    layout_ = make_layout({2 * whole(1, 3), 2 * whole(1, 3), 2 * whole(1, 3)}, whole(1, 9));
    for (int axis = 0; axis < 3; ++axis) {
      blocks_[axis] = whole(1, 4);
      periodic_[axis] = random() % 2 == 0;
      steps_[axis] = piece_steps(FaceLayout(layout_, axis));
    }
    steps_[PieceSource::kBlock] = piece_steps(layout_);
    numbers_.resize(std::size_t(blocks_[0]) * blocks_[1] * blocks_[2]);
    std::iota(numbers_.begin(), numbers_.end(), 0);
    std::shuffle(numbers_.begin(), numbers_.end(), random);
    beside_.resize(numbers_.size() * 6);
    values_[PieceSource::kBlock].resize(numbers_.size() * layout_.block_values());
    const unsigned one_in = 1 + static_cast<unsigned>(random() % 8);
    for_blocks([&](const Place& block) { fill(block, random, one_in); });
  }

  [[nodiscard]] const BlockLayout& layout() const { return layout_; }
  [[nodiscard]] int count() const { return static_cast<int>(numbers_.size()); }
  [[nodiscard]] const std::vector<Beside>& beside() const { return beside_; }

  /// Values of piece `source` in direction d of a block at another place than where they belong.
  [[nodiscard]] int wrong_values(const std::array<int, 3>& block, const std::array<int, 3>& d,
                                 const PieceSource& source) const {
    const std::size_t size =
        source.kind == PieceSource::kBlock ? layout_.block_values() : FaceLayout(layout_, int(source.kind)).values();
    const std::vector<int>& values = values_[source.kind];
    int wrong = 0;
    for_cells({d[0] == 0 ? layout_.cells[0] : 1, d[1] == 0 ? layout_.cells[1] : 1, d[2] == 0 ? layout_.cells[2] : 1},
              [&](const Place& cell, int v) {
                Place at{};
                std::size_t k = source.index * size + source.offset +
                                std::size_t(v / layout_.lanes) * steps_[source.kind].chunk + v % layout_.lanes;
                for (int axis = 0; axis < 3; ++axis) {
                  k += cell[axis] * steps_[source.kind].cell[axis];
                  const int n = layout_.cells[axis], inside = d[axis] == 0 ? cell[axis] : d[axis] < 0 ? -1 : n;
                  at[axis] = block[axis] * n + inside;
                }
                wrong += k >= values.size() || values[k] != name(at, v);
              });
    return wrong;
  }
  /// f(place) for all blocks.
  template <class F>
  void for_blocks(const F& f) const {
    for (int z = 0; z < blocks_[2]; ++z)
      for (int y = 0; y < blocks_[1]; ++y)
        for (int x = 0; x < blocks_[0]; ++x) f(std::array<int, 3>{x, y, z});
  }
  [[nodiscard]] std::int32_t number(const std::array<int, 3>& block) const {
    return numbers_[(std::size_t(block[2]) * blocks_[1] + block[1]) * blocks_[0] + block[0]];
  }

 private:
  using Place = std::array<int, 3>;

  template <class F>
  void for_cells(const Place& n, const F& f) const {
    for (int v = 0; v < layout_.variables; ++v)
      for (int z = 0; z < n[2]; ++z)
        for (int y = 0; y < n[1]; ++y)
          for (int x = 0; x < n[0]; ++x) f(Place{x, y, z}, v);
  }
  /// The value at a cell of the box, or at that which stands for one outside.
  [[nodiscard]] int name(Place cell, int v) const {
    int name = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const int n = blocks_[axis] * layout_.cells[axis];
      name = name * n + (periodic_[axis] ? (cell[axis] + n) % n : std::clamp(cell[axis], 0, n - 1));
    }
    return name * layout_.variables + v + 1;
  }
  void fill(const Place& block, std::mt19937_64& random, unsigned one_in) {
    const std::int32_t i = number(block);
    const auto origin = [&](int axis) { return block[axis] * layout_.cells[axis]; };
    for_cells(layout_.cells, [&](const Place& c, int v) {
      values_[PieceSource::kBlock][i * layout_.block_values() + layout_.offset(v, c[0], c[1], c[2])] =
          name({origin(0) + c[0], origin(1) + c[1], origin(2) + c[2]}, v);
    });
    for (int face = 0; face < 6; ++face) {
      const int axis = face / 2;
      Place at = block;
      at[axis] += face % 2 == 0 ? -1 : 1;
      const bool inside = at[axis] >= 0 && at[axis] < blocks_[axis];
      if (inside || periodic_[axis]) {
        at[axis] = (at[axis] + blocks_[axis]) % blocks_[axis];
        beside_[std::size_t(i) * 6 + face] = {number(at)};
        if (random() % one_in == 0) cut(block, face);
      }
    }
  }
  /// An extended face more.
  void cut(const Place& block, int face) {
    const int axis = face / 2;
    const FaceLayout faces(layout_, axis);
    std::vector<int>& values = values_[axis];
    const std::size_t first = values.size();
    beside_[std::size_t(number(block)) * 6 + face] = Beside::face(static_cast<std::int32_t>(first / faces.values()));
    values.resize(first + faces.values());
    for_cells(faces.count, [&](const Place& c, int v) {
      Place cell{}, at{};
      for (int a = 0; a < 3; ++a) {
        cell[a] = faces.low[a] + c[a];
        const int in_block = a != axis ? cell[a] : face % 2 == 0 ? -1 : layout_.cells[a];
        at[a] = block[a] * layout_.cells[a] + in_block;
      }
      values[first + std::size_t(v / layout_.lanes) * faces.chunk_values() + faces.cell(cell[0], cell[1], cell[2]) +
             v % layout_.lanes] = name(at, v);
    });
  }

  BlockLayout layout_;
  Place blocks_{};
  std::array<bool, 3> periodic_{};
  std::array<PieceSteps, 4> steps_;
  std::vector<std::int32_t> numbers_;
  std::vector<Beside> beside_;
  std::array<std::vector<int>, 4> values_;  ///< by kind of source
};

}  // namespace amrbench::kernels::checks
