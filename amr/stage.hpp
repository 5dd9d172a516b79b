#pragma once
// One stage of the time loop: exchange of ghost values and stencil over all blocks.
//
// blocking:    exchange; all blocks
// overlapped:  start the exchange; blocks without remote neighbours; finish; the others
// (document 001, algorithms 5.1 and 5.2.) Both compute the same values in the same order of operations.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amr/config.hpp"
#include "amr/fields.hpp"
#include "amr/halo_size.hpp"
#include "amr/mesh.hpp"
#include "support/fixed_point_sum.hpp"
#include "support/metrics.hpp"

namespace amrbench::amr {

/// Counts what an exchange on the host waited for.
inline void count_wait(support::Metrics& metrics, double seconds) {
  metrics.count("halo_wait_ns", static_cast<std::int64_t>(seconds * 1e9));
}

/// What a stage computes on.
struct StageDevice {
  std::string backend = "cpu";
  std::string transport = "none";  ///< how GPUs exchange values
  int gpus = 0;                    ///< of all ranks
};

/// A stencil with its exchange, for one layout and one kind of fields; told of every change of the mesh.
template <int Dim>
class Stage {
 public:
  virtual ~Stage() = default;

  /// Rebuilds plans after the mesh changed; the mesh must live until the next call. Local.
  virtual void mesh_changed(const Mesh<Dim>& mesh) = 0;

  /// Stage number `stage` (from 0) over every block; the results are then the fields. With `scale` it adds up every
  /// variable's new values. Times go to phases halo and stencil; on the host, what the first spends on waiting for
  /// others also to the counter halo_wait_ns. Collective over neighbours. std::logic_error for fields of another kind.
  virtual void advance(const Mesh<Dim>& mesh, Fields& fields, std::int64_t stage, const support::FixedPointScale* scale,
                       support::Metrics& metrics) = 0;
  /// This rank's exact sum of every variable over the last stage that was given a scale; waits for that stage, and for
  /// no other. To be asked for before the next stage. Local.
  [[nodiscard]] virtual std::vector<support::FixedPointSum> sums() = 0;

  /// A stage may return while its work goes on elsewhere, and so may what changes its mesh; this waits for all of it
  /// and charges the time to the phase stencil, so that no other phase waits for it. Local.
  virtual void settle(support::Metrics& /*metrics*/) {}

  /// From now on measures what each block takes; where it cannot, block_seconds() stays empty.
  virtual void measure_blocks() {}
  /// Seconds that each local block took in all stages since its mesh came up; empty where they are not measured, and
  /// before the first stage. Local.
  [[nodiscard]] virtual std::span<const double> block_seconds() const { return {}; }

  /// Of the present mesh. Local.
  [[nodiscard]] virtual HaloSize halo_size() const = 0;
  [[nodiscard]] virtual StageDevice device() const { return {}; }
  /// Bytes of plans, buffers and scratch on this rank.
  [[nodiscard]] virtual std::size_t memory_bytes() const = 0;
  /// Variables [0, n) whose totals a stage conserves: on a mesh whose blocks all have one level, or on any other.
  [[nodiscard]] virtual int conserved_variables(bool mesh_is_uniform) const = 0;
  /// How far rounding may take these totals, relative to the first: a run's tolerance is this at least.
  [[nodiscard]] virtual double rounding_drift() const { return 0.0; }
};

/// How a stage works, whatever its stencil.
struct StageOptions {
  bool overlap = true;                ///< overlapped, not blocking
  std::string stores = "auto";        ///< DeviceConfig::stores
  std::vector<WorkConfig> work = {};  ///< Config::work
};

/// A stencil by name.
struct StencilEntry {
  std::string_view name;
  std::string_view description;
  std::unique_ptr<Stage<3>> (*make)(const kernels::BlockLayout& layout, const StageOptions& options);
};
/// All stencils; a new one is one file and one line in stencil_registry.cpp.
std::span<const StencilEntry> stencil_registry();
/// Throws support::InputError that lists the names when there is none called `name`.
std::unique_ptr<Stage<3>> make_stage(std::string_view name, const kernels::BlockLayout& layout,
                                     const StageOptions& options);

}  // namespace amrbench::amr
