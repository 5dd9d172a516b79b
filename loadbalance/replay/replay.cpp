#include "loadbalance/replay/replay.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "loadbalance/replay/best_schedule.hpp"
#include "loadbalance/replay/follow_trace.hpp"
#include "loadbalance/replay/for_all.hpp"

namespace amrbench::loadbalance {

namespace {

/// Strategies that differ in their policy alone place blocks alike.
std::string placing_of(const Strategy& s) {
  const PartitionConfig& p = s.partition;
  std::string name = std::to_string(s.ranks);
  for (const std::string& part :
       {p.method, p.splitter, p.slices, std::to_string(p.bucket), std::to_string(p.side_tolerance),
        std::to_string(p.rename), std::to_string(p.group_blocks), std::to_string(p.nodes),
        std::to_string(s.balance.limit_move), s.balance.weights})
    name += ' ' + part;
  return name;
}

/// All strategies on the keys of one curve.
template <int Dim>
class Strategies final : public TraceVisitor<Dim> {
 public:
  Strategies(std::vector<VirtualRun*> runs, std::vector<const Placer*> placers, const TraceHeader& header)
      : runs_(std::move(runs)), placers_(std::move(placers)), header_(header) {}

  void roots(Tables<Dim>& tables) override {
    for (std::size_t i = 0; i < runs_.size(); ++i) runs_[i]->place_roots(table(tables, i));
  }
  void segment(const amr::Mesh<Dim>& mesh, std::span<const double> costs, std::int64_t stages) override {
    for_all(runs_.size(), [&](std::size_t i) { runs_[i]->work(mesh, costs, stages); });
    // Where costs are known every visitor has the same segments.
    if (!goes_on_ || !costs.empty()) of_meshes_.push_back(0.0);
    of_segments_.push_back(0.0);
    goes_on_ = true;
    for (const double factor : block_work(mesh, header_, costs))
      of_segments_.back() += factor * static_cast<double>(stages);
    of_meshes_.back() += of_segments_.back();
  }
  void begin(const amr::RunPosition& position, bool changes) override {
    for (VirtualRun* run : runs_)
      if (changes || run->measures()) run->begin(position);
    if (changes) goes_on_ = false;
  }
  [[nodiscard]] bool measures() const override {
    return std::any_of(runs_.begin(), runs_.end(), [](const VirtualRun* run) { return run->measures(); });
  }
  void ahead(Tables<Dim>& tables) override {
    for (std::size_t i = 0; i < runs_.size(); ++i) table(tables, i);
    for_all(runs_.size(), [&](std::size_t i) { runs_[i]->ahead(table(tables, i)); });
  }
  void follow(std::span<const std::int32_t> origin) override {
    for_all(runs_.size(), [&](std::size_t i) { runs_[i]->follow(origin); });
  }
  void conclude(Tables<Dim>& tables, bool changes) override {
    for (std::size_t i = 0; i < runs_.size(); ++i) table(tables, i);
    for_all(runs_.size(), [&](std::size_t i) {
      if (changes || runs_[i]->measures()) runs_[i]->conclude(table(tables, i));
    });
  }
  void look() override {
    for (VirtualRun* run : runs_) run->look();
  }
  /// Stencils of blocks, artificial work and costs counted, in each segment that a visitor sees which measures, or not.
  [[nodiscard]] const std::vector<double>& work_stages(bool measures) const {
    return measures ? of_segments_ : of_meshes_;
  }

 private:
  /// Made before threads ask for it.
  const BlockTable& table(Tables<Dim>& tables, std::size_t i) const {
    const Placer& placer = *placers_[i];
    return tables.of(placer.strategy().balance.weights, placer.model(), placer.needs_centres(), placer.needs_graph());
  }
  std::vector<VirtualRun*> runs_;
  std::vector<const Placer*> placers_;
  const TraceHeader& header_;
  std::vector<double> of_meshes_, of_segments_;
  bool goes_on_ = false;  ///< does the last of of_meshes_?
};

template <int Dim>
class Replay {
 public:
  Replay(const std::filesystem::path& trace, const ReplayRequest& request, const std::function<void(double)>& progress)
      : trace_(trace), request_(request), progress_(progress), header_(TraceReader(trace).header()) {
    for (const Strategy& strategy : request.strategies) {
      auto& placer = placers_[placing_of(strategy)];
      if (!placer) placer = std::make_unique<Placer>(strategy, header_, request.machine);
      runs_.push_back(std::make_unique<VirtualRun>(*placer, make_policy(strategy.balance)));
      by_curve_[key_curve(strategy.partition)].push_back(runs_.size() - 1);
    }
    count_refinements();
  }

  std::vector<ReplayRow> run() {
    rows_.resize(runs_.size());
    for (const auto& [curve, members] : by_curve_) {
      std::vector<VirtualRun*> runs;
      std::vector<const Placer*> placers;
      for (const std::size_t i : members) {
        runs.push_back(runs_[i].get());
        placers.push_back(&placer(i));
      }
      Strategies<Dim> strategies(std::move(runs), std::move(placers), header_);
      walk(curve, strategies);
      for (const std::size_t i : members) fill(rows_[i], i, strategies.work_stages(false));
      if (request_.optimum) search(curve, members, strategies);
    }
    return std::move(rows_);
  }

 private:
  [[nodiscard]] const Placer& placer(std::size_t i) const { return *placers_.at(placing_of(request_.strategies[i])); }

  void count_refinements() {
    TraceReader reader(trace_);
    TraceRefinement refinement;
    std::int64_t refinements = 0;
    while (reader.next(refinement)) ++refinements;
    walks_ = static_cast<double>(by_curve_.size() + (request_.optimum ? placers_.size() : 0)) *
             static_cast<double>(std::max<std::int64_t>(refinements, 1));
  }

  void walk(const std::string& curve, TraceVisitor<Dim>& visitor) {
    follow_trace(trace_, curve, visitor, [&](std::int64_t) {
      done_ += 1.0;
      if (progress_) progress_(done_ / walks_);
    });
  }

  void fill(ReplayRow& row, std::size_t i, const std::vector<double>& work_stages) const {
    const VirtualRun& run = *runs_[i];
    row.strategy = request_.strategies[i];
    row.times = run.times();
    row.stencil_max_s = run.stencil_max();
    row.halo_max_s = run.halo_max();
    row.totals = run.totals();
    row.halo = run.halo();
    row.last_halo = run.last_halo();
    row.halo_bytes = run.halo_bytes();
    row.node_halo_bytes = run.node_halo_bytes();
    row.series = run.series();
    for (const double ideal : ideal_of(row.strategy.ranks, work_stages)) row.ideal_s += ideal;
  }

  /// Seconds of each segment if computation were all there is, and even.
  [[nodiscard]] std::vector<double> ideal_of(int ranks, const std::vector<double>& work_stages) const {
    const Machine& m = request_.machine;
    const double block_s = static_cast<double>(header_.layout().block_values()) * m.update_s + m.block_s;
    std::vector<double> ideal;
    for (const double blocks : work_stages) ideal.push_back(blocks * block_s / ranks);
    return ideal;
  }

  /// The best schedule of each rule of placing among the members.
  void search(const std::string& curve, const std::vector<std::size_t>& members, const Strategies<Dim>& strategies) {
    std::map<std::string, std::vector<std::size_t>> by_placing;
    for (const std::size_t i : members) by_placing[placing_of(request_.strategies[i])].push_back(i);
    for (const auto& [placing, alike] : by_placing) {
      double bound = std::numeric_limits<double>::infinity();
      for (const std::size_t i : alike) bound = std::min(bound, rows_[i].times.total());
      const Placer& alike_placer = *placers_.at(placing);
      const std::vector<double> ideal =
          ideal_of(alike_placer.strategy().ranks, strategies.work_stages(alike_placer.model().measures()));
      // Sums of the same seconds in another order may differ in their last bits.
      constexpr double kRounding = 1e-9;
      BestSchedule<Dim> best(alike_placer, bound * (1.0 + kRounding), ideal);
      walk(curve, best);
      for (const std::size_t i : alike) {
        // A policy that mixes passes in a way of its own may go beyond the schedules that are searched.
        rows_[i].optimum_s = std::min(best.seconds(), bound);
        rows_[i].optimum_cuts = best.cuts();
        rows_[i].optimum_exact = best.is_exact();
        rows_[i].regret = rows_[i].optimum_s > 0.0 ? rows_[i].times.total() / rows_[i].optimum_s - 1.0 : 0.0;
      }
    }
  }

  const std::filesystem::path& trace_;
  const ReplayRequest& request_;
  const std::function<void(double)>& progress_;
  TraceHeader header_;
  std::map<std::string, std::unique_ptr<Placer>> placers_;
  std::vector<std::unique_ptr<VirtualRun>> runs_;  ///< one a strategy
  std::map<std::string, std::vector<std::size_t>> by_curve_;
  std::vector<ReplayRow> rows_;
  double walks_ = 1.0, done_ = 0.0;  ///< refinements to follow in all, and followed
};

}  // namespace

std::vector<ReplayRow> replay(const std::filesystem::path& trace, const ReplayRequest& request,
                              const std::function<void(double)>& progress) {
  return TraceReader(trace).header().dim == 2 ? Replay<2>(trace, request, progress).run()
                                              : Replay<3>(trace, request, progress).run();
}

}  // namespace amrbench::loadbalance
