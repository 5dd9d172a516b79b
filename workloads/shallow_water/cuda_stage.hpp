#pragma once
// A stage of the shallow-water equations on a GPU: the twin of stage.hpp, with its bits. Only in builds with CUDA.
//
// The host makes lists when the mesh changes; a stage is two launches, or four. Strips that other ranks need are packed
// and travel in the side stream while blocks without remote neighbours are computed. The time step needs the fastest
// wave of the stage before, which is the one number the host waits for in a step.
#include <cstdint>
#include <memory>
#include <vector>

#include "amr/cuda/cuda_face_stage.hpp"
#include "amr/cuda/cuda_fields.hpp"
#include "amr/halo_plan.hpp"
#include "kernels/device_sum.hpp"
#include "kernels/shallow_water/block_cuda.hpp"
#include "workloads/shallow_water/problem.hpp"
#include "workloads/shallow_water/water_stage.hpp"

namespace amrbench::workloads::shallow_water {

/// Real: of values in the fields' slots, double or float.
template <class Real>
class CudaShallowWaterStage final : public WaterStage {
 public:
  /// Both must outlive it.
  CudaShallowWaterStage(amr::CudaFields& fields, const Problem& problem, double cfl, bool overlap);

  void mesh_changed(const amr::Mesh<2>& mesh) override;
  void advance(const amr::Mesh<2>& mesh, amr::Fields& fields, std::int64_t stage, const support::FixedPointScale* scale,
               support::Metrics& metrics) override;
  [[nodiscard]] std::vector<support::FixedPointSum> sums() override { return sums_.totals(); }
  void settle(support::Metrics& metrics) override;
  [[nodiscard]] amr::HaloSize halo_size() const override { return halo_size_; }
  [[nodiscard]] amr::StageDevice device() const override { return device_.description(); }
  [[nodiscard]] std::size_t memory_bytes() const override;
  [[nodiscard]] int conserved_variables(bool /*mesh_is_uniform*/) const override {
    return problem_.is_closed() ? 1 : 0;
  }
  [[nodiscard]] double rounding_drift() const override { return problem_.rounding_drift(); }
  [[nodiscard]] std::int64_t computed() override;
  void wetted(std::span<const std::int32_t> blocks) override;
  void update_maps(const amr::Mesh<2>& mesh, amr::Fields& fields, double arrival_depth, double time) override;

 private:
  [[nodiscard]] double fastest(const amr::Mesh<2>& mesh, amr::Fields& fields) override;
  [[nodiscard]] kernels::shallow_water::StageJob<Real> make_job(amr::CudaFields& fields);
  void list_blocks(const amr::Mesh<2>& mesh, const amr::HaloPlan& plan);
  void fill_given(const amr::Mesh<2>& mesh, double time);
  void let_in(const amr::Mesh<2>& mesh, amr::CudaFields& fields, const Moment& moment);
  void start_found();
  void fetch_found();

  const Problem& problem_;
  amr::CudaDevice& device_;
  bool overlap_;
  kernels::DeviceSum sums_;
  amr::HaloSize halo_size_;
  std::size_t interior_ = 0, blocks_ = 0;
  int thread_blocks_ = 0;  ///< StageJob's
  bool is_new_ = true, copies_bed_ = true;
  amr::DeviceList<kernels::shallow_water::BlockWork> work_;
  amr::DeviceList<kernels::shallow_water::StripJob> packs_;
  std::size_t pack_count_ = 0;
  amr::DeviceList<double> measures_;
  /// A face where the solution itself stands behind the domain.
  struct Given {
    std::int32_t block;
    int face;
  };
  std::vector<Given> given_;
  amr::DeviceList<Real> given_strips_;
  std::vector<kernels::shallow_water::InflowJob> inflows_;  ///< faces through which water comes in
  amr::DeviceList<kernels::shallow_water::InflowJob> inflow_faces_;
  amr::DeviceList<kernels::shallow_water::Inflow<Real>> inflow_cells_;
  support::DeviceBuffer<Real> inflow_strips_;
  std::vector<support::LinkPiece> sends_, receives_;
  support::DeviceBuffer<Real> send_, packed_;
  support::DeviceBuffer<unsigned char> had_water_, has_water_, is_same_;
  support::DeviceBuffer<int> lists_;  ///< blocks computed, blocks copied
  support::DeviceBuffer<unsigned long long> found_;
  support::PinnedBuffer<unsigned long long> found_host_;
  support::CudaEvent found_there_;
  std::size_t fetching_ = 0;  ///< stages whose findings are on their way: the first of a step is not waited for
  double fastest_ = 0.0;
  std::int64_t computed_ = 0;
};

/// Of the problem's precision, which is the fields'.
[[nodiscard]] std::unique_ptr<WaterStage> make_cuda_stage(amr::CudaFields& fields, const Problem& problem, double cfl,
                                                          bool overlap);

}  // namespace amrbench::workloads::shallow_water
