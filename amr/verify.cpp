#include "amr/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace amrbench::amr {

namespace {

using support::mix64;

template <int Dim>
std::uint64_t block_hash(const Mesh<Dim>& mesh, std::int32_t i) {
  const auto& c = mesh.coord(i);
  const std::uint64_t z = Dim == 3 ? c[Dim - 1] : 0;
  return mix64(mix64(static_cast<std::uint64_t>(mesh.level(i)), c[0]), mix64(c[1], z));
}

/// A bound for any value that a conserving stencil can make of the field: what the variable's values add up to.
double value_bound(const std::vector<support::FieldStats>& first) {
  double bound = 1.0;
  for (const auto& stats : first) {
    const double largest = std::max(std::abs(stats.min()), std::abs(stats.max()));
    bound = std::max({bound, std::abs(stats.sum().to_double()), largest});
  }
  // A margin for fields of both signs and for stencils that do not conserve; what still leaves it is summed exactly.
  return std::isfinite(bound) && bound < 0x1p1000 ? 4.0 * bound : 1.0;
}

}  // namespace

template <int Dim>
std::uint64_t mesh_digest(const Mesh<Dim>& mesh) {
  std::uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (std::int32_t i = 0; i < mesh.size(); ++i) sum += block_hash(mesh, i);
  return support::all_sum(mesh.comm(), sum);
}

template <int Dim>
std::vector<support::FieldStats> field_stats(const Mesh<Dim>& mesh, const Fields& fields, const Measure& measure) {
  std::vector<std::uint64_t> hashes(mesh.size());
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size(); ++i) hashes[i] = block_hash(mesh, i);
  std::vector<double> measures;
  for (std::int32_t i = 0; measure && i < mesh.size(); ++i) measures.push_back(measure(mesh.level(i)));
  std::vector<support::FieldStats> stats = fields.statistics(hashes, measures);
  support::FieldStats::allreduce(mesh.comm(), stats);
  return stats;
}

ConservationCheck::ConservationCheck(const std::vector<support::FieldStats>& first, int conserved, double tolerance)
    : conserved_(conserved), tolerance_(tolerance), scale_(support::FixedPointScale::for_bound(value_bound(first))) {
  for (const auto& stats : first) baseline_.push_back(stats.sum().to_double());
}

ConservationCheck::ConservationCheck(const CheckState& state, double tolerance)
    : baseline_(state.baseline),
      conserved_(state.conserved),
      tolerance_(tolerance),
      scale_(state.scale_exponent),
      worst_(state.worst_drift),
      checks_(state.checks) {}

std::string ConservationCheck::note() const {
  const auto variables = static_cast<int>(baseline_.size());
  if (conserved_ >= variables) return {};
  return fmt::format(
      "conservation was checked for {} of {} variables: the stencil does not conserve the others on the meshes of this "
      "run; their totals were only checked to be finite",
      conserved_, variables);
}

bool ConservationCheck::check(const std::vector<double>& totals, std::int64_t step, std::int64_t stage) {
  ++checks_;
  for (std::size_t v = 0; v < totals.size() && !failure_; ++v) {
    if (!std::isfinite(totals[v])) {
      failure_ = fmt::format("variable {}: the total is {} after step {}, stage {}", v, totals[v], step, stage);
      break;
    }
    if (v >= std::size_t(conserved_)) continue;
    const double change = std::abs(totals[v] - baseline_[v]);
    const double drift = baseline_[v] == 0.0 ? change : change / std::abs(baseline_[v]);
    worst_ = std::max(worst_, drift);
    if (drift > tolerance_) {
      failure_ = fmt::format(
          "variable {}: the total {:.17g} drifted by {:.3g} from the first, {:.17g}, after step {}, stage {}; "
          "the tolerance is {:g}",
          v, totals[v], drift, baseline_[v], step, stage, tolerance_);
    }
  }
  return passed();
}

template std::uint64_t mesh_digest(const Mesh<2>&);
template std::uint64_t mesh_digest(const Mesh<3>&);
template std::vector<support::FieldStats> field_stats(const Mesh<2>&, const Fields&, const Measure&);
template std::vector<support::FieldStats> field_stats(const Mesh<3>&, const Fields&, const Measure&);

}  // namespace amrbench::amr
