#include "partitioners/orb/orb_partitioner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "partitioners/orb/orb.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

class OrbPartitioner final : public Partitioner {
 public:
  PartitionResult partition(const Problem& problem, const PartitionOptions& options) override {
    if (options.parts < 1) throw support::InputError(fmt::format("parts is {}; at least 1 is needed", options.parts));
    if (problem.points.dim == 2) return run<2>(problem, options);
    if (problem.points.dim == 3) return run<3>(problem, options);
    throw support::InputError(fmt::format("orb: points of {} coordinates; it takes 2 or 3", problem.points.dim));
  }

 private:
  template <int Dim>
  static PartitionResult run(const Problem& problem, const PartitionOptions& options) {
    PartitionResult result;
    const std::size_t n = problem.points.size();
    if (n == 0) return result;
    OrbResult<double, Dim> orb_result;
    const auto leaves = static_cast<std::uint32_t>(std::min<std::size_t>(static_cast<std::size_t>(options.parts), n));
    orb<double, Dim>(problem.points, problem.weights, {.leaves = leaves, .threads = options.threads}, orb_result);
    result.part.assign(orb_result.labels.begin(), orb_result.labels.end());
    result.order.assign(orb_result.permutation.begin(), orb_result.permutation.end());
    for (const auto& scratch : orb_result.scratch) result.memory_bytes += scratch.bytes();
    return result;
  }
};

}  // namespace

std::unique_ptr<Partitioner> make_orb_partitioner() {
  return std::make_unique<OrbPartitioner>();
}

}  // namespace amrbench::partitioners
