#include "amr/wide_sources.hpp"

#include <algorithm>

#include "support/thread_lists.hpp"

namespace amrbench::amr {

using kernels::PieceSource;

WideSources::WideSources(const kernels::BlockLayout& layout) : layout_(layout) {
  for (int axis = 0; axis < 3; ++axis) faces_[axis] = kernels::FaceLayout(layout, axis);
}

void WideSources::rebuild(const Mesh<3>& mesh) {
  blocks_ = std::size_t(mesh.size());
  number_.grow(blocks_ * 6);
  sources_.grow(blocks_ * 27);
  constexpr PieceSource kOwn{0, PieceSource::kBlock, 0};
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    std::fill_n(number_.data() + std::size_t(i) * 6, 6, -1);
    PieceSource& own = sources_[std::size_t(i) * 27 + kernels::Surroundings::index(0, 0, 0)];
    own = kOwn;
    own.index = i;
  }
  for (int axis = 0; axis < 3; ++axis) {
    find_crossings(mesh, axis);
    look_across(mesh, axis);
  }
}

void WideSources::find_crossings(const Mesh<3>& mesh, int axis) {
  auto& crossings = crossings_[axis];
  crossings.clear();
  support::append_by_threads(crossings, blocks_, [&](std::size_t begin, std::size_t end, std::vector<Crossing>& list) {
    for (auto i = static_cast<std::int32_t>(begin); i < static_cast<std::int32_t>(end); ++i) {
      if (!mesh.touches_level(i) && !mesh.has_ghost_neighbor(i)) continue;
      const auto& links = mesh.settled_links(i);
      for (int face = 2 * axis; face < 2 * axis + 2; ++face) {
        const FaceKind kind = links.kind[face];
        if (kind == FaceKind::boundary || (kind == FaceKind::same && links.index[face][0] < mesh.size())) continue;
        list.push_back({i, face});
      }
    }
  });
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < crossings.size(); ++k)
    number_[std::size_t(crossings[k].block) * 6 + crossings[k].face] = static_cast<std::int32_t>(k);
}

/// The pieces in directions that end across `axis`, from those in directions along the axes before it: what the block
/// behind the face finds there, at its cell beside the face, or parts of the extended face, or, at the domain's
/// boundary, what the block itself finds, at its cell beside the face.
void WideSources::look_across(const Mesh<3>& mesh, int axis) {
  constexpr std::uint32_t kMostOffset = (1U << 30) - 1;
  constexpr std::array<int, 3> kStep{1, 3, 9};  // of piece numbers
  constexpr int kOwn = kernels::Surroundings::index(0, 0, 0);
  const int step = kStep[axis], first = kOwn - step / 2, last = layout_.cells[axis] - 1;
  std::array<std::size_t, 9> in_face{};  // by piece before, from `first` on
  for (int k = 0; k < step; ++k) {
    const std::array<int, 2> d{axis == 0 ? 0 : k % 3 - 1, axis == 2 ? k / 3 - 1 : 0};
    const auto at = [&](int a) { return a >= axis || d[a] == 0 ? 0 : d[a] < 0 ? -1 : layout_.cells[a]; };
    in_face[k] = faces_[axis].cell(at(0), at(1), 0);
  }
  std::array<std::size_t, 4> to_last{};  // doubles to the last cell along the axis, by kind of source
  for (int kind = 0; kind < axis; ++kind) to_last[kind] = last * faces_[kind].strides()[axis];
  to_last[PieceSource::kBlock] = axis == 0   ? layout_.offset(0, last, 0, 0)
                                 : axis == 1 ? layout_.offset(0, 0, last, 0)
                                             : layout_.offset(0, 0, 0, last);
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const auto links = mesh.settled_links(i);
    for (int side = 0; side < 2; ++side) {
      const int face = 2 * axis + side;
      PieceSource* const to = &sources_[std::size_t(i) * 27 + first + (side == 0 ? -step : step)];
      if (const std::int32_t crossing = number(i, face); crossing >= 0) {
        for (int k = 0; k < step; ++k)
          to[k] = {crossing, static_cast<std::uint32_t>(axis), static_cast<std::uint32_t>(in_face[k]) & kMostOffset};
        continue;
      }
      const bool boundary = links.kind[face] == FaceKind::boundary, is_last = (side == 0) != boundary;
      const std::int32_t j = boundary ? i : links.index[face][0];
      const PieceSource* const from = &sources_[std::size_t(j) * 27 + first];
      for (int k = 0; k < step; ++k) {
        PieceSource source = from[k];
        source.offset = static_cast<std::uint32_t>(source.offset + (is_last ? to_last[source.kind] : 0)) & kMostOffset;
        to[k] = source;
      }
    }
  }
}

std::size_t WideSources::memory_bytes() const {
  std::size_t bytes = sources_.bytes() + number_.bytes();
  for (const auto& crossings : crossings_) bytes += crossings.capacity() * sizeof(Crossing);
  return bytes;
}

}  // namespace amrbench::amr
