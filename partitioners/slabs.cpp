#include "partitioners/slabs.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "partitioners/baseline_problem.hpp"
#include "partitioners/slices.hpp"
#include "partitioners/weights.hpp"

namespace amrbench::partitioners {

namespace {

/// Axes of the points' box, the longest side first; of equal ones the lower.
std::array<int, 3> axes_by_length(const PointView<double>& points) {
  std::array<double, 3> low{}, high{};
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (int d = 0; d < points.dim; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      low[axis] = i == 0 ? points[i][d] : std::min(low[axis], points[i][d]);
      high[axis] = i == 0 ? points[i][d] : std::max(high[axis], points[i][d]);
    }
  }
  std::array<int, 3> axes{0, 1, 2};
  std::stable_sort(axes.begin(), axes.begin() + points.dim, [&](int a, int b) {
    const auto side = [&](int d) { return high[static_cast<std::size_t>(d)] - low[static_cast<std::size_t>(d)]; };
    return side(a) > side(b);
  });
  return axes;
}

class SlabsPartitioner final : public Partitioner {
 public:
  PartitionResult partition(const Problem& problem, const PartitionOptions& options) override {
    const std::size_t n = check_point_problem(problem, options, "slabs");
    PartitionResult result;
    result.order.resize(n);
    std::iota(result.order.begin(), result.order.end(), 0U);
    const std::array<int, 3> axes = axes_by_length(problem.points);
    std::sort(result.order.begin(), result.order.end(), [&](std::uint32_t a, std::uint32_t b) {
      for (int k = 0; k < problem.points.dim; ++k) {
        const double x = problem.points[a][axes[static_cast<std::size_t>(k)]];
        const double y = problem.points[b][axes[static_cast<std::size_t>(k)]];
        if (x != y) return x < y;
      }
      return a < b;
    });
    const auto weights = fixed_point_weights(problem.weights, options.threads);
    result.part = slice_order<std::uint32_t>(result.order, weights, options.parts, options.threads, options.slices);
    result.memory_bytes = weights.size() * sizeof(weights[0]);
    return result;
  }
};

}  // namespace

std::unique_ptr<Partitioner> make_slabs() {
  return std::make_unique<SlabsPartitioner>();
}

}  // namespace amrbench::partitioners
