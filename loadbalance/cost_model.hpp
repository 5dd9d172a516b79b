#pragma once
// CostModel: what a block weighs (balance.weights), and how long a rank has worked.
//
// Only ratios of weights matter. A model is one file and one line in cost_models.cpp.
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "loadbalance/block_table.hpp"
#include "loadbalance/config.hpp"
#include "support/metrics.hpp"

namespace amrbench::loadbalance {

/// What a segment's stages took on this rank.
struct Measured {
  std::span<const double> block_seconds;  ///< of each block; empty where only the rank is measured
  double rank_seconds = 0.0;              ///< that this rank worked
  std::int64_t stages = 0;                ///< in it, >= 1
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Writes table.weight, finite and >= 0: what one block of each row costs. It finds there what was last kept with the
  /// block (1 at the start); table.seconds is what this rank has worked since then. Must not depend on how blocks are
  /// spread over ranks unless the model measures. Must not throw: a weight of NaN is refused on every rank. Local.
  virtual void weigh(BlockTable& table) const = 0;
  /// Does every block weigh exactly 1, so that loads follow from counting?
  [[nodiscard]] virtual bool is_uniform() const { return false; }
  /// Does weigh() look at centres? They cost a pass over the blocks.
  [[nodiscard]] virtual bool needs_centres() const { return true; }
  /// Are weights to be kept with the blocks: through migration, by children (their parent's) and merged blocks (the
  /// mean of eight)?
  [[nodiscard]] virtual bool remembers() const { return false; }
  /// Does it learn from what blocks take? It must then remember, and blocks may be placed anew at every refinement,
  /// also where none changed the mesh.
  [[nodiscard]] virtual bool measures() const { return false; }
  /// Are weights what the workload says of its blocks (amr::Workload::block_costs)? It must then remember and measure.
  [[nodiscard]] virtual bool wants_costs() const { return false; }
  /// What was measured since the refinement before; in every segment that had stages. `weights`, one a block of this
  /// rank, as kept, become what is to be kept. Local.
  virtual void learn(std::span<double> /*weights*/, const Measured& /*measured*/) {}
  /// Has learn() been called? For checkpoints; resume(true): weights kept with the blocks come from such a model.
  [[nodiscard]] virtual bool has_learnt() const { return false; }
  virtual void resume(bool /*has_learnt*/) {}
};

struct CostModelEntry {
  std::string_view name;
  std::string_view description;
  /// `work`: the run's artificial work.
  std::unique_ptr<CostModel> (*make)(const BalanceConfig& config, std::span<const amr::WorkConfig> work);
};
/// All cost models, the default first.
std::span<const CostModelEntry> cost_model_registry();
/// The model called config.weights. Throws support::InputError that lists the names when there is none.
std::unique_ptr<CostModel> make_cost_model(const BalanceConfig& config, std::span<const amr::WorkConfig> work = {});

/// Seconds that this rank has worked on its blocks since the run began: stencils and what makes and packs faces,
/// without waiting for messages where that is known. By the GPU's clock where a GPU computes (its events, as far as
/// they have come in), else by the host's. Local.
[[nodiscard]] double work_seconds(const support::Metrics& metrics);

}  // namespace amrbench::loadbalance
