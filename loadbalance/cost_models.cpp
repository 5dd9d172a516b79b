#include <algorithm>
#include <array>
#include <cmath>

#include "amr/work.hpp"
#include "loadbalance/cost_model.hpp"
#include "support/registry.hpp"

namespace amrbench::loadbalance {

namespace {

class Uniform final : public CostModel {
 public:
  void weigh(BlockTable& table) const override {
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < table.size(); ++i) table.weight[i] = 1.0;
  }
  [[nodiscard]] bool is_uniform() const override {
    return true;
  }
  [[nodiscard]] bool needs_centres() const override {
    return false;
  }
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

/// A block weighs what artificial work makes of it, whoever has it.
class ByRegion final : public CostModel {
 public:
  explicit ByRegion(std::span<const amr::WorkConfig> work) : work_(work.begin(), work.end()) {}
  void weigh(BlockTable& table) const override {
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < table.size(); ++i) {
      std::array<double, 3> centre{};
      const auto dims = static_cast<std::size_t>(table.grid.dim);
      for (std::size_t d = 0; d < dims; ++d) centre[d] = table.centre[dims * i + d] / table.extent(static_cast<int>(d));
      table.weight[i] = amr::work_factor(work_, centre);
    }
  }

 private:
  std::vector<amr::WorkConfig> work_;
};

/// Seconds a stage, as measured: a mean over segments in which each counts half as much as the one after it. Where only
/// ranks are measured, a rank's seconds are shared among its blocks as they weighed before.
class ByMeasure final : public CostModel {
 public:
  void weigh(BlockTable& /*table*/) const override {}
  [[nodiscard]] bool needs_centres() const override { return false; }
  [[nodiscard]] bool remembers() const override { return true; }
  [[nodiscard]] bool measures() const override { return true; }
  void learn(std::span<double> weights, const Measured& measured) override {
    constexpr double kNew = 0.5, kLeast = 1e-12;
    double all = 0.0;
    for (const double w : weights) all += w;
    const double share = all > 0.0 ? measured.rank_seconds / all : 0.0;
    const auto stages = static_cast<double>(measured.stages);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double seconds = measured.block_seconds.empty() ? weights[i] * share : measured.block_seconds[i];
      const double now = std::max(seconds / stages, kLeast);
      weights[i] = knows_ ? (1.0 - kNew) * weights[i] + kNew * now : now;
    }
    knows_ = true;
  }
  [[nodiscard]] bool has_learnt() const override { return knows_; }
  void resume(bool has_learnt) override { knows_ = has_learnt; }

 private:
  bool knows_ = false;  ///< are weights seconds by now?
};

/// What the workload says of its present state: blocks of dry ground cost next to nothing.
class ByWorkload final : public CostModel {
 public:
  void weigh(BlockTable& /*table*/) const override {}
  [[nodiscard]] bool needs_centres() const override { return false; }
  [[nodiscard]] bool remembers() const override { return true; }
  [[nodiscard]] bool measures() const override { return true; }
  [[nodiscard]] bool wants_costs() const override { return true; }
};

template <class Model>
std::unique_ptr<CostModel> make_model_of(const BalanceConfig& /*config*/, std::span<const amr::WorkConfig> /*work*/) {
  return std::make_unique<Model>();
}

std::unique_ptr<CostModel> make_by_region(const BalanceConfig& /*config*/, std::span<const amr::WorkConfig> work) {
  return std::make_unique<ByRegion>(work);
}

}  // namespace

std::span<const CostModelEntry> cost_model_registry() {
  static constexpr std::array entries{
      CostModelEntry{"uniform", "every block weighs 1", make_model_of<Uniform>},
      CostModelEntry{"level", "a block of level l weighs 2^l, as where finer levels take more steps",
                     make_model_of<ByLevel>},
      CostModelEntry{"region", "a block weighs as much work as [[work]] puts on it", make_by_region},
      CostModelEntry{"workload", "a block weighs what the workload says it costs: dry ones next to nothing",
                     make_model_of<ByWorkload>},
      CostModelEntry{"measured", "a block weighs the seconds that its stages took, smoothed", make_model_of<ByMeasure>},
  };
  return entries;
}

std::unique_ptr<CostModel> make_cost_model(const BalanceConfig& config, std::span<const amr::WorkConfig> work) {
  return support::find_entry(cost_model_registry(), config.weights, "balance.weights").make(config, work);
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
