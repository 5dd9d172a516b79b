#include "amr/wide_sources.hpp"

namespace amrbench::amr {

using kernels::PieceSource;

WideSources::WideSources(const kernels::BlockLayout& layout) : layout_(layout) {
  for (int axis = 0; axis < 3; ++axis) faces_[axis] = kernels::FaceLayout(layout, axis);
}

void WideSources::rebuild(const Mesh<3>& mesh) {
  blocks_ = std::size_t(mesh.size());
  number_.assign(blocks_ * 6, -1);
  for (auto& crossings : crossings_) crossings.clear();
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const auto& links = mesh.settled_links(i);
    for (int face = 0; face < 6; ++face) {
      const FaceKind kind = links.kind[face];
      if (kind == FaceKind::boundary || (kind == FaceKind::same && links.index[face][0] < mesh.size())) continue;
      auto& crossings = crossings_[face / 2];
      number_[std::size_t(i) * 6 + face] = static_cast<std::int32_t>(crossings.size());
      crossings.push_back({i, face});
    }
  }
  sources_.grow(blocks_ * 27);
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    for (int k = 0; k < 27; ++k)
      sources_[std::size_t(i) * 27 + k] = find(mesh, i, {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1});
  }
}

/// Follows the piece in direction d across z, y and x, until a crossing is met or no direction is left.
PieceSource WideSources::find(const Mesh<3>& mesh, std::int32_t i, const std::array<int, 3>& d) const {
  constexpr std::uint32_t kMostOffset = (1U << 30) - 1;
  std::array<int, 3> at{};
  for (int axis = 0; axis < 3; ++axis) at[axis] = d[axis] < 0 ? -1 : d[axis] == 0 ? 0 : layout_.cells[axis];
  for (int axis = 2; axis >= 0; --axis) {
    if (d[axis] == 0) continue;
    const int face = 2 * axis + (d[axis] > 0 ? 1 : 0), last = layout_.cells[axis] - 1;
    const std::int32_t crossing = number(i, face);
    if (crossing >= 0) {
      at[axis] = 0;
      const std::size_t offset = faces_[axis].cell(at[0], at[1], at[2]);
      return {crossing, static_cast<std::uint32_t>(axis), static_cast<std::uint32_t>(offset) & kMostOffset};
    }
    const auto& links = mesh.settled_links(i);
    const bool boundary = links.kind[face] == FaceKind::boundary;
    at[axis] = (d[axis] < 0) == boundary ? 0 : last;
    if (!boundary) i = links.index[face][0];
  }
  const std::size_t offset = layout_.offset(0, at[0], at[1], at[2]);
  return {i, PieceSource::kBlock, static_cast<std::uint32_t>(offset) & kMostOffset};
}

std::size_t WideSources::memory_bytes() const {
  std::size_t bytes = sources_.bytes() + number_.capacity() * sizeof(std::int32_t);
  for (const auto& crossings : crossings_) bytes += crossings.capacity() * sizeof(Crossing);
  return bytes;
}

}  // namespace amrbench::amr
