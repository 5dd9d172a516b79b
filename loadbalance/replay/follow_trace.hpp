#pragma once
// Walking through a trace: every mesh of it, in order. Internal to replay.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "amr/rebalancer.hpp"
#include "loadbalance/block_table.hpp"
#include "loadbalance/cost_model.hpp"
#include "loadbalance/replay/trace_mesh.hpp"

namespace amrbench::loadbalance {

/// Tables of one mesh, weighed by one model each, made when they are first asked for.
template <int Dim>
class Tables {
 public:
  Tables(const amr::Mesh<Dim>& mesh, std::span<const amr::Change> changes) : mesh_(mesh), changes_(changes) {}
  /// `name`: of the model in its registry. Not thread-safe.
  const BlockTable& of(std::string_view name, const CostModel& model, bool centres, bool graph);

 private:
  const amr::Mesh<Dim>& mesh_;
  std::span<const amr::Change> changes_;
  std::map<std::string, BlockTable, std::less<>> tables_;
  std::shared_ptr<const partitioners::Graph> graph_;
};

template <int Dim>
class TraceVisitor {
 public:
  virtual ~TraceVisitor() = default;
  virtual void roots(Tables<Dim>& tables) = 0;
  /// So many stages on this mesh. costs: of each block, on average of begin and end (CostRuns); empty: all 1. The last
  /// mesh has a segment even where no stage follows. One mesh may have several, where costs are known or measures().
  virtual void segment(const amr::Mesh<Dim>& mesh, std::span<const double> costs, std::int64_t stages) = 0;
  /// A refinement. One that does not change the mesh is told of only where measures().
  virtual void begin(const amr::RunPosition& position, bool changes) = 0;
  /// Rebalancer::measures().
  [[nodiscard]] virtual bool measures() const { return false; }
  /// A pass: what the blocks become, then what has become of them.
  virtual void ahead(Tables<Dim>& tables) = 0;
  virtual void follow(std::span<const std::int32_t> origin) = 0;
  virtual void conclude(Tables<Dim>& tables, bool changes) = 0;
  /// A consensus that found nothing to change; every refinement ends with one.
  virtual void look() = 0;
};

/// The trace must have this dimension. `progress` is told the refinements done.
template <int Dim>
void follow_trace(const std::filesystem::path& trace, std::string_view curve, TraceVisitor<Dim>& visitor,
                  const std::function<void(std::int64_t)>& progress);

}  // namespace amrbench::loadbalance
