#include "loadbalance/feedback_policy.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

namespace amrbench::loadbalance {

namespace {

class Feedback final : public Policy {
 public:
  explicit Feedback(const BalanceConfig& config) : sensitivity_(config.sensitivity) {}
  [[nodiscard]] Action decide(const History& /*history*/, const Load& load) const override {
    return load.is_even() ? Action::leave : Action::incremental;
  }
  [[nodiscard]] bool measures() const override { return true; }
  [[nodiscard]] std::span<const double> rank_shares() const override { return shares_; }

  void learn(const History& history) override {
    const Segment& last = history.segments.back();
    if (last.stages == 0 || last.seconds_max <= 0.0) return;
    const double even = 1.0 / static_cast<double>(history.rank_seconds.size());
    if (shares_.empty()) shares_.assign(history.rank_seconds.size(), even);
    constexpr double kLeast = 0.01;  // of an even share, so that a rank never runs empty
    for (std::size_t r = 0; r < shares_.size(); ++r) {
      const double beyond = (last.seconds_mean - history.rank_seconds[r]) / last.seconds_max;
      shares_[r] = std::max(kLeast * even, shares_[r] + sensitivity_ * even * beyond);
    }
    const double all = std::accumulate(shares_.begin(), shares_.end(), 0.0);
    for (double& share : shares_) share /= all;
  }

  [[nodiscard]] nlohmann::ordered_json save() const override { return shares_; }
  void load(const nlohmann::ordered_json& saved) override {
    shares_ = saved.get<std::vector<double>>();
    if (std::any_of(shares_.begin(), shares_.end(), [](double share) { return !(share > 0.0 && share <= 1.0); }))
      throw std::runtime_error("feedback: no shares");
  }

 private:
  double sensitivity_;
  std::vector<double> shares_;
};

}  // namespace

std::unique_ptr<Policy> make_feedback(const BalanceConfig& config) {
  return std::make_unique<Feedback>(config);
}

}  // namespace amrbench::loadbalance
