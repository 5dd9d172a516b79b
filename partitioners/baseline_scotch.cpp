// Scotch 7 (partitioners/baselines.hpp).
#include <cstdio>
// scotch.h uses FILE and fixed-width integers without including what declares them.
#include <cstdint>
// clang-format off
#include <scotch.h>
// clang-format on
#include <fmt/format.h>

#include <limits>

#include "partitioners/baseline_problem.hpp"
#include "partitioners/baselines.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

constexpr double kImbalance = 0.01;

void check(int status, std::string_view call) {
  if (status != 0) throw support::RunError(fmt::format("scotch: {} failed with status {}", call, status));
}

/// Scotch's objects are plain structs with an init and an exit.
class ScotchGraph {
 public:
  ScotchGraph() { check(SCOTCH_graphInit(&graph_), "SCOTCH_graphInit"); }
  ~ScotchGraph() { SCOTCH_graphExit(&graph_); }
  ScotchGraph(const ScotchGraph&) = delete;
  ScotchGraph& operator=(const ScotchGraph&) = delete;
  SCOTCH_Graph* get() { return &graph_; }

 private:
  SCOTCH_Graph graph_{};
};

class ScotchStrategy {
 public:
  ScotchStrategy() { check(SCOTCH_stratInit(&strategy_), "SCOTCH_stratInit"); }
  ~ScotchStrategy() { SCOTCH_stratExit(&strategy_); }
  ScotchStrategy(const ScotchStrategy&) = delete;
  ScotchStrategy& operator=(const ScotchStrategy&) = delete;
  SCOTCH_Strat* get() { return &strategy_; }

 private:
  SCOTCH_Strat strategy_{};
};

/// One thread and a seed of its own, so that a call depends on nothing before it.
class ScotchContext {
 public:
  ScotchContext() {
    check(SCOTCH_contextInit(&context_), "SCOTCH_contextInit");
    check(SCOTCH_contextRandomClone(&context_), "SCOTCH_contextRandomClone");
    SCOTCH_contextRandomSeed(&context_, 1);
    check(SCOTCH_contextOptionSetNum(&context_, SCOTCH_OPTIONNUMDETERMINISTIC, 1), "SCOTCH_contextOptionSetNum");
    check(SCOTCH_contextThreadSpawn(&context_, 1, nullptr), "SCOTCH_contextThreadSpawn");
  }
  ~ScotchContext() { SCOTCH_contextExit(&context_); }
  ScotchContext(const ScotchContext&) = delete;
  ScotchContext& operator=(const ScotchContext&) = delete;
  SCOTCH_Context* get() { return &context_; }

 private:
  SCOTCH_Context context_{};
};

class ScotchArchitecture {
 public:
  /// A tree of two levels. Its leaves, the tasks, are numbered node by node.
  ScotchArchitecture(int nodes, int tasks) {
    check(SCOTCH_archInit(&architecture_), "SCOTCH_archInit");
    const SCOTCH_Num sizes[] = {nodes, tasks};
    const SCOTCH_Num costs[] = {kNodeCost, 1};
    check(SCOTCH_archTleaf(&architecture_, 2, sizes, costs), "SCOTCH_archTleaf");
  }
  ~ScotchArchitecture() { SCOTCH_archExit(&architecture_); }
  ScotchArchitecture(const ScotchArchitecture&) = delete;
  ScotchArchitecture& operator=(const ScotchArchitecture&) = delete;
  SCOTCH_Arch* get() { return &architecture_; }

 private:
  static constexpr SCOTCH_Num kNodeCost = 10;  ///< document 001, section 3.2.3
  SCOTCH_Arch architecture_{};
};

class ScotchPartitioner final : public Partitioner {
 public:
  /// maps: onto nodes and tasks, not just into parts.
  explicit ScotchPartitioner(bool maps) : maps_(maps) {}
  [[nodiscard]] bool needs_graph() const override { return true; }
  [[nodiscard]] bool serves_nodes() const override { return maps_; }

  PartitionResult partition(const Problem& problem, const PartitionOptions& options) override {
    const std::size_t n = check_graph_problem(problem, options, maps_ ? "scotch_map" : "scotch");
    if (maps_ && options.nodes > 0 && options.parts % options.nodes != 0)
      throw support::InputError(
          fmt::format("scotch_map: {} parts on {} nodes; every node has as many", options.parts, options.nodes));
    // The header and the library must be of one kind; Debian ships three side by side.
    if (SCOTCH_numSizeof() != static_cast<int>(sizeof(SCOTCH_Num)))
      throw support::RunError(fmt::format("scotch: built with integers of {} bytes, linked to a library of {}",
                                          sizeof(SCOTCH_Num), SCOTCH_numSizeof()));
    if (auto trivial = trivial_partition(n, options.parts)) return *std::move(trivial);
    const Graph& graph = *problem.graph;
    if (graph.offsets.back() > static_cast<std::int64_t>(std::numeric_limits<SCOTCH_Num>::max()))
      throw support::InputError(fmt::format("scotch: {} entries of the graph; this Scotch counts to {}",
                                            graph.offsets.back(), std::numeric_limits<SCOTCH_Num>::max()));
    const ResidentGrowth growth;
    PartitionResult result;
    result.part = cut(graph, problem.weights, options.parts, maps_ ? options.nodes : 0);
    result.memory_bytes = growth.bytes();
    return result;
  }

 private:
  /// nodes: 0 where parts are just parts.
  static std::vector<std::int32_t> cut(const Graph& graph, std::span<const double> weights, int parts, int nodes) {
    constexpr int kBits = sizeof(SCOTCH_Num) == sizeof(std::int32_t) ? 30 : 50;
    const auto integers = integer_weights(weights, std::int64_t{1} << kBits);
    const std::vector<SCOTCH_Num> offsets(graph.offsets.begin(), graph.offsets.end());
    const std::vector<SCOTCH_Num> adjacent(graph.adjacent.begin(), graph.adjacent.end());
    const std::vector<SCOTCH_Num> loads(integers.begin(), integers.end());
    std::vector<SCOTCH_Num> part(graph.vertices());
    ScotchGraph whole;
    check(SCOTCH_graphBuild(whole.get(), 0, static_cast<SCOTCH_Num>(graph.vertices()), offsets.data(), nullptr,
                            loads.empty() ? nullptr : loads.data(), nullptr, static_cast<SCOTCH_Num>(adjacent.size()),
                            adjacent.data(), nullptr),
          "SCOTCH_graphBuild");
    ScotchContext context;
    ScotchGraph bound;
    check(SCOTCH_contextBindGraph(context.get(), whole.get(), bound.get()), "SCOTCH_contextBindGraph");
    ScotchStrategy strategy;
    check(SCOTCH_stratGraphMapBuild(strategy.get(), SCOTCH_STRATRECURSIVE, parts, kImbalance),
          "SCOTCH_stratGraphMapBuild");
    if (nodes == 0) {
      check(SCOTCH_graphPart(bound.get(), parts, strategy.get(), part.data()), "SCOTCH_graphPart");
    } else {
      ScotchArchitecture machine(nodes, parts / nodes);
      check(SCOTCH_graphMap(bound.get(), machine.get(), strategy.get(), part.data()), "SCOTCH_graphMap");
    }
    return {part.begin(), part.end()};
  }

  bool maps_;
};

}  // namespace

std::unique_ptr<Partitioner> make_scotch() {
  return std::make_unique<ScotchPartitioner>(false);
}

std::unique_ptr<Partitioner> make_scotch_map() {
  return std::make_unique<ScotchPartitioner>(true);
}

}  // namespace amrbench::partitioners
