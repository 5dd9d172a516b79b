#include "workloads/shallow_water/water_stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/error.hpp"

namespace amrbench::workloads::shallow_water {

double WaterStage::choose_step(const amr::Mesh<2>& mesh, amr::Fields& fields, double longest) {
  const double most = support::all_max(mesh.comm(), fastest(mesh, fields));
  step_ = most > 0.0 ? std::min(cfl_ / most, longest) : longest;
  if (!(step_ > 0.0) || !std::isfinite(step_))
    throw support::RunError(std::isinf(step_)
                                ? std::string("nothing moves and nothing bounds the time step; set run.time")
                                : fmt::format("the time step at t = {} s is {} s", time_, step_));
  return step_;
}

}  // namespace amrbench::workloads::shallow_water
