#pragma once
// When to build a whole tree anew: when what rounds have cost above the first one since outweighs a rebuild.
// Source: document 001, equation 5.12 (and section 2.8.2: "based on performance data").

namespace amrbench::partitioners {

/// Costs are seconds, or anything else that is counted alike; with seconds the answer depends on the clock.
class RebuildPolicy {
 public:
  /// cost: T(t) of this round. True: rebuild now, and the next round counts as the first.
  bool after_round(double cost, double rebuild_cost) {
    if (first_ < 0) first_ = cost;
    excess_ += cost - first_;
    if (excess_ <= rebuild_cost) return false;
    first_ = -1;
    excess_ = 0;
    return true;
  }

 private:
  double first_ = -1;  ///< T(1); -1: not known yet
  double excess_ = 0;
};

}  // namespace amrbench::partitioners
