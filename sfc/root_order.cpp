#include "sfc/root_order.hpp"

#include <limits>
#include <stdexcept>
#include <string>

#include "sfc/hilbert.hpp"

namespace amrbench::sfc {

namespace {

/// Axis along which the untouched Hilbert curve of one level goes from its first cell, the one at the origin, to its
/// last.
template <int Dim>
int axis_of_way() {
  const std::uint64_t last = hilbert_to_morton<Dim>((std::uint64_t{1} << Dim) - 1, 1);
  for (int d = 0; d < Dim; ++d) {
    if (last == std::uint64_t{1} << d) return d;
  }
  throw std::logic_error("the Hilbert curve does not end beside its beginning");
}

/// The turn that enters at `corner` (bit d: upper side of axis d) and leaves along `axis`.
template <int Dim>
CellTurn<Dim> make_turn(int corner, int axis) {
  const int way = axis_of_way<Dim>();
  CellTurn<Dim> turn;
  // Rotating the axes brings the wanted one to where the curve's way is.
  for (int i = 0; i < Dim; ++i) {
    turn.axis[i] = static_cast<std::uint8_t>((axis + i - way + Dim) % Dim);
    turn.flip[i] = (corner >> turn.axis[i] & 1) != 0;
  }
  return turn;
}

}  // namespace

template <int Dim>
const std::array<CellTurn<Dim>, RootOrder<Dim>::kTurns>& RootOrder<Dim>::turns() {
  static const std::array<CellTurn<Dim>, kTurns> all = [] {
    std::array<CellTurn<Dim>, kTurns> made{};
    for (int t = 0; t < kTurns; ++t) made[t] = make_turn<Dim>(t / Dim, t % Dim);
    return made;
  }();
  return all;
}

template <int Dim>
RootOrder<Dim>::RootOrder(const Coord<Dim>& root, std::span<const std::uint32_t> order)
    : root_(root), cells_(order.begin(), order.end()) {
  std::uint64_t count = 1;
  for (const std::uint32_t extent : root) count *= extent;
  if (count != order.size() || count == 0) {
    throw std::invalid_argument("order of " + std::to_string(order.size()) + " root cells: must name each of " +
                                std::to_string(count) + " once");
  }
  constexpr std::uint32_t kUnseen = std::numeric_limits<std::uint32_t>::max();
  positions_.assign(count, kUnseen);
  for (std::size_t p = 0; p < order.size(); ++p) {
    if (order[p] >= count || positions_[order[p]] != kUnseen) {
      throw std::invalid_argument("order of root cells: cell " + std::to_string(order[p]) +
                                  " is not one of the grid, or stands there twice");
    }
    positions_[order[p]] = static_cast<std::uint32_t>(p);
  }
  lay_way();
}

template <int Dim>
void RootOrder<Dim>::lay_way() {
  turns_.resize(cells_.size());
  int corner = 0;
  for (std::uint32_t p = 0; p < cells_.size(); ++p) {
    const Coord<Dim> here = cell(p), next = cell(p + 1 < cells_.size() ? p + 1 : p);
    std::array<std::int64_t, Dim> step{};
    std::int64_t distance = 0;
    int longest = 0;
    for (int d = 0; d < Dim; ++d) {
      step[d] = std::int64_t{next[d]} - here[d];
      distance += step[d] < 0 ? -step[d] : step[d];
      const auto gain = [&](int a) { return (corner >> a & 1) != 0 ? -step[a] : step[a]; };
      if (gain(d) > gain(longest)) longest = d;
    }
    int axis = longest;
    if (distance == 1) {
      int face = 0;
      while (step[face] == 0) ++face;
      const bool entered_there = (corner >> face & 1) == (step[face] > 0 ? 1 : 0);
      axis = entered_there ? (face + 1) % Dim : face;
    }
    turns_[p] = static_cast<std::uint8_t>(corner * Dim + axis);
    corner ^= 1 << axis;  // where it leaves
    for (int d = 0; d < Dim; ++d) {
      // The nearest corner of the next cell; straight ahead that is the mirrored one.
      if (step[d] > 0) corner &= ~(1 << d);
      if (step[d] < 0) corner |= 1 << d;
    }
  }
}

template class RootOrder<2>;
template class RootOrder<3>;

}  // namespace amrbench::sfc
