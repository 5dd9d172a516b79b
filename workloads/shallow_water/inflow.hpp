#pragma once
// Water that comes in along lines, by discharges over time: rivers, breaches, drains that overflow.
//
// A line's water is shared out to the cells it crosses by its length in each; a line on a side of the domain, or
// between cells, belongs to those east and north of it where there are any. What comes in during a step is put there
// when it begins, without momentum, so that all that came in stands in the state of every time: volumes are right to
// rounding, the time it comes is of first order.
#include <cstdint>
#include <span>
#include <vector>

#include "amr/fields.hpp"
#include "amr/mesh.hpp"
#include "workloads/shallow_water/config.hpp"
#include "workloads/shallow_water/input/time_series.hpp"
#include "workloads/shallow_water/problem.hpp"

namespace amrbench::workloads::shallow_water {

class Inflows {
 public:
  /// Reads the series of those that name no side; `problem` must outlive it. Throws support::InputError where a line
  /// leaves the domain, a series cannot be read or a discharge is negative.
  Inflows(std::span<const InflowConfig> lines, const Problem& problem);

  [[nodiscard]] bool empty() const { return lines_.empty(); }
  /// What comes in from t0 to t1 [m^3].
  [[nodiscard]] double volume(double t0, double t1) const;
  /// Finds the cells of this rank's blocks; to be called when the mesh has changed. Local.
  void find_cells(const amr::Mesh<2>& mesh);
  /// The blocks that hold some, ascending.
  [[nodiscard]] std::span<const std::int32_t> blocks() const { return blocks_; }
  /// The longest step from t0, at most `step`, after which a wave crosses at most `cfl` of a cell there. Keeps what the
  /// blocks hold. Local.
  [[nodiscard]] double stable_step(const amr::Mesh<2>& mesh, const amr::Fields& fields, double t0, double step,
                                   double cfl);
  /// Puts the water of a step there; the fields as stable_step() found them. Local.
  void add(const amr::Mesh<2>& mesh, amr::Fields& fields, double t0, double t1);

 private:
  struct Line {
    std::array<double, 2> from, to;
    TimeSeries series;
    double most = 0.0;  ///< largest discharge [m^3/s]
  };
  /// A cell, by its place in a block's plane, and the share of a line that it holds.
  struct Cell {
    std::size_t block;  ///< in blocks_
    std::size_t line, at;
    double share;
  };
  void find_cells_of(const amr::Mesh<2>& mesh, std::int32_t i, std::vector<Cell>& found) const;
  /// Depths after the step in `values`.
  void pour(const amr::Mesh<2>& mesh, double t0, double t1, std::vector<double>& values) const;

  const Problem& problem_;
  std::vector<Line> lines_;
  std::vector<std::int32_t> blocks_;
  std::vector<Cell> cells_;
  std::vector<double> values_;  ///< of the blocks, one after another
};

}  // namespace amrbench::workloads::shallow_water
