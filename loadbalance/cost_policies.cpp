// Policies that weigh what a cut costs against what ranks lose without one, both in measured seconds.
//
// Since the last cut there were segments t = 1 .. k. The slowest rank worked max(t) seconds in segment t, all of them
// mean(t) on average: in max(t) - mean(t) ranks waited for the slowest. What the first segment after the cut had of
// either is the level that a cut can reach. Segments may have different numbers of stages, so that level goes by the
// stage. A cut costs what the last ones did; before the first it is not known, and the first is made as soon as ranks
// are uneven.
#include "loadbalance/cost_policies.hpp"

#include <algorithm>
#include <numeric>

namespace amrbench::loadbalance {

namespace {

/// Segments since the last cut that had stages.
std::vector<Segment> since_cut(const History& history) {
  std::size_t first = 0;
  for (std::size_t i = 0; i < history.outcomes.size(); ++i)
    if (history.outcomes[i].has_cut()) first = i + 1;
  std::vector<Segment> segments;
  for (std::size_t i = first; i < history.segments.size(); ++i)
    if (history.segments[i].stages > 0) segments.push_back(history.segments[i]);
  return segments;
}

/// Seconds that a cut takes: mean of the last three; 0 before the first.
double cost_of_cut(const History& history) {
  constexpr int kMost = 3;
  double sum = 0.0;
  int count = 0;
  for (auto outcome = history.outcomes.rbegin(); outcome != history.outcomes.rend() && count < kMost; ++outcome) {
    if (!outcome->has_cut()) continue;
    sum += outcome->seconds;
    ++count;
  }
  return count > 0 ? sum / count : 0.0;
}

double waiting(const Segment& segment) {
  return segment.seconds_max - segment.seconds_mean;
}

/// What `quantity` of each segment exceeds that of the first by, stage for stage.
template <class Quantity>
std::vector<double> above_first(std::span<const Segment> segments, Quantity&& quantity) {
  std::vector<double> above;
  for (const Segment& segment : segments) {
    const double level =
        quantity(segments.front()) / static_cast<double>(segments.front().stages) * static_cast<double>(segment.stages);
    above.push_back(quantity(segment) - level);
  }
  return above;
}

double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Seconds lost by not cutting, which a cut has to cost at most.
using Loss = double (*)(std::span<const Segment> segments);

double amortized(std::span<const Segment> segments) {
  return sum(above_first(segments, [](const Segment& s) { return s.seconds_max; }));
}
double menon(std::span<const Segment> segments) {
  double lost = 0.0;
  for (const Segment& segment : segments) lost += waiting(segment);
  return lost;
}
/// Waiting beyond that after the cut; a segment with less is not a gain, for no cut made it.
std::vector<double> curable(std::span<const Segment> segments) {
  std::vector<double> above = above_first(segments, waiting);
  for (double& seconds : above) seconds = std::max(0.0, seconds);
  return above;
}
double menon_baseline(std::span<const Segment> segments) {
  return sum(curable(segments));
}
/// tau u(tau) - sum of u: where it reaches the cost, (cost + sum of u) / tau is least.
double boulmier(std::span<const Segment> segments) {
  const std::vector<double> above = curable(segments);
  return above.empty() ? 0.0 : static_cast<double>(above.size()) * above.back() - sum(above);
}

template <Loss loss>
class ByCost final : public Policy {
 public:
  [[nodiscard]] Action decide(const History& history, const Load& load) const override {
    if (load.is_even()) return Action::leave;
    return loss(since_cut(history)) >= cost_of_cut(history) ? Action::full : Action::leave;
  }
};

}  // namespace

std::unique_ptr<Policy> make_amortized(const BalanceConfig& /*config*/) {
  return std::make_unique<ByCost<amortized>>();
}
std::unique_ptr<Policy> make_menon(const BalanceConfig& /*config*/) {
  return std::make_unique<ByCost<menon>>();
}
std::unique_ptr<Policy> make_menon_baseline(const BalanceConfig& /*config*/) {
  return std::make_unique<ByCost<menon_baseline>>();
}
std::unique_ptr<Policy> make_boulmier(const BalanceConfig& /*config*/) {
  return std::make_unique<ByCost<boulmier>>();
}

}  // namespace amrbench::loadbalance
