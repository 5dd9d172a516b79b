#pragma once
// A problem on the mesh: where its cells lie, what they hold at the start, what stands at the sides of the domain.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "amr/config.hpp"
#include "amr/mesh.hpp"
#include "kernels/shallow_water/block.hpp"
#include "kernels/shallow_water/boundary.hpp"
#include "workloads/shallow_water/config.hpp"
#include "workloads/shallow_water/resolution_map.hpp"
#include "workloads/shallow_water/side_inflow.hpp"
#include "workloads/shallow_water/solution.hpp"

namespace amrbench::workloads::shallow_water {

/// A problem by name; that without make() is made of files (raster_problem.hpp).
struct ProblemEntry {
  std::string_view name;
  std::string_view description;
  std::unique_ptr<Solution> (*make)();
};
[[nodiscard]] std::span<const ProblemEntry> problem_registry();
/// The problem that is made of files.
inline constexpr std::string_view kRasterProblem = "raster";
/// The problem that a configuration names. Throws support::InputError.
[[nodiscard]] std::unique_ptr<Solution> make_solution(const amr::MeshConfig& mesh, const ShallowWaterConfig& water);

/// A time, and a stretch of time over which what comes in is averaged.
struct Moment {
  double time = 0;  ///< [s]
  double from = time, to = time;
};

/// Immutable; may be asked by several threads.
class Problem {
 public:
  /// `inflows`: water that comes in, along lines or through sides. Throws support::InputError where config.problem is
  /// unknown, the mesh's blocks are not square, or an inflow through a side makes no sense.
  Problem(const amr::Config& config, const ShallowWaterConfig& water, std::span<const InflowConfig> inflows = {});

  [[nodiscard]] const Solution& solution() const { return *solution_; }
  [[nodiscard]] const kernels::shallow_water::Physics<double>& physics() const { return physics_; }
  [[nodiscard]] int cells() const { return cells_; }
  /// Are values and stages floats (single.hpp)? All that is filled in here is rounded then.
  [[nodiscard]] bool is_single() const { return is_single_; }
  /// amr::Stage::rounding_drift(): a stage rounds each cell's change, to 2^-24 of its depth, up or down.
  [[nodiscard]] double rounding_drift() const { return is_single_ ? 1e-5 : 0.0; }
  [[nodiscard]] const std::array<double, 2>& extent() const { return extent_; }
  /// Do all sides that there are keep the water in?
  [[nodiscard]] bool has_walls() const;
  /// Is the solution known at all times?
  [[nodiscard]] bool is_known() const;
  /// Does water come in?
  [[nodiscard]] bool has_inflows() const { return has_inflows_; }
  /// Is there as much water at all times?
  [[nodiscard]] bool is_closed() const { return has_walls() && !has_inflows_; }
  /// What comes in through sides.
  [[nodiscard]] const SideInflows& side_inflows() const { return side_inflows_; }
  /// Does any come in through a face of block i, which lies at a side?
  [[nodiscard]] bool has_side_inflow(const amr::Mesh<2>& mesh, std::int32_t i, int face) const;
  /// That of its cells; of floats' values where the problem is single.
  void find_side_inflow(const amr::Mesh<2>& mesh, std::int32_t i, int face, const Moment& moment,
                        kernels::shallow_water::Inflow<double>* cells) const;
  /// SideInflows::stable_step() for the local blocks at sides. Local.
  [[nodiscard]] double stable_side_step(const amr::Mesh<2>& mesh, double t0, double longest, double cfl) const;

  /// Cells along an edge and their sizes [m], of blocks of a level.
  [[nodiscard]] kernels::shallow_water::BlockShape<double> shape(int level) const;
  /// The middle of a cell of block i [m].
  [[nodiscard]] std::array<double, 2> centre(const amr::Mesh<2>& mesh, std::int32_t i, int x, int y) const;

  /// Solution::wanted_level() of block i.
  [[nodiscard]] int wanted_level(const amr::Mesh<2>& mesh, std::int32_t i) const;
  /// The least level that block i may have by the map of cell sizes; 0 without one.
  [[nodiscard]] int least_level(const amr::Mesh<2>& mesh, std::int32_t i) const;
  /// Do the levels follow a map and nothing else?
  [[nodiscard]] bool is_mapped() const { return is_mapped_; }

  /// The five planes of block i at time 0. The bed of a cell is the mean over the cells of the deepest level in it, in
  /// the order in which blocks are merged: a cell and the four it splits into hold the same rock. Its depth follows
  /// from the surface of those that are wet, so that a lake at rest is one on every level. O(cells of the deepest
  /// level in the block).
  void fill_initial(const amr::Mesh<2>& mesh, std::int32_t i, double* block) const;
  /// Depth and discharges that the solution has in a cell of block i at a time, from the cells of the deepest level in
  /// it as fill_initial() does.
  [[nodiscard]] std::array<double, 3> exact(const amr::Mesh<2>& mesh, std::int32_t i, int x, int y, double time) const;
  /// The bed and roughness alone.
  void fill_bed(const amr::Mesh<2>& mesh, std::int32_t i, double* block) const;
  /// What stands at a side where no water comes in and the solution is not asked; `exact` counts as a wall.
  [[nodiscard]] kernels::shallow_water::Boundary<double> side_boundary(int face) const;
  /// The strip behind a face at the side of the domain; true where water comes in, which `through` then tells
  /// (kernels/shallow_water/inflow.hpp; memory for inflow_values()).
  bool fill_boundary(const amr::Mesh<2>& mesh, std::int32_t i, int face, const Moment& moment, const double* block,
                     double* strip, double* through) const;
  /// The strip of the solution behind a face.
  void fill_exact(const amr::Mesh<2>& mesh, std::int32_t i, int face, double time, double* strip) const;

 private:
  /// What the cells of the deepest level in a cell hold together.
  struct Sample {
    double bed = 0, roughness = 0, hu = 0, hv = 0;  ///< means
    double surface = 0;                             ///< sum over those that are wet
    double wet = 0;                                 ///< how many
    /// Depth and discharges of the cell: its surface is theirs.
    [[nodiscard]] std::array<double, 3> water() const {
      const double h = wet > 0.0 ? std::max(0.0, surface / wet - bed) : 0.0;
      return {h, h > 0.0 ? hu : 0.0, h > 0.0 ? hv : 0.0};
    }
  };
  /// Corners of block i [m].
  struct Box {
    std::array<double, 2> low{}, high{};
  };
  [[nodiscard]] Box box(const amr::Mesh<2>& mesh, std::int32_t i) const;
  /// Without a time: bed and roughness alone.
  [[nodiscard]] Sample sample(double x, double y, double dx, double dy, int levels, std::optional<double> time) const;
  template <class Take>
  void for_cells(const amr::Mesh<2>& mesh, std::int32_t i, std::optional<double> time, Take&& take) const;
  /// Where a face of block i begins along a side, and the size of its cells [m].
  [[nodiscard]] std::array<double, 2> along_side(const amr::Mesh<2>& mesh, std::int32_t i, int face) const;
  /// The image of a place that Solution::middle() asks for.
  [[nodiscard]] std::array<double, 2> image(std::array<double, 2> at, double time) const;

  std::unique_ptr<Solution> solution_;
  kernels::shallow_water::Physics<double> physics_;
  int cells_;
  bool is_single_;
  std::array<int, 2> root_;
  int max_level_;
  std::array<double, 2> extent_;
  std::array<bool, 2> periodic_;
  std::optional<ResolutionMap> map_;
  bool is_mapped_;
  SideInflows side_inflows_;
  bool has_inflows_;
};

}  // namespace amrbench::workloads::shallow_water
