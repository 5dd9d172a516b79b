#include "kernels/faces.hpp"

#include <cstring>

#include "kernels/extensive.hpp"
#include "kernels/lanes.hpp"

namespace amrbench::kernels {

namespace {

/// Where a face lies in a chunk: its first cell, the steps along its axes, its extents.
struct FaceGeometry {
  std::size_t start, step_a, step_b;
  int na, nb;
};

FaceGeometry geometry(const BlockLayout& l, int face) {
  const int axis = face / 2, a = l.face_axis_a(axis), b = l.face_axis_b(axis);
  const std::array<std::size_t, 3> stride{std::size_t(l.lanes), l.row_values(), l.plane_values()};
  return {face % 2 ? std::size_t(l.cells[axis] - 1) * stride[axis] : 0, stride[a], stride[b], l.cells[a], l.cells[b]};
}

/// The same face seen as quarter (qa, qb) of it.
FaceGeometry quarter_of(FaceGeometry g, int qa, int qb) {
  g.na /= 2;
  g.nb /= 2;
  g.start += qa * g.na * g.step_a + qb * g.nb * g.step_b;
  return g;
}

template <int Lanes>
void copy_cells(const double* chunk, const FaceGeometry& g, double* out) {
  for (int b = 0; b < g.nb; ++b) {
    const double* from = chunk + g.start + b * g.step_b;
    if (g.step_a == Lanes) {
      std::memcpy(out, from, std::size_t(g.na) * Lanes * sizeof(double));
      out += g.na * Lanes;
      continue;
    }
    for (int a = 0; a < g.na; ++a, from += g.step_a, out += Lanes) {
      for_vectors<Lanes>([&](auto n, int lane) { store<n>(out + lane, load<n>(from + lane)); });
    }
  }
}

template <int Lanes>
void quarter_cells(const double* chunk, const FaceGeometry& g, double* out) {
  for (int b = 0; b < g.nb; ++b) {
    const double* from = chunk + g.start + b * g.step_b;
    for (int a = 0; a < g.na; ++a, from += g.step_a, out += Lanes) {
      for_vectors<Lanes>([&](auto n, int lane) { store<n>(out + lane, face_quarter(load<n>(from + lane))); });
    }
  }
}

/// Sums 2 x 2 cells; row b of the result starts at out + b * out_row.
template <int Lanes>
void restrict_cells(const double* chunk, const FaceGeometry& g, double* out, std::size_t out_row) {
  for (int b = 0; b < g.nb; b += 2, out += out_row) {
    const double* from = chunk + g.start + b * g.step_b;
    for (int a = 0; a < g.na; a += 2, from += 2 * g.step_a) {
      const double *c01 = from + g.step_b, *c10 = from + g.step_a, *c11 = c10 + g.step_b;
      double* const to = out + a / 2 * Lanes;
      for_vectors<Lanes>([&](auto n, int lane) {
        store<n>(to + lane,
                 face_sum(load<n>(from + lane), load<n>(c01 + lane), load<n>(c10 + lane), load<n>(c11 + lane)));
      });
    }
  }
}

/// Each cell of g, a quarter of it where asked for, to 2 x 2 cells of a packed face.
template <int Lanes, bool Quarter>
void spread_cells(const double* chunk, const FaceGeometry& g, double* out) {
  const std::size_t row = std::size_t(g.na) * 2 * Lanes;
  for (int b = 0; b < g.nb; ++b, out += 2 * row) {
    const double* from = chunk + g.start + b * g.step_b;
    for (int a = 0; a < g.na; ++a, from += g.step_a) {
      double* const to = out + 2 * a * Lanes;
      for_vectors<Lanes>([&](auto n, int lane) {
        const SimdDouble<n> whole = load<n>(from + lane), value = Quarter ? face_quarter(whole) : whole;
        store<n>(to + lane, value);
        store<n>(to + Lanes + lane, value);
        store<n>(to + row + lane, value);
        store<n>(to + row + Lanes + lane, value);
      });
    }
  }
}

/// Doubles of one chunk of a packed face.
std::size_t face_step(const BlockLayout& l, int axis) {
  return l.face_cells(axis) * l.lanes;
}

/// A packed quarter as a face of its own.
FaceGeometry packed_quarter(const BlockLayout& l, int axis) {
  const int na = l.cells[l.face_axis_a(axis)] / 2, nb = l.cells[l.face_axis_b(axis)] / 2;
  return {0, std::size_t(l.lanes), std::size_t(l.lanes) * na, na, nb};
}

/// Offset of quarter (qa, qb) in a packed face's chunk.
std::size_t quarter_offset(const BlockLayout& l, int axis, int qa, int qb) {
  const FaceGeometry q = packed_quarter(l, axis);
  return (std::size_t(qb) * q.nb * 2 * q.na + std::size_t(qa) * q.na) * l.lanes;
}

}  // namespace

void pack_face(const BlockLayout& l, const double* block, int face, double* out) {
  const FaceGeometry g = geometry(l, face);
  const std::size_t step = face_step(l, face / 2);
  with_lanes(l.lanes, [&](auto lanes) {
    for (int c = 0; c < l.chunks; ++c) copy_cells<lanes>(block + c * l.chunk_values(), g, out + c * step);
  });
}

void pack_quarter(const BlockLayout& l, const double* block, int face, int qa, int qb, double* out) {
  const FaceGeometry g = quarter_of(geometry(l, face), qa, qb);
  const std::size_t step = face_step(l, face / 2) / 4;
  with_lanes(l.lanes, [&](auto lanes) {
    for (int c = 0; c < l.chunks; ++c) quarter_cells<lanes>(block + c * l.chunk_values(), g, out + c * step);
  });
}

void pack_restricted(const BlockLayout& l, const double* block, int face, double* out) {
  const FaceGeometry g = geometry(l, face);
  const std::size_t row = std::size_t(g.na) / 2 * l.lanes, step = row * g.nb / 2;
  with_lanes(l.lanes, [&](auto lanes) {
    for (int c = 0; c < l.chunks; ++c) restrict_cells<lanes>(block + c * l.chunk_values(), g, out + c * step, row);
  });
}

void prolong_face(const BlockLayout& l, const double* coarse, int face, int qa, int qb, int chunks, double* out) {
  const FaceGeometry g = quarter_of(geometry(l, face), qa, qb);
  const std::size_t step = face_step(l, face / 2);
  with_lanes(l.lanes, [&](auto lanes) {
    for (int c = 0; c < chunks; ++c) spread_cells<lanes, true>(coarse + c * l.chunk_values(), g, out + c * step);
  });
}

void expand_quarter(const BlockLayout& l, const double* quarter, int axis, int chunks, double* out) {
  const FaceGeometry g = packed_quarter(l, axis);
  const std::size_t step = face_step(l, axis);
  with_lanes(l.lanes, [&](auto lanes) {
    for (int c = 0; c < chunks; ++c) spread_cells<lanes, false>(quarter + c * (step / 4), g, out + c * step);
  });
}

void restrict_face(const BlockLayout& l, const double* fine, int face, int qa, int qb, int chunks, double* out) {
  const FaceGeometry g = geometry(l, face);
  const std::size_t step = face_step(l, face / 2), row = std::size_t(g.na) * l.lanes;
  double* const to = out + quarter_offset(l, face / 2, qa, qb);
  with_lanes(l.lanes, [&](auto lanes) {
    for (int c = 0; c < chunks; ++c) restrict_cells<lanes>(fine + c * l.chunk_values(), g, to + c * step, row);
  });
}

void insert_quarter(const BlockLayout& l, const double* quarter, int axis, int qa, int qb, int chunks, double* out) {
  const FaceGeometry q = packed_quarter(l, axis);
  const std::size_t step = face_step(l, axis), part = std::size_t(q.na) * l.lanes;
  for (int c = 0; c < chunks; ++c) {
    double* to = out + c * step + quarter_offset(l, axis, qa, qb);
    const double* from = quarter + c * (step / 4);
    for (int b = 0; b < q.nb; ++b, to += 2 * part, from += part) std::memcpy(to, from, part * sizeof(double));
  }
}

}  // namespace amrbench::kernels
