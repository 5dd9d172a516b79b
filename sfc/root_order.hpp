#pragma once
// A curve over a grid of root cells of any shape: an order of the cells, and in each cell a turned Hilbert curve that
// begins where the curve comes in and ends where it goes on.
//
// Why: Morton and Hilbert keys put a grid that is no cube into one, and jump wherever the curve leaves the grid and
// comes back. An order made for the grid (GenSFC: document 001, sections 3.1 and 4.1-4.3) does not, and what is below a
// root cell is a cube, where the Hilbert curve does not jump either.
//
// Rules for the way through the cells c0, c1, ... of the order:
// - In a cell the curve goes from one corner to another along one edge (the Hilbert curve's property), so it is told by
//   the corner it enters at and the edge's axis: 2^Dim * Dim turns.
// - If the next cell lies behind a face, the curve ends at that face: when it entered on the far side, along the face's
//   axis; when it entered at that face already, along another axis (the first that is not it). It enters the next cell
//   at the mirrored corner, so at every level the last block before a border and the first behind it share a face.
// - Otherwise it ends along the axis with the longest way to go, and enters the next cell at the corner nearest to
//   where it left.
// Memory: 9 bytes a root cell. Immutable after construction; shared by copies of a KeySpace.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sfc/morton.hpp"

namespace amrbench::sfc {

/// How a root cell's curve stands: working axis i of the Hilbert curve is true axis axis[i], mirrored where flip[i].
template <int Dim>
struct CellTurn {
  std::array<std::uint8_t, Dim> axis{};
  std::array<bool, Dim> flip{};

  /// A block's place in its root cell of 2^bits blocks a side, as the curve's automaton wants it, and back.
  [[nodiscard]] Coord<Dim> to_curve(const Coord<Dim>& c, int bits) const {
    const std::uint32_t last = (std::uint32_t{1} << bits) - 1;
    Coord<Dim> w{};
    for (int i = 0; i < Dim; ++i) w[i] = flip[i] ? last - c[axis[i]] : c[axis[i]];
    return w;
  }
  [[nodiscard]] Coord<Dim> from_curve(const Coord<Dim>& w, int bits) const {
    const std::uint32_t last = (std::uint32_t{1} << bits) - 1;
    Coord<Dim> c{};
    for (int i = 0; i < Dim; ++i) c[axis[i]] = flip[i] ? last - w[i] : w[i];
    return c;
  }
};

template <int Dim>
class RootOrder {
 public:
  /// `order`: the cells of the grid `root` in the curve's order, numbered with the first axis fastest; each once, or
  /// std::invalid_argument. O(cells).
  RootOrder(const Coord<Dim>& root, std::span<const std::uint32_t> order);

  [[nodiscard]] std::size_t size() const { return cells_.size(); }
  /// Position of a root cell along the curve, and back.
  [[nodiscard]] std::uint32_t position(const Coord<Dim>& cell) const { return positions_[number(cell)]; }
  [[nodiscard]] Coord<Dim> cell(std::uint32_t position) const {
    Coord<Dim> c{};
    std::uint32_t rest = cells_[position];
    for (int d = 0; d < Dim; ++d) {
      c[d] = rest % root_[d];
      rest /= root_[d];
    }
    return c;
  }
  [[nodiscard]] const CellTurn<Dim>& turn(std::uint32_t position) const { return turns()[turns_[position]]; }

 private:
  static constexpr int kTurns = Dim << Dim;  ///< entry corner, axis of the edge
  static const std::array<CellTurn<Dim>, kTurns>& turns();
  [[nodiscard]] std::uint32_t number(const Coord<Dim>& c) const {
    std::uint32_t n = 0;
    for (int d = Dim; d-- > 0;) n = n * root_[d] + c[d];
    return n;
  }
  void lay_way();

  Coord<Dim> root_;
  std::vector<std::uint32_t> cells_;      ///< by position
  std::vector<std::uint32_t> positions_;  ///< by cell
  std::vector<std::uint8_t> turns_;       ///< by position: entry corner * Dim + axis
};

extern template class RootOrder<2>;
extern template class RootOrder<3>;

}  // namespace amrbench::sfc
