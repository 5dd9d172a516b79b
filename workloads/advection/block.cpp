#include "workloads/advection/block.hpp"

#include <algorithm>
#include <cmath>

namespace amrbench::workloads::advection {

namespace {

/// By pairs, in one order everywhere.
template <std::size_t N>
double mean_by_pairs(std::array<double, N> values) {
  for (std::size_t n = N / 2; n > 0; n /= 2)
    for (std::size_t k = 0; k < n; ++k) values[k] = values[2 * k] + values[2 * k + 1];
  return values[0] * (1.0 / static_cast<double>(N));
}

/// What a coarse cell takes for its neighbour across a change of level: the mean of the fine cells there.
template <std::size_t N>
double ghost_of_coarse(const std::array<std::array<double, N>, 2>& fine) {
  return 0.5 * (mean_by_pairs(fine[0]) + mean_by_pairs(fine[1]));
}

/// What a fine cell takes for it: two thirds of the way to the coarse cell, whose middle is 1.5 fine cells away.
double ghost_of_fine(double fine, double coarse) {
  return fine + (coarse - fine) * (2.0 / 3.0);
}

}  // namespace

template <int Dim>
Block<Dim>::Block(const kernels::BlockLayout& layout) : layout_(layout) {
  std::ptrdiff_t values = 1;
  for (std::size_t d = 0; d < Dim; ++d) {
    step_[d] = values;
    values *= layout.cells[d] + 2 * kGhosts;
  }
  tile_.assign(std::size_t(values), 0.0);
  at_face_.assign(std::size_t(values), 0.0);
  next_.assign(layout.block_cells(), 0.0);
}

template <int Dim>
std::ptrdiff_t Block<Dim>::row(int y, int z) const {
  return kGhosts + (y + kGhosts) * step_[1] + (z + kGhosts) * step_[2];
}

template <int Dim>
std::ptrdiff_t Block<Dim>::place(int face, int layer, int a, int b) const {
  const auto axis = std::size_t(face / 2);
  const int across = face % 2 == 0 ? layer : layout_.cells[axis] - 1 - layer;
  return row(0, 0) + across * step_[axis] + a * step_[std::size_t(layout_.face_axis_a(face / 2))] +
         b * step_[std::size_t(layout_.face_axis_b(face / 2))];
}

template <int Dim>
void Block<Dim>::load(const double* block, const std::array<Behind, 2 * Dim>& behind) {
  behind_ = behind;
  for (int z = 0; z < layout_.cells[2]; ++z)
    for (int y = 0; y < layout_.cells[1]; ++y, block += layout_.cells[0])
      std::copy_n(block, layout_.cells[0], tile_.data() + row(y, z));
  for (int face = 0; face < 2 * Dim; ++face) fill_behind(face);
}

/// The cells around a coarse cell of a face at which the level changes; a and b count coarse cells.
template <int Dim>
typename Block<Dim>::Jump Block<Dim>::jump_at(int face, int a, int b) const {
  const int axis = face / 2;
  const Behind& behind = behind_[std::size_t(face)];
  const bool is_fine = behind.kind == amr::FaceKind::coarse;  // the block itself
  const int na = layout_.cells[std::size_t(layout_.face_axis_a(axis))];
  const int nb = layout_.cells[std::size_t(layout_.face_axis_b(axis))];
  const int width = is_fine ? na / 2 : 2 * na, height = Dim == 2 ? 1 : is_fine ? nb / 2 : 2 * nb;
  const auto other = [&](int layer, int x, int y) { return behind.values[(layer * height + y) * width + x]; };
  const auto own = [&](int layer, int x, int y) { return tile_[std::size_t(place(face, layer, x, y))]; };
  Jump jump{};
  for (int layer = 0; layer < 2; ++layer) {
    const auto k = std::size_t(layer);
    jump.coarse[k] = is_fine ? other(layer, a, b) : own(layer, a, b);
    for (int part = 0; part < int(kParts); ++part) {
      const int x = 2 * a + (part & 1), y = 2 * b + (part >> 1);
      jump.fine[k][std::size_t(part)] = is_fine ? own(layer, x, y) : other(layer, x, y);
    }
  }
  return jump;
}

/// Calls take(jump, a, b) for all coarse cells of a face at which the level changes.
template <int Dim>
template <class Take>
void Block<Dim>::for_jumps(int face, Take&& take) const {
  const int part = behind_[std::size_t(face)].kind == amr::FaceKind::coarse ? 2 : 1;
  const int na = layout_.cells[std::size_t(layout_.face_axis_a(face / 2))] / part;
  const int nb = std::max(1, layout_.cells[std::size_t(layout_.face_axis_b(face / 2))] / part);
  for (int b = 0; b < nb; ++b)
    for (int a = 0; a < na; ++a) take(jump_at(face, a, b), a, b);
}

/// The two layers behind a face. Where the level changes both are the one ghost that gives the cell at the face its
/// slope.
template <int Dim>
void Block<Dim>::fill_behind(int face) {
  const Behind& behind = behind_[std::size_t(face)];
  const auto put = [&](int a, int b, double ghost) {
    for (int layer = 1; layer <= kGhosts; ++layer) tile_[std::size_t(place(face, -layer, a, b))] = ghost;
  };
  if (behind.kind == amr::FaceKind::coarse) {
    for_jumps(face, [&](const Jump& jump, int a, int b) {
      for (int part = 0; part < int(kParts); ++part)
        put(2 * a + (part & 1), 2 * b + (part >> 1), ghost_of_fine(jump.fine[0][std::size_t(part)], jump.coarse[0]));
    });
  } else if (behind.kind == amr::FaceKind::fine) {
    for_jumps(face, [&](const Jump& jump, int a, int b) { put(a, b, ghost_of_coarse(jump.fine)); });
  } else {
    const double* from = behind.values;
    for (int layer = 1; layer <= kGhosts; ++layer)
      for (int b = 0; b < layout_.cells[std::size_t(layout_.face_axis_b(face / 2))]; ++b)
        for (int a = 0; a < layout_.cells[std::size_t(layout_.face_axis_a(face / 2))]; ++a)
          tile_[std::size_t(place(face, -layer, a, b))] = *from++;
  }
}

template <int Dim>
double Block<Dim>::largest_change() const {
  double largest = 0.0;
  for (std::size_t axis = 0; axis < Dim; ++axis) {
    std::array<int, 3> low{}, high = layout_.cells;
    low[axis] = -kGhosts;
    high[axis] += kGhosts - 1;
    for (int z = low[2]; z < high[2]; ++z) {
      for (int y = low[1]; y < high[1]; ++y) {
        const double* const q = tile_.data() + row(y, z);
        for (int x = low[0]; x < high[0]; ++x) largest = std::max(largest, std::abs(q[x + step_[axis]] - q[x]));
      }
    }
  }
  return largest;
}

/// Values at all faces across an axis, as if no level changed. `forward`: the velocity points to larger coordinates.
template <int Dim>
void Block<Dim>::find_values(int axis, bool forward) {
  const std::ptrdiff_t step = step_[std::size_t(axis)];
  std::array<int, 3> n = layout_.cells;
  ++n[std::size_t(axis)];
  for (int z = 0; z < n[2]; ++z) {
    for (int y = 0; y < n[1]; ++y) {
      const double* const ahead = tile_.data() + row(y, z) - (forward ? 0 : step);
      const double* const at = ahead + (forward ? -step : step);
      const double* const behind = at + (forward ? -step : step);
      double* const to = at_face_.data() + row(y, z);
      const int count = n[0];
#pragma omp simd
      for (int x = 0; x < count; ++x) to[x] = face_value(behind[x], at[x], ahead[x]);
    }
  }
}

/// Puts right those at a face at which the level changes.
template <int Dim>
void Block<Dim>::mend_values(int face, bool forward) {
  const bool is_fine = behind_[std::size_t(face)].kind == amr::FaceKind::coarse;
  const bool is_upwind = (face % 2 == 1) == forward;
  const auto put = [&](int a, int b, double value) {  // an upper face is the lower one of the cell behind it
    at_face_[std::size_t(place(face, face % 2 == 0 ? 0 : -1, a, b))] = value;
  };
  for_jumps(face, [&](const Jump& jump, int a, int b) {
    std::array<double, kParts> values{};
    for (std::size_t part = 0; part < kParts; ++part) {
      const double fine = jump.fine[0][part];
      values[part] = is_upwind == is_fine ? face_value(jump.fine[1][part], fine, ghost_of_fine(fine, jump.coarse[0]))
                                          : face_value(jump.coarse[1], jump.coarse[0], ghost_of_coarse(jump.fine));
    }
    if (!is_fine) return put(a, b, mean_by_pairs(values));
    for (int part = 0; part < int(kParts); ++part)
      put(2 * a + (part & 1), 2 * b + (part >> 1), values[std::size_t(part)]);
  });
}

template <int Dim>
void Block<Dim>::advance(const std::array<double, Dim>& courant, const double* old, double* out) {
  const int nx = layout_.cells[0];
  const auto for_rows = [&](auto&& take) {
    std::size_t at = 0;
    for (int z = 0; z < layout_.cells[2]; ++z)
      for (int y = 0; y < layout_.cells[1]; ++y, at += std::size_t(nx)) take(row(y, z), at);
  };
  for_rows([&](std::ptrdiff_t from, std::size_t at) { std::copy_n(tile_.data() + from, nx, next_.data() + at); });
  for (int axis = 0; axis < Dim; ++axis) {
    const double c = courant[std::size_t(axis)];
    find_values(axis, c > 0.0);
    for (int face = 2 * axis; face < 2 * axis + 2; ++face) {
      const amr::FaceKind kind = behind_[std::size_t(face)].kind;
      if (kind == amr::FaceKind::coarse || kind == amr::FaceKind::fine) mend_values(face, c > 0.0);
    }
    for_rows([&](std::ptrdiff_t from, std::size_t at) {
      const double *const lower = at_face_.data() + from, *const upper = lower + step_[std::size_t(axis)];
      double* const next = next_.data() + at;
#pragma omp simd
      for (int x = 0; x < nx; ++x) next[x] -= c * (upper[x] - lower[x]);
    });
  }
  const std::size_t count = next_.size();
  for (std::size_t k = 0; k < count; ++k) out[k] = old != nullptr ? 0.5 * (old[k] + next_[k]) : next_[k];
}

template class Block<2>;
template class Block<3>;

}  // namespace amrbench::workloads::advection
