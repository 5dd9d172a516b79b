#pragma once
// The best schedule of cuts for one rule of placing: a visitor of the trace that keeps every state worth keeping.
// Internal to replay; loadbalance/replay/replay.hpp tells the idea.
#include <memory>
#include <span>
#include <vector>

#include "loadbalance/replay/follow_trace.hpp"
#include "loadbalance/replay/virtual_run.hpp"

namespace amrbench::loadbalance {

template <int Dim>
class BestSchedule final : public TraceVisitor<Dim> {
 public:
  /// bound: no schedule dearer than this is of interest. ideal: what each segment costs at least, in order.
  BestSchedule(const Placer& placer, double bound, std::span<const double> ideal);

  void roots(Tables<Dim>& tables) override;
  void segment(const amr::Mesh<Dim>& mesh, std::span<const double> costs, std::int64_t stages) override;
  void begin(const amr::RunPosition& position, bool changes) override;
  /// As the runs with these weights.
  [[nodiscard]] bool measures() const override { return placer_.model().measures(); }
  void ahead(Tables<Dim>& tables) override;
  void follow(std::span<const std::int32_t> origin) override;
  void conclude(Tables<Dim>& tables, bool /*changes*/) override;
  void look() override;

  /// Of the best schedule; infinity where all were dearer than the bound.
  [[nodiscard]] double seconds() const;
  [[nodiscard]] std::int64_t cuts() const;
  /// Was every state kept that could matter? Where placing depends on where blocks are, there would be too many.
  [[nodiscard]] bool is_exact() const { return is_exact_; }
  /// The most states at once.
  [[nodiscard]] std::size_t states_max() const { return states_max_; }

 private:
  struct State {
    std::shared_ptr<const Owners> owners;
    double seconds = 0.0;
    std::int64_t cuts = 0;
    bool is_cut = false;  ///< in this refinement
    int cuts_ahead = 0;   ///< in it
    bool may_cut_ahead = false;
  };
  [[nodiscard]] const BlockTable& table(Tables<Dim>& tables) const;
  void drop_hopeless();
  void drop_twins();
  void keep_few_cuts();
  [[nodiscard]] bool cut(State& state, const BlockTable& table, const Load& load) const;

  const Placer& placer_;
  double bound_;
  std::vector<double> still_;  ///< what the segments from each on cost at least
  std::size_t segment_ = 0;    ///< segments over
  bool is_refining_ = false;
  std::vector<State> states_;
  std::size_t states_max_ = 0;
  bool is_exact_ = true;
};

extern template class BestSchedule<2>;
extern template class BestSchedule<3>;

}  // namespace amrbench::loadbalance
