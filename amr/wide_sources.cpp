#include "amr/wide_sources.hpp"

namespace amrbench::amr {

using kernels::Beside;

WideSources::WideSources(const kernels::BlockLayout& layout) : finder_(layout) {
  for (int axis = 0; axis < 3; ++axis) faces_[axis] = kernels::FaceLayout(layout, axis);
}

void WideSources::rebuild(const Mesh<3>& mesh) {
  blocks_ = std::size_t(mesh.size());
  beside_.grow(blocks_ * 6);
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const auto links = mesh.settled_links(i);
    for (std::size_t face = 0; face < 6; ++face) {
      const bool is_same = links.kind[face] == FaceKind::same;
      beside_[std::size_t(i) * 6 + face].value = is_same ? links.index.first(face) : Beside::kBoundary;
    }
  }
  const auto make = [&](std::size_t begin, std::size_t end, const auto& give) {
    for (auto i = static_cast<std::int32_t>(begin); i < static_cast<std::int32_t>(end); ++i) {
      if (!mesh.touches_level(i) && !mesh.has_ghost_neighbor(i)) continue;
      const auto links = mesh.settled_links(i);
      for (int face = 0; face < 6; ++face) {
        const FaceKind kind = links.kind[face];
        const bool is_remote = kind == FaceKind::same && links.index.first(face) >= mesh.size();
        if (kind == FaceKind::coarse || kind == FaceKind::fine || is_remote) give(Crossing{i, face});
      }
    }
  };
  starts_ = support::make_ordered<3>(
      blocks_, make, [](const Crossing& c) { return static_cast<std::size_t>(c.face / 2); },
      [&](std::size_t count) {
        crossings_.grow(count);
        return crossings_.data();
      });
  for (int axis = 0; axis < 3; ++axis) {
    const auto list = crossings(axis);
#pragma omp parallel for schedule(static)
    for (std::size_t k = 0; k < list.size(); ++k)
      beside_[std::size_t(list[k].block) * 6 + list[k].face] = Beside::face(static_cast<std::int32_t>(k));
  }
}

void WideSources::find_pieces() {
  sources_.grow(blocks_ * 27);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < blocks_; ++i) {
    for (int row = 0; row < 9; ++row)
      finder_.row(beside_.data(), static_cast<std::int32_t>(i), row % 3 - 1, row / 3 - 1, &sources_[i * 27 + 3 * row]);
  }
}

std::size_t WideSources::memory_bytes() const {
  return sources_.bytes() + beside_.bytes() + crossings_.bytes();
}

}  // namespace amrbench::amr
