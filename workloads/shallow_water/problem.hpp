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
#include "workloads/shallow_water/config.hpp"
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

/// Immutable; may be asked by several threads.
class Problem {
 public:
  /// has_sources: water comes in besides, through no side. Throws support::InputError where config.problem is unknown,
  /// or the mesh's blocks are not square.
  Problem(const amr::Config& config, const ShallowWaterConfig& water, bool has_sources = false);

  [[nodiscard]] const Solution& solution() const { return *solution_; }
  [[nodiscard]] const kernels::shallow_water::Physics<double>& physics() const { return physics_; }
  [[nodiscard]] int cells() const { return cells_; }
  /// Are values and stages floats (single.hpp)? All that is filled in here is rounded then.
  [[nodiscard]] bool is_single() const { return is_single_; }
  /// amr::Stage::rounding_drift(): a stage rounds each cell's change, to 2^-24 of its depth, up or down.
  [[nodiscard]] double rounding_drift() const { return is_single_ ? 1e-5 : 0.0; }
  [[nodiscard]] const std::array<double, 2>& extent() const { return extent_; }
  /// Do all sides keep the water in?
  [[nodiscard]] bool has_walls() const;
  /// Is there as much water at all times?
  [[nodiscard]] bool is_closed() const { return has_walls() && !has_sources_; }

  /// Cells along an edge and their sizes [m], of blocks of a level.
  [[nodiscard]] kernels::shallow_water::BlockShape<double> shape(int level) const;
  /// The middle of a cell of block i [m].
  [[nodiscard]] std::array<double, 2> centre(const amr::Mesh<2>& mesh, std::int32_t i, int x, int y) const;

  /// Solution::wanted_level() of block i.
  [[nodiscard]] int wanted_level(const amr::Mesh<2>& mesh, std::int32_t i) const;

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
  /// The strip behind a face at the side of the domain.
  void fill_boundary(const amr::Mesh<2>& mesh, std::int32_t i, int face, double time, const double* block,
                     double* strip) const;

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
  /// Without a time: bed and roughness alone.
  [[nodiscard]] Sample sample(double x, double y, double dx, double dy, int levels, std::optional<double> time) const;
  template <class Take>
  void for_cells(const amr::Mesh<2>& mesh, std::int32_t i, std::optional<double> time, Take&& take) const;
  void fill_exact(const amr::Mesh<2>& mesh, std::int32_t i, int face, double time, double* strip) const;

  std::unique_ptr<Solution> solution_;
  kernels::shallow_water::Physics<double> physics_;
  int cells_;
  bool is_single_;
  std::array<int, 2> root_;
  int max_level_;
  std::array<double, 2> extent_;
  bool has_sources_;
};

}  // namespace amrbench::workloads::shallow_water
