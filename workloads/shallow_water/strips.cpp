#include "workloads/shallow_water/strips.hpp"

#include <algorithm>

namespace amrbench::workloads::shallow_water {

namespace {

bool is_dry_strip(const double* strip, int along) {
  return std::all_of(strip, strip + 2 * along, [](double depth) { return depth == 0.0; });
}

swe::StripKind strip_kind(amr::FaceKind kind) {
  return kind == amr::FaceKind::coarse ? swe::StripKind::coarse
         : kind == amr::FaceKind::fine ? swe::StripKind::fine
                                       : swe::StripKind::same;
}

}  // namespace

void StripHalo::gather(const amr::Mesh<2>& mesh, const amr::FieldStore& fields, const Problem& problem,
                       const Moment& moment, std::int32_t i, StripSet& set) const {
  const auto& links = mesh.links(i);
  set.is_dry = true;
  for (int face = 0; face < 4; ++face) {
    double* const buffer = set.buffer(face);
    swe::Strip<double>& strip = set.strips[std::size_t(face)];
    const amr::FaceKind kind = links.kind[std::size_t(face)];
    strip = {buffer, strip_kind(kind)};
    if (kind == amr::FaceKind::boundary) {
      double* const through = buffer + swe::strip_values(swe::StripKind::same, cells_);
      if (problem.fill_boundary(mesh, i, face, moment, fields.block(i), buffer, through)) strip.inflow = through;
    } else {
      strip.values = layers_.gather(mesh, fields, i, face, buffer);
    }
    set.is_dry = set.is_dry && is_dry_strip(strip.values, swe::strip_cells(strip.kind, cells_));
  }
}

}  // namespace amrbench::workloads::shallow_water
