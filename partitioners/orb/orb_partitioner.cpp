#include "partitioners/orb/orb_partitioner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "partitioners/orb/distributed.hpp"
#include "partitioners/orb/orb.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

namespace {

/// With fewer points than parts each point is a part, and the last parts are empty.
OrbOptions options_of(const PartitionOptions& options, std::uint64_t points) {
  return {
      .leaves = static_cast<std::uint32_t>(std::min<std::uint64_t>(static_cast<std::uint64_t>(options.parts), points)),
      .threads = options.threads,
      .side_tolerance = options.side_tolerance};
}

class OrbPartitioner final : public Partitioner {
 public:
  [[nodiscard]] bool runs_on_ranks(const PartitionOptions& /*options*/) const override { return true; }

  PartitionResult partition(const Problem& problem, const PartitionOptions& options) override {
    check(problem, options);
    return problem.points.dim == 2 ? run<2>(problem, options) : run<3>(problem, options);
  }
  RankResult partition_on_ranks(const support::Communicator& comm, const Problem& mine,
                                const PartitionOptions& options) override {
    check(mine, options);
    return mine.points.dim == 2 ? run_on_ranks<2>(comm, mine, options) : run_on_ranks<3>(comm, mine, options);
  }

 private:
  static void check(const Problem& problem, const PartitionOptions& options) {
    if (options.parts < 1) throw support::InputError(fmt::format("parts is {}; at least 1 is needed", options.parts));
    if (problem.points.dim != 2 && problem.points.dim != 3)
      throw support::InputError(fmt::format("orb: points of {} coordinates; it takes 2 or 3", problem.points.dim));
  }

  template <int Dim>
  static PartitionResult run(const Problem& problem, const PartitionOptions& options) {
    PartitionResult result;
    if (problem.points.empty()) return result;
    OrbResult<double, Dim> orb_result;
    orb<double, Dim>(problem.points, problem.weights, options_of(options, problem.points.size()), orb_result);
    result.part.assign(orb_result.labels.begin(), orb_result.labels.end());
    result.order.assign(orb_result.permutation.begin(), orb_result.permutation.end());
    for (const auto& scratch : orb_result.scratch) result.memory_bytes += scratch.bytes();
    return result;
  }

  template <int Dim>
  static RankResult run_on_ranks(const support::Communicator& comm, const Problem& mine,
                                 const PartitionOptions& options) {
    RankResult result;
    const std::uint64_t points = support::all_sum(comm, static_cast<std::uint64_t>(mine.points.size()));
    if (points == 0) return result;
    const OrbOptions orb_options = options_of(options, points);
    const auto orb = orb_distributed<double, Dim>(comm, mine.points, mine.weights, orb_options);
    const std::span labels(orb.labels.data(), mine.points.size());
    result.part.assign(labels.begin(), labels.end());
    result.memory_bytes = orb.labels.bytes() + orb.points.bytes();
    if (!options.order) return result;
    // Points of a leaf stand by number, so those of the ranks before come first.
    std::vector<std::uint64_t> counts(orb_options.leaves);
    for (const std::uint32_t leaf : labels) ++counts[leaf];
    std::vector<std::uint64_t> next = support::exclusive_sums<std::uint64_t>(comm, counts);
    for (std::uint32_t leaf = 0; leaf < orb_options.leaves; ++leaf)
      next[leaf] += orb.tree.cells[orb.tree.leaf_cell[leaf]].begin;
    for (const std::uint32_t leaf : labels) result.position.push_back(next[leaf]++);
    return result;
  }
};

}  // namespace

std::unique_ptr<Partitioner> make_orb_partitioner() {
  return std::make_unique<OrbPartitioner>();
}

}  // namespace amrbench::partitioners
