#include <algorithm>
#include <array>
#include <cmath>

#include "loadbalance/cost_model.hpp"
#include "support/registry.hpp"

namespace amrbench::loadbalance {

namespace {

class Uniform final : public CostModel {
 public:
  void weigh(BlockTable& table) const override { std::fill(table.weight.begin(), table.weight.end(), 1.0); }
  [[nodiscard]] bool is_uniform() const override { return true; }
  [[nodiscard]] bool needs_centres() const override { return false; }
};

/// A block of level l takes 2^l steps where the coarsest takes one (subcycling).
class ByLevel final : public CostModel {
 public:
  void weigh(BlockTable& table) const override {
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < table.size(); ++i) table.weight[i] = std::ldexp(1.0, table.level[i]);
  }
  [[nodiscard]] bool needs_centres() const override {
    return false;
  }
};

template <class Model>
std::unique_ptr<CostModel> make_model_of(const BalanceConfig& /*config*/) {
  return std::make_unique<Model>();
}

}  // namespace

std::span<const CostModelEntry> cost_model_registry() {
  static constexpr std::array entries{
      CostModelEntry{"uniform", "every block weighs 1", make_model_of<Uniform>},
      CostModelEntry{"level", "a block of level l weighs 2^l, as where finer levels take more steps",
                     make_model_of<ByLevel>},
  };
  return entries;
}

std::unique_ptr<CostModel> make_cost_model(const BalanceConfig& config) {
  return support::find_entry(cost_model_registry(), config.weights, "balance.weights").make(config);
}

double work_seconds(const support::Metrics& metrics) {
  constexpr double kNanosecond = 1e-9;
  // Counted from a GPU's first stage on, so that one clock serves the whole run.
  if (metrics.counter("device_memory_bytes") > 0)
    return kNanosecond * static_cast<double>(metrics.counter("device_stencil_ns") + metrics.counter("device_faces_ns"));
  const double waiting = kNanosecond * static_cast<double>(metrics.counter("halo_wait_ns"));
  return metrics.seconds(support::Phase::stencil) + metrics.seconds(support::Phase::halo) - waiting;
}

}  // namespace amrbench::loadbalance
