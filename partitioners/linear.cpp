#include "partitioners/linear.hpp"

#include <algorithm>
#include <numeric>

#include "partitioners/baseline_problem.hpp"

namespace amrbench::partitioners {

namespace {

class LinearPartitioner final : public Partitioner {
 public:
  PartitionResult partition(const Problem& problem, const PartitionOptions& options) override {
    const std::size_t n = check_weights(problem, options, "linear");
    const auto parts = static_cast<std::size_t>(options.parts);
    PartitionResult result;
    result.order.resize(n);
    std::iota(result.order.begin(), result.order.end(), 0U);
    result.part.resize(n);
    const double total = std::accumulate(problem.weights.begin(), problem.weights.end(), 0.0);
    if (total > 0) {
      double before = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double middle = (before + problem.weights[i] / 2) / total;
        before += problem.weights[i];
        const auto p = static_cast<std::size_t>(middle * static_cast<double>(parts));
        result.part[i] = static_cast<std::int32_t>(std::min(p, parts - 1));
      }
    } else {
      for (std::size_t p = 0; p < parts; ++p)
        std::fill(result.part.begin() + first(n, parts, p), result.part.begin() + first(n, parts, p + 1),
                  static_cast<std::int32_t>(p));
    }
    return result;
  }

 private:
  /// floor(p n / parts) without overflow: n and parts stay below 2^32.
  static std::ptrdiff_t first(std::size_t n, std::size_t parts, std::size_t p) {
    return static_cast<std::ptrdiff_t>(p * n / parts);
  }
};

}  // namespace

std::unique_ptr<Partitioner> make_linear() {
  return std::make_unique<LinearPartitioner>();
}

}  // namespace amrbench::partitioners
