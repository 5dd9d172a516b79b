#include "partitioners/linear.hpp"

#include <numeric>

#include "partitioners/baseline_problem.hpp"
#include "partitioners/rank_share.hpp"
#include "partitioners/slices.hpp"
#include "partitioners/weights.hpp"

namespace amrbench::partitioners {

namespace {

class LinearPartitioner final : public Partitioner {
 public:
  PartitionResult partition(const Problem& problem, const PartitionOptions& options) override {
    const std::size_t n = check_weights(problem, options, "linear");
    PartitionResult result;
    result.order.resize(n);
    std::iota(result.order.begin(), result.order.end(), 0U);
    const auto weights = fixed_point_weights(problem.weights, options.threads);
    result.part = slice_order<std::uint32_t>(result.order, weights, options.parts, options.threads, options.slices);
    result.memory_bytes = weights.size() * sizeof(weights[0]);
    return result;
  }
  [[nodiscard]] bool runs_on_ranks(const PartitionOptions& /*options*/) const override { return true; }
  RankResult partition_on_ranks(const support::Communicator& comm, const Problem& mine,
                                const PartitionOptions& options) override {
    const auto [share, heaviest] = checked_share(comm, mine, options, [](const RankShare& /*share*/) {});
    const auto weights = fixed_point_share(comm, share, mine, heaviest, options.threads);
    RankResult result = slice_in_place(comm, weights, mine.points.size(), share.first, options.parts, options.slices);
    result.memory_bytes = weights.size() * sizeof(weights[0]);
    return result;
  }
};

}  // namespace

std::unique_ptr<Partitioner> make_linear() {
  return std::make_unique<LinearPartitioner>();
}

}  // namespace amrbench::partitioners
