#pragma once
// What a face stage on a GPU is told of a mesh: lists made on the host, and copied to the GPU, when the mesh changed.
//
// In:  the mesh, the plan of its messages.
// Out: an entry for each block (where its six faces are to be read), jobs that pack what is sent, and jobs that make
//      the faces that cannot be read in place.
//
// All packed faces lie in one buffer: first the messages received, in the order of the plan, then the faces that are
// made out of local blocks and of quarters received:
//
//     [ piece | piece | ... ][ made face | made face | ... ]      each a multiple of 4 doubles
//
// A remote face of the same level is thus read where the message put it. Slots in the lists are the blocks' numbers,
// for after a stage block i stands in slot i. In the one stage after a change of the mesh it does not, and the GPU
// replaces them by the slots of that moment (kernels/remap_cuda.hpp). Plain data, no CUDA header; local work, shared by
// threads.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "amr/halo_plan.hpp"
#include "kernels/device_blocks.hpp"
#include "kernels/face_jobs.hpp"

namespace amrbench::amr {

class DeviceTables {
 public:
  /// Counts. `plan`: of this mesh with face_piece_sizes(layout, 4). Mesh and plan must outlive the object. RunError
  /// when the packed faces are more than a table can name (64 GiB).
  DeviceTables(const Mesh<3>& mesh, const kernels::BlockLayout& layout, const HaloPlan& plan);

  [[nodiscard]] std::size_t blocks() const { return std::size_t(mesh_.size()); }
  [[nodiscard]] std::size_t interior() const { return interior_; }  ///< blocks without ghost neighbours: the first ones
  [[nodiscard]] std::size_t packs() const { return plan_.sends.pieces.size(); }
  /// Where the jobs of each kernels::face_key() begin; local().back() jobs.
  [[nodiscard]] const kernels::FaceJobStarts& local() const { return local_; }
  [[nodiscard]] const kernels::FaceJobStarts& arrived() const { return arrived_; }
  [[nodiscard]] std::size_t send_values() const { return plan_.sends.values; }
  /// Doubles of the messages at the start of the packed faces, and of all packed faces.
  [[nodiscard]] std::size_t receive_values() const { return plan_.receives.values; }
  [[nodiscard]] std::size_t packed_values() const { return values_; }

  /// What is sent, into the send buffer: packs() jobs. Where those of each kernels::face_key() begin.
  kernels::FaceJobStarts write_packs(std::span<kernels::FaceJob> packs) const;
  /// The blocks; faces made out of local blocks, and out of pieces received, into the packed faces: local().back() and
  /// arrived().back() jobs.
  void write(std::span<kernels::BlockEntry> blocks, std::span<kernels::FaceJob> local,
             std::span<kernels::FaceJob> arrived) const;

 private:
  /// Where the pieces that a border block received lie, by face and part of the face.
  using Arrivals = std::array<std::array<std::size_t, 4>, 6>;
  /// Doubles of faces, and jobs by what becomes of a face, [from a coarse block, from fine ones][axis].
  using Jobs = std::array<std::array<std::int32_t, 3>, 2>;
  struct Needs {
    std::size_t values = 0;
    Jobs local{}, arrived{};
  };
  struct Lists {
    std::span<kernels::BlockEntry> blocks;
    std::span<kernels::FaceJob> local, arrived;
  };
  [[nodiscard]] std::int32_t block_at(std::size_t k) const;
  [[nodiscard]] std::size_t range_begin(std::size_t range) const { return blocks() * range / starts_.size(); }
  [[nodiscard]] const Arrivals* arrivals_of(std::size_t k) const {
    return k < interior_ ? nullptr : &arrivals_[k - interior_];
  }
  void place_arrivals();
  void sum_needs();
  void add_needs(std::int32_t i, Needs& needs) const;
  void write_block(std::size_t k, Needs& at, const Lists& lists) const;
  void write_face(std::int32_t i, int face, const Arrivals* arrivals, Needs& at, const Lists& lists) const;

  const Mesh<3>& mesh_;
  const HaloPlan& plan_;
  std::array<std::size_t, 3> room_{};  ///< doubles from one made face to the next, by axis
  BlockLists lists_;                   ///< empty without ghosts: blocks stand in their order then
  std::size_t interior_ = 0;
  std::vector<Arrivals> arrivals_;  ///< of border blocks
  std::vector<Needs> starts_;       ///< where the faces and jobs of a range of blocks begin; threads share ranges
  std::size_t values_ = 0;
  kernels::FaceJobStarts local_{}, arrived_{};
};

}  // namespace amrbench::amr
