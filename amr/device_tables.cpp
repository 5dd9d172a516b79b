#include "amr/device_tables.hpp"

#include <omp.h>

#include <array>
#include <limits>

#include "support/error.hpp"

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

/// Where the pieces that a border block received lie, by face and part of the face.
using Arrivals = std::array<std::array<std::size_t, 4>, 6>;

class TableMaker {
 public:
  TableMaker(const Mesh<3>& mesh, const kernels::BlockLayout& layout, const HaloPlan& plan)
      : mesh_(mesh), layout_(layout), plan_(plan), lists_(list_blocks(mesh)) {}

  DeviceTables make() {
    DeviceTables tables;
    tables.interior = lists_.interior.size();
    tables.send_values = plan_.sends.values;
    tables.receive_values = plan_.receives.values;
    for (const HaloPiece& p : plan_.sends.pieces) {
      const FaceWork work = p.transfer == Transfer::whole     ? FaceWork::pack
                            : p.transfer == Transfer::quarter ? FaceWork::pack_quarter
                                                              : FaceWork::pack_restricted;
      tables.packs.push_back(job_of(p.block, work, p.face, p.part, 0, p.at));
    }
    place_arrivals();
    place_made_faces(tables);
    fill(tables);
    return tables;
  }

 private:
  [[nodiscard]] std::int32_t block_at(std::size_t k) const {
    return k < lists_.interior.size() ? lists_.interior[k] : lists_.border[k - lists_.interior.size()];
  }
  [[nodiscard]] std::size_t blocks() const { return std::size_t(mesh_.size()); }
  [[nodiscard]] const Arrivals* arrivals_of(std::size_t k) const {
    return k < lists_.interior.size() ? nullptr : &arrivals_[k - lists_.interior.size()];
  }
  static bool crosses_level(FaceKind kind) { return kind == FaceKind::coarse || kind == FaceKind::fine; }

  void place_arrivals() {
    Arrivals none;
    for (auto& face : none) face.fill(kNone);
    arrivals_.assign(lists_.border.size(), none);
    std::vector<std::int32_t> border_index(mesh_.size(), -1);
    for (std::size_t k = 0; k < lists_.border.size(); ++k)
      border_index[lists_.border[k]] = static_cast<std::int32_t>(k);
    for (const HaloPiece& p : plan_.receives.pieces)
      arrivals_[border_index[p.block]][p.face][p.transfer == Transfer::restricted ? p.part : 0] = p.at;
  }

  /// Where each block's faces and jobs begin: what the blocks before it need, added up.
  void place_made_faces(DeviceTables& tables) {
    starts_.resize(blocks() + 1);
    starts_[0] = {plan_.receives.values, 0, 0};
#pragma omp parallel for schedule(static)
    for (std::size_t k = 0; k < blocks(); ++k) starts_[k + 1] = needs_of(block_at(k));
    for (std::size_t k = 0; k < blocks(); ++k) {
      starts_[k + 1].values += starts_[k].values;
      starts_[k + 1].local += starts_[k].local;
      starts_[k + 1].arrived += starts_[k].arrived;
    }
    const Needs& all = starts_.back();
    if (all.values / kUnit > std::size_t(std::numeric_limits<std::int32_t>::max()))
      throw support::RunError("GPU: packed faces of a rank exceed 64 GiB; use more ranks");
    tables.packed_values = all.values;
    tables.local.resize(all.local);
    tables.arrived.resize(all.arrived);
    tables.blocks.resize(blocks());
  }

  struct Needs {
    std::size_t values, local, arrived;
  };
  [[nodiscard]] Needs needs_of(std::int32_t i) const {
    Needs needs{0, 0, 0};
    const auto& links = mesh_.links(i);
    for (int face = 0; face < 6; ++face) {
      if (!crosses_level(links.kind[face])) continue;
      needs.values += kernels::piece_room(layout_.face_values(face / 2));
      for (int part = 0; part < (links.kind[face] == FaceKind::fine ? 4 : 1); ++part)
        ++(links.index[face][part] < mesh_.size() ? needs.local : needs.arrived);
    }
    return needs;
  }

  void fill(DeviceTables& tables) const {
#pragma omp parallel for schedule(static)
    for (std::size_t k = 0; k < blocks(); ++k) fill_block(k, tables);
  }

  void fill_block(std::size_t k, DeviceTables& tables) const {
    const std::int32_t i = block_at(k);
    const auto& links = mesh_.links(i);
    const Arrivals* const arrivals = arrivals_of(k);
    Needs at = starts_[k];
    kernels::BlockEntry& entry = tables.blocks[k];
    entry.in = entry.out = i;
    for (int face = 0; face < 6; ++face) {
      const FaceKind kind = links.kind[face];
      const std::int32_t j = links.index[face][0];
      if (kind == FaceKind::boundary) {  // the domain's face copies the cell inside
        entry.faces[face] = kernels::face_in_place(i, face % 2);
      } else if (kind == FaceKind::same) {
        entry.faces[face] =
            j < mesh_.size() ? kernels::face_in_place(j, 1 - face % 2) : kernels::face_packed((*arrivals)[face][0]);
      } else {
        entry.faces[face] = kernels::face_packed(at.values);
        make_face(i, face, arrivals, at, tables);
        at.values += kernels::piece_room(layout_.face_values(face / 2));
      }
    }
  }

  void make_face(std::int32_t i, int face, const Arrivals* arrivals, Needs& at, DeviceTables& tables) const {
    const auto& links = mesh_.links(i);
    const bool coarse = links.kind[face] == FaceKind::coarse;
    for (int q = 0; q < (coarse ? 1 : 4); ++q) {
      const std::int32_t j = links.index[face][q];
      const int part = coarse ? own_part(layout_, mesh_.coord(i), face / 2) : q;
      if (j < mesh_.size()) {
        const FaceWork work = coarse ? FaceWork::prolong : FaceWork::restrict_part;
        tables.local[at.local++] = job_of(j, work, face ^ 1, part, 0, at.values);
      } else {
        const FaceWork work = coarse ? FaceWork::expand : FaceWork::insert;
        tables.arrived[at.arrived++] = job_of(0, work, face, part, (*arrivals)[face][q], at.values);
      }
    }
  }

  const Mesh<3>& mesh_;
  const kernels::BlockLayout& layout_;
  const HaloPlan& plan_;
  BlockLists lists_;
  std::vector<Arrivals> arrivals_;  ///< of border blocks
  std::vector<Needs> starts_;
};

}  // namespace

DeviceTables make_device_tables(const Mesh<3>& mesh, const kernels::BlockLayout& layout, const HaloPlan& plan) {
  return TableMaker(mesh, layout, plan).make();
}

}  // namespace amrbench::amr
