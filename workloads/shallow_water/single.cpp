#include "workloads/shallow_water/single.hpp"

#include <algorithm>

namespace amrbench::workloads::shallow_water {

namespace {

namespace water = kernels::shallow_water;

void narrow(const double* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

water::StepResult<double> widened(const water::StepResult<float>& r) {
  return {r.fastest, r.smallest_depth, r.largest_depth, r.wet};
}

}  // namespace

SingleBlock::SingleBlock(int cells) : scratch_(cells) {
  const std::size_t plane = std::size_t(cells) * std::size_t(cells);
  in_.resize(water::kVariables * plane);
  old_.resize(water::kMoving * plane);
  out_.resize(water::kMoving * plane);
  strips_.resize(4 * water::strip_values(water::StripKind::fine, cells));
}

water::StepResult<double> SingleBlock::advance(const water::BlockShape<double>& shape,
                                               const water::Physics<double>& physics, const double* in,
                                               const std::array<water::Strip<double>, 4>& strips, const double* old,
                                               double dt, double* out) {
  constexpr std::size_t kTravelling = water::kVariables - 1;  // of a strip, all that is read
  const std::size_t moving = water::kMoving * shape.plane();
  narrow(in, shape.values(), in_.data());
  if (old != nullptr) narrow(old, moving, old_.data());
  std::array<water::Strip<float>, 4> behind;
  for (std::size_t face = 0; face < 4; ++face) {
    float* const to = strips_.data() + face * water::strip_values(water::StripKind::fine, shape.cells);
    const auto cells = static_cast<std::size_t>(water::strip_cells(strips[face].kind, shape.cells));
    narrow(strips[face].values, kTravelling * 2 * cells, to);
    behind[face] = {to, strips[face].kind};
    if (strips[face].inflow == nullptr) continue;
    float* const inflow = to + water::strip_values(water::StripKind::same, shape.cells);
    narrow(strips[face].inflow, water::inflow_values(shape.cells), inflow);
    behind[face].inflow = inflow;
  }
  const auto found =
      water::advance_block(shape_in<float>(shape), physics_in<float>(physics), in_.data(), behind,
                           old == nullptr ? nullptr : old_.data(), static_cast<float>(dt), out_.data(), scratch_);
  std::copy_n(out_.data(), moving, out);
  return widened(found);
}

water::StepResult<double> SingleBlock::measure(const water::BlockShape<double>& shape,
                                               const water::Physics<double>& physics, const double* in) {
  narrow(in, shape.values(), in_.data());
  return widened(water::measure_block(shape_in<float>(shape), physics_in<float>(physics), in_.data()));
}

}  // namespace amrbench::workloads::shallow_water
