#pragma once
// Runs in single precision: what is rounded when, and a block's stage on the host.
//
// GPUs hold floats. The host keeps doubles that are floats' values, so that all that is not a stage - refinement,
// balancing, checks, output - is one code for both; a stage computes in floats there too. Whatever makes values in
// double precision rounds them once, when they become a block's; none is -0 then.
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/shallow_water/block.hpp"
#include "kernels/shallow_water/boundary.hpp"
#include "kernels/shallow_water/inflow.hpp"

namespace amrbench::workloads::shallow_water {

[[nodiscard]] inline double rounded_to_single(double x) {
  return static_cast<double>(kernels::shallow_water::no_minus_zero(static_cast<float>(x)));
}
inline void round_to_single(std::span<double> values) {
  for (double& x : values) x = rounded_to_single(x);
}

/// The same numbers, rounded where Real is float.
template <class Real>
[[nodiscard]] kernels::shallow_water::Physics<Real> physics_in(const kernels::shallow_water::Physics<double>& p) {
  return {static_cast<Real>(p.gravity), static_cast<Real>(p.dry_depth), p.limiter, p.friction};
}
template <class Real>
[[nodiscard]] kernels::shallow_water::BlockShape<Real> shape_in(const kernels::shallow_water::BlockShape<double>& s) {
  return {s.cells, static_cast<Real>(s.dx), static_cast<Real>(s.dy)};
}
template <class Real>
[[nodiscard]] kernels::shallow_water::Inflow<Real> inflow_in(const kernels::shallow_water::Inflow<double>& i) {
  return {static_cast<Real>(i.discharge), static_cast<Real>(i.depth)};
}
template <class Real>
[[nodiscard]] kernels::shallow_water::Boundary<Real> boundary_in(const kernels::shallow_water::Boundary<double>& b) {
  return {b.kind, static_cast<Real>(b.value)};
}

/// advance_block() and measure_block() in floats for one thread, on doubles that are floats' values; results are such
/// too. Blocks of up to `cells` cells a side.
class SingleBlock {
 public:
  explicit SingleBlock(int cells);
  kernels::shallow_water::StepResult<double> advance(const kernels::shallow_water::BlockShape<double>& shape,
                                                     const kernels::shallow_water::Physics<double>& physics,
                                                     const double* in,
                                                     const std::array<kernels::shallow_water::Strip<double>, 4>& strips,
                                                     const double* old, double dt, double* out);
  kernels::shallow_water::StepResult<double> measure(const kernels::shallow_water::BlockShape<double>& shape,
                                                     const kernels::shallow_water::Physics<double>& physics,
                                                     const double* in);

 private:
  std::vector<float> in_, old_, out_, strips_;
  kernels::shallow_water::Scratch<float> scratch_;
};

}  // namespace amrbench::workloads::shallow_water
