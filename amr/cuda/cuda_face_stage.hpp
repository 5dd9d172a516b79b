#pragma once
// Stages of stencils that need faces only, on a GPU: the twin of amr/face_stage.hpp.
//
// In:  the fields of one rank on its GPU, the mesh.
// Out: the fields after one stage, and their sums.
// The host makes the lists that kernels work by when the mesh changes (amr/device_tables.hpp), not in every stage. A
// stage is a few launches in two streams, each for all blocks of its list. Neither stream waits for the other but where
// data asks for it, and the host waits only for messages that pass through its memory:
//
//     side stream   pack what is sent; the link's exchange                       ] beside
//     main stream   faces between levels out of local blocks; interior blocks    ]
//     main stream   faces out of pieces received; border blocks
//
// With overlap off the exchange comes first and all blocks are one launch.
#include <cstdint>
#include <span>
#include <vector>

#include "amr/cuda/cuda_stage.hpp"
#include "amr/device_tables.hpp"
#include "amr/work.hpp"
#include "kernels/average7/average7_cuda.hpp"

namespace amrbench::amr {

class CudaFaceStage final : public CudaStage<3> {
 public:
  /// `fields` must outlive the stage.
  CudaFaceStage(CudaFields& fields, const StageOptions& options);

  void mesh_changed(const Mesh<3>& mesh) override;
  [[nodiscard]] HaloSize halo_size() const override { return halo_size_; }
  [[nodiscard]] std::size_t memory_bytes() const override;
  [[nodiscard]] int conserved_variables(bool /*mesh_is_uniform*/) const override { return layout_.variables; }

 private:
  void launch_stage(CudaFields& fields, std::int64_t stage, const kernels::DeviceSumView& sums,
                    support::Metrics& metrics) override;
  /// A table in device memory, and the same for slots out of order.
  template <class T>
  struct Table {
    DeviceList<T> in_order;
    support::StreamRegion now;
    int count = 0;
    [[nodiscard]] const T* get(bool ordered) const {
      return ordered ? in_order.data() : static_cast<const T*>(now.data());
    }
    [[nodiscard]] std::size_t bytes() const { return in_order.bytes() + now.bytes(); }
  };
  struct Jobs {
    Table<kernels::FaceJob> table;
    kernels::FaceJobStarts starts{};
  };
  template <class T>
  [[nodiscard]] std::span<T> prepare(Table<T>& table, std::size_t n);
  template <class T>
  void remap(Table<T>& table, const std::int32_t* slots);
  /// Tables for blocks that stand where a refinement or a migration left them.
  void follow_slots(const CudaFields& fields);
  void start_exchange(const CudaFields& fields);
  void finish_exchange();
  void make_faces(const Jobs& jobs, const CudaFields& fields);
  /// Blocks of the list, and the artificial work on them.
  void compute(CudaFields& fields, std::size_t begin, std::size_t end, const kernels::DeviceSumView& sums);
  void run_blocks(CudaFields& fields, const kernels::BlockEntry* entries, std::size_t count,
                  const kernels::DeviceSumView& sums);
  void plan_work(const Mesh<3>& mesh, std::span<const kernels::BlockEntry> entries, std::size_t begin, std::size_t end);

  /// Blocks that are evaluated again, so many times, once those up to `end` of the list are.
  struct Work {
    std::size_t end = 0;
    int times = 0;
    Table<kernels::BlockEntry> entries;
  };

  kernels::BlockLayout layout_;
  StageOptions options_;
  CudaDevice& device_;
  std::size_t interior_ = 0, blocks_ = 0;
  Table<kernels::BlockEntry> entries_;
  Jobs packs_, local_, arrived_;
  std::vector<Work> work_;
  std::vector<support::LinkPiece> sends_, receives_;
  HaloSize halo_size_;
  bool ordered_ = true;  ///< the slots of this stage
  DeviceList<std::int32_t> slot_list_;
  support::DeviceBuffer<double> send_, packed_;
};

/// The messages of a plan as pieces of a link.
template <int Dim>
[[nodiscard]] std::vector<support::LinkPiece> link_pieces(const Mesh<Dim>& mesh, const HaloMessages& messages) {
  std::vector<support::LinkPiece> pieces;
  for (std::size_t k = 0; k < messages.counts.size(); ++k)
    pieces.push_back({mesh.neighbors()[k].rank, messages.starts[k], messages.counts[k]});
  return pieces;
}

}  // namespace amrbench::amr
