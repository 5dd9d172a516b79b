#pragma once
// A replayed strategy as the JSON that LBAF reads (DARMA's Load Balancing Analysis Framework), so that another tool can
// judge it: a file a rank, a phase a segment between refinements, a task a block with the seconds that the model gives
// it, a communication for each face that a block sends.
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "loadbalance/replay/follow_trace.hpp"
#include "loadbalance/replay/virtual_run.hpp"

namespace amrbench::loadbalance {

template <int Dim>
class LbafExport final : public TraceVisitor<Dim> {
 public:
  /// The policy is that of placer.strategy().
  LbafExport(const Placer& placer, const TraceHeader& header, const Machine& machine);

  void roots(Tables<Dim>& tables) override { run_.place_roots(table(tables)); }
  void segment(const amr::Mesh<Dim>& mesh, std::span<const double> costs, std::int64_t stages) override;
  void begin(const amr::RunPosition& position, bool /*changes*/) override { run_.begin(position); }
  void ahead(Tables<Dim>& tables) override { run_.ahead(table(tables)); }
  void follow(std::span<const std::int32_t> origin) override { run_.follow(origin); }
  void conclude(Tables<Dim>& tables, bool /*changes*/) override { run_.conclude(table(tables)); }
  void look() override { run_.look(); }

  /// The text of rank r's file.
  [[nodiscard]] std::string file(int rank) const;
  [[nodiscard]] int phase_count() const { return phase_count_; }

 private:
  /// What a block is called throughout.
  struct Entity {
    std::int64_t id;
    std::int32_t home;  ///< rank that had it first
  };
  [[nodiscard]] const BlockTable& table(Tables<Dim>& tables) const;
  const Entity& entity(amr::Key key, std::int32_t owner);

  const Placer& placer_;
  TraceHeader header_;
  double block_s_;
  VirtualRun run_;
  std::unordered_map<amr::Key, Entity> entities_;
  std::vector<std::string> phases_;  ///< of each rank
  int phase_count_ = 0;
};

extern template class LbafExport<2>;
extern template class LbafExport<3>;

/// Replays the one strategy and writes PREFIX.0.json, PREFIX.1.json, ... Throws support::InputError as replay() does,
/// and RunError where a file cannot be written or exists and must not be replaced. Returns the number of phases.
int export_lbaf(const std::filesystem::path& trace, const Strategy& strategy, const Machine& machine,
                const std::string& prefix, bool replace);

}  // namespace amrbench::loadbalance
