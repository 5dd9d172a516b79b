#include "kernels/faces.hpp"

#include <algorithm>
#include <cstring>

namespace amrbench::kernels {

namespace {

/// In-block strides of a face: first cell in chunk 0, steps along its axes, its extents.
struct FaceGeometry {
  std::size_t start, step_a, step_b;
  int na, nb;
};

FaceGeometry geometry(const BlockLayout& l, int face) {
  const int axis = face / 2, a = l.face_axis_a(axis), b = l.face_axis_b(axis);
  const std::array<std::size_t, 3> stride{std::size_t(l.lanes), l.row_values(), l.plane_values()};
  return {face % 2 ? std::size_t(l.cells[axis] - 1) * stride[axis] : 0, stride[a], stride[b], l.cells[a], l.cells[b]};
}

}  // namespace

void pack_face(const BlockLayout& l, const double* block, int face, double* out) {
  const FaceGeometry g = geometry(l, face);
  const std::size_t lanes = l.lanes;
  for (int chunk = 0; chunk < l.chunks; ++chunk) {
    const double* base = block + chunk * l.chunk_values() + g.start;
    for (int b = 0; b < g.nb; ++b) {
      const double* from = base + b * g.step_b;
      if (g.step_a == lanes) {
        std::memcpy(out, from, g.na * lanes * sizeof(double));
        out += g.na * lanes;
        continue;
      }
      for (int a = 0; a < g.na; ++a, from += g.step_a, out += lanes) std::copy_n(from, lanes, out);
    }
  }
}

void pack_quarter(const BlockLayout& l, const double* block, int face, int qa, int qb, double* out) {
  const FaceGeometry g = geometry(l, face);
  const int ha = g.na / 2, hb = g.nb / 2;
  for (int chunk = 0; chunk < l.chunks; ++chunk) {
    const double* base = block + chunk * l.chunk_values() + g.start + qa * ha * g.step_a + qb * hb * g.step_b;
    for (int b = 0; b < hb; ++b) {
      for (int a = 0; a < ha; ++a) {
        const double* from = base + b * g.step_b + a * g.step_a;
        for (int lane = 0; lane < l.lanes; ++lane) *out++ = from[lane] * 0.25;
      }
    }
  }
}

void pack_restricted(const BlockLayout& l, const double* block, int face, double* out) {
  const FaceGeometry g = geometry(l, face);
  for (int chunk = 0; chunk < l.chunks; ++chunk) {
    const double* base = block + chunk * l.chunk_values() + g.start;
    for (int b = 0; b < g.nb; b += 2) {
      for (int a = 0; a < g.na; a += 2) {
        const double* c00 = base + b * g.step_b + a * g.step_a;
        const double *c01 = c00 + g.step_b, *c10 = c00 + g.step_a, *c11 = c10 + g.step_b;
        for (int lane = 0; lane < l.lanes; ++lane) *out++ = c00[lane] + c01[lane] + c10[lane] + c11[lane];
      }
    }
  }
}

void expand_quarter(const BlockLayout& l, const double* quarter, int axis, double* out) {
  const int na = l.cells[l.face_axis_a(axis)], nb = l.cells[l.face_axis_b(axis)];
  const std::size_t lanes = l.lanes, row = na * lanes;
  for (int chunk = 0; chunk < l.chunks; ++chunk) {
    for (int b = 0; b < nb; b += 2, out += 2 * row) {
      for (int a = 0; a < na; a += 2, quarter += lanes) {
        std::copy_n(quarter, lanes, out + a * lanes);
        std::copy_n(quarter, lanes, out + (a + 1) * lanes);
      }
      std::memcpy(out + row, out, row * sizeof(double));
    }
  }
}

void insert_quarter(const BlockLayout& l, const double* quarter, int axis, int qa, int qb, double* out) {
  const int na = l.cells[l.face_axis_a(axis)], nb = l.cells[l.face_axis_b(axis)];
  const std::size_t lanes = l.lanes, row = na * lanes, part = row / 2;
  for (int chunk = 0; chunk < l.chunks; ++chunk, out += row * nb) {
    double* to = out + qb * (nb / 2) * row + qa * part;
    for (int b = 0; b < nb / 2; ++b, to += row, quarter += part) std::memcpy(to, quarter, part * sizeof(double));
  }
}

}  // namespace amrbench::kernels
