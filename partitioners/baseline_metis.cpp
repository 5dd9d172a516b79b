// METIS 5 (partitioners/baselines.hpp).
#include <fmt/format.h>
#include <metis.h>

#include <limits>

#include "partitioners/baseline_problem.hpp"
#include "partitioners/baselines.hpp"
#include "support/error.hpp"

#if defined(SCOTCH_METIS_PREFIX) || !defined(METIS_VER_MAJOR)
#error "this metis.h is Scotch's compatibility header, not METIS's"
#endif

namespace amrbench::partitioners {

namespace {

using Routine = decltype(&METIS_PartGraphKway);

/// METIS takes pointers to non-const and does not write to the graph; idx_t has 32 or 64 bits as METIS was built.
struct MetisGraph {
  std::vector<idx_t> offsets;
  std::vector<idx_t> adjacent_copy;  // when idx_t has not the 32 bits of ours
  idx_t* adjacent = nullptr;
  std::vector<idx_t> weights;
};

MetisGraph make_graph(const Problem& problem, std::string_view method) {
  const Graph& graph = *problem.graph;
  constexpr auto kMost = static_cast<std::int64_t>(std::numeric_limits<idx_t>::max());
  if (graph.offsets.back() > kMost || static_cast<std::int64_t>(graph.vertices()) > kMost)
    throw support::InputError(
        fmt::format("{}: {} entries of the graph; this METIS counts to {}", method, graph.offsets.back(), kMost));
  MetisGraph metis;
  metis.offsets.assign(graph.offsets.begin(), graph.offsets.end());
  if constexpr (sizeof(idx_t) == sizeof(std::int32_t)) {
    metis.adjacent = const_cast<idx_t*>(reinterpret_cast<const idx_t*>(graph.adjacent.data()));
  } else {
    metis.adjacent_copy.assign(graph.adjacent.begin(), graph.adjacent.end());
    metis.adjacent = metis.adjacent_copy.data();
  }
  const auto weights =
      integer_weights(problem.weights, std::int64_t{1} << (sizeof(idx_t) == sizeof(std::int32_t) ? 30 : 50));
  metis.weights.assign(weights.begin(), weights.end());
  return metis;
}

class MetisPartitioner final : public Partitioner {
 public:
  MetisPartitioner(std::string_view name, Routine routine) : name_(name), routine_(routine) {}
  [[nodiscard]] bool needs_graph() const override { return true; }

  PartitionResult partition(const Problem& problem, const PartitionOptions& options) override {
    const std::size_t n = check_graph_problem(problem, options, name_);
    if (auto trivial = trivial_partition(n, options.parts)) return *std::move(trivial);
    const ResidentGrowth growth;
    MetisGraph graph = make_graph(problem, name_);
    idx_t settings[METIS_NOPTIONS];
    METIS_SetDefaultOptions(settings);
    settings[METIS_OPTION_SEED] = 1;
    settings[METIS_OPTION_NUMBERING] = 0;
    auto vertices = static_cast<idx_t>(n);
    idx_t constraints = 1;
    auto parts = static_cast<idx_t>(options.parts);
    idx_t cut = 0;
    std::vector<idx_t> part(n);
    const int status = routine_(&vertices, &constraints, graph.offsets.data(), graph.adjacent,
                                graph.weights.empty() ? nullptr : graph.weights.data(), nullptr, nullptr, &parts,
                                nullptr, nullptr, settings, &cut, part.data());
    if (status == METIS_ERROR_MEMORY) throw support::RunError(fmt::format("{}: not enough memory", name_));
    if (status != METIS_OK) throw support::RunError(fmt::format("{}: METIS failed with status {}", name_, status));
    PartitionResult result;
    result.part.assign(part.begin(), part.end());
    result.memory_bytes = growth.bytes();
    return result;
  }

 private:
  std::string_view name_;
  Routine routine_;
};

}  // namespace

std::unique_ptr<Partitioner> make_metis_kway() {
  return std::make_unique<MetisPartitioner>("metis_kway", &METIS_PartGraphKway);
}

std::unique_ptr<Partitioner> make_metis_recursive() {
  return std::make_unique<MetisPartitioner>("metis_recursive", &METIS_PartGraphRecursive);
}

}  // namespace amrbench::partitioners
