#include "amr/device_tables.hpp"

#include <omp.h>

#include <bit>
#include <limits>
#include <memory>
#include <utility>

#include "support/error.hpp"
#include "support/order_by_key.hpp"

namespace amrbench::amr {

namespace {

using kernels::FaceJob;
using kernels::FaceWork;

constexpr std::size_t kUnit = 4;  ///< doubles that offsets count in
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

FaceJob job_of(std::int32_t slot, FaceWork work, int face, int part, std::size_t from, std::size_t to) {
  return {slot,
          work,
          static_cast<std::uint8_t>(face),
          static_cast<std::uint8_t>(part),
          0,
          static_cast<std::uint32_t>(from / kUnit),
          static_cast<std::uint32_t>(to / kUnit)};
}

bool crosses_level(FaceKind kind) {
  return kind == FaceKind::coarse || kind == FaceKind::fine;
}

}  // namespace

DeviceTables::DeviceTables(const Mesh<3>& mesh, const kernels::BlockLayout& layout, const HaloPlan& plan)
    : mesh_(mesh), plan_(plan), starts_(4 * std::size_t(omp_get_max_threads())) {
  for (int axis = 0; axis < 3; ++axis) room_[axis] = kernels::piece_room(layout.face_values(axis));
  if (mesh.ghost_count() > 0) lists_ = list_blocks(mesh);
  interior_ = mesh.ghost_count() > 0 ? lists_.interior.size() : blocks();
  place_arrivals();
#pragma omp parallel for schedule(dynamic, 1)
  for (std::size_t r = 0; r < starts_.size(); ++r) {
    Needs needs;
    for (std::size_t k = range_begin(r); k < range_begin(r + 1); ++k) add_needs(block_at(k), needs);
    starts_[r] = needs;
  }
  sum_needs();
  if (values_ / kUnit > std::size_t(std::numeric_limits<std::int32_t>::max()))
    throw support::RunError("GPU: packed faces of a rank exceed 64 GiB; use more ranks");
}

/// Turns what each range needs into where that begins. Jobs lie by what they do, then by range.
void DeviceTables::sum_needs() {
  const auto take = [](auto& count, auto& before) { before += std::exchange(count, before); };
  values_ = plan_.receives.values;
  for (Needs& range : starts_) take(range.values, values_);
  const auto place = [&](Jobs Needs::*jobs, std::array<FaceWork, 2> works, kernels::FaceJobStarts& starts) {
    std::int32_t before = 0;
    for (std::size_t key = 0; key < kernels::kFaceKeys; ++key) {
      starts[key] = before;
      for (std::size_t w = 0; w < works.size(); ++w)
        if (key / 3 == static_cast<std::size_t>(works[w]))
          for (Needs& range : starts_) take((range.*jobs)[w][key % 3], before);
    }
    starts.back() = before;
  };
  place(&Needs::local, {FaceWork::prolong, FaceWork::restrict_part}, local_);
  place(&Needs::arrived, {FaceWork::expand, FaceWork::insert}, arrived_);
}

std::int32_t DeviceTables::block_at(std::size_t k) const {
  if (arrivals_.empty()) return static_cast<std::int32_t>(k);
  return k < interior_ ? lists_.interior[k] : lists_.border[k - interior_];
}

void DeviceTables::place_arrivals() {
  Arrivals none;
  for (auto& face : none) face.fill(kNone);
  arrivals_.assign(lists_.border.size(), none);
  if (arrivals_.empty()) return;
  // Only places of border blocks are written, and only they are read.
  const auto border_index = std::make_unique_for_overwrite<std::int32_t[]>(mesh_.size());
  for (std::size_t k = 0; k < lists_.border.size(); ++k) border_index[lists_.border[k]] = static_cast<std::int32_t>(k);
  for (const HaloPiece& p : plan_.receives.pieces)
    arrivals_[border_index[p.block]][p.face][p.transfer == Transfer::restricted ? p.part : 0] = p.at;
}

void DeviceTables::add_needs(std::int32_t i, Needs& needs) const {
  if (!mesh_.touches_level(i)) return;  // their links are not read
  const auto& links = mesh_.settled_links(i);
  const std::uint64_t crossing = level_faces(links.kind);
  const std::uint64_t finer = finer_faces(links.kind);
  for (int axis = 0; axis < 3; ++axis) {
    const std::uint64_t both = std::uint64_t{0x0101} << 16 * axis;
    const int faces = std::popcount(crossing & both), fine = std::popcount(finer & both);
    needs.values += room_[axis] * faces;
    needs.local[0][axis] += faces - fine;
    needs.local[1][axis] += 4 * fine;
  }
  for (int face = 0; mesh_.has_ghost_neighbor(i) && face < 6; ++face) {
    if (!crosses_level(links.kind[face])) continue;
    const int fine = links.kind[face] == FaceKind::fine ? 1 : 0;
    for (const std::int32_t j : links.index[face]) {
      if (j < mesh_.size()) continue;
      ++needs.arrived[fine][face / 2];
      --needs.local[fine][face / 2];
    }
  }
}

kernels::FaceJobStarts DeviceTables::write_packs(std::span<FaceJob> packs) const {
  std::vector<FaceJob> jobs;
  jobs.reserve(packs.size());
  for (const HaloPiece& p : plan_.sends.pieces) {
    const FaceWork work = p.transfer == Transfer::whole     ? FaceWork::pack
                          : p.transfer == Transfer::quarter ? FaceWork::pack_quarter
                                                            : FaceWork::pack_restricted;
    jobs.push_back(job_of(p.block, work, p.face, p.part, 0, p.at));
  }
  return support::order_by_key<kernels::kFaceKeys>(std::span<const FaceJob>(jobs), packs,
                                                   [](const FaceJob& job) { return kernels::face_key(job); });
}

void DeviceTables::write(std::span<kernels::BlockEntry> blocks, std::span<FaceJob> local,
                         std::span<FaceJob> arrived) const {
  const Lists lists{blocks, local, arrived};
#pragma omp parallel for schedule(dynamic, 1)
  for (std::size_t r = 0; r < starts_.size(); ++r) {
    Needs at = starts_[r];
    for (std::size_t k = range_begin(r); k < range_begin(r + 1); ++k) write_block(k, at, lists);
  }
}

void DeviceTables::write_block(std::size_t k, Needs& at, const Lists& lists) const {
  const std::int32_t i = block_at(k);
  const auto& links = mesh_.settled_links(i);
  const Arrivals* const arrivals = arrivals_of(k);
  kernels::BlockEntry entry;
  entry.in = entry.out = i;
  for (int face = 0; face < 6; ++face) {
    const bool is_boundary = links.kind[face] == FaceKind::boundary;  // the domain's face copies the cell inside
    entry.faces[face] =
        kernels::face_in_place(is_boundary ? i : links.index.first(face), (is_boundary ? 0 : 1) ^ (face % 2));
  }
  for (std::uint64_t crossing = level_faces(links.kind); crossing != 0; crossing &= crossing - 1) {
    const int face = std::countr_zero(crossing) / 8;
    entry.faces[face] = kernels::face_packed(at.values);
    write_face(i, face, arrivals, at, lists);
    at.values += room_[face / 2];
  }
  for (int face = 0; arrivals != nullptr && face < 6; ++face)
    if (links.kind[face] == FaceKind::same && links.index.first(face) >= mesh_.size())
      entry.faces[face] = kernels::face_packed((*arrivals)[face][0]);
  lists.blocks[k] = entry;
}

void DeviceTables::write_face(std::int32_t i, int face, const Arrivals* arrivals, Needs& at, const Lists& lists) const {
  const auto& links = mesh_.settled_links(i);
  const auto parts = links.index[face];
  const bool coarse = links.kind[face] == FaceKind::coarse;
  const int from = coarse ? 0 : 1, axis = face / 2;
  const FaceWork here = coarse ? FaceWork::prolong : FaceWork::restrict_part;
  for (int q = 0; q < (coarse ? 1 : 4); ++q) {
    const int part = coarse ? own_part<3>(mesh_.coord(i), axis) : q;
    if (arrivals == nullptr || parts[q] < mesh_.size()) {
      lists.local[static_cast<std::size_t>(at.local[from][axis]++)] =
          job_of(parts[q], here, face ^ 1, part, 0, at.values);
    } else {
      const FaceWork work = coarse ? FaceWork::expand : FaceWork::insert;
      lists.arrived[static_cast<std::size_t>(at.arrived[from][axis]++)] =
          job_of(0, work, face, part, (*arrivals)[face][q], at.values);
    }
  }
}

}  // namespace amrbench::amr
