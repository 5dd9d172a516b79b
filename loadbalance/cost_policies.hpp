#pragma once
// Policies that cut when what ranks have lost since the last cut comes to what a cut costs, all in measured seconds.
// They leave ranks that are as even as whole blocks allow. Segments and costs: cost_policies.cpp.
// Sources: amortized: document 001, equation 5.12. menon: Menon and others, "Automated load balancing invocation based
// on application characteristics", CLUSTER 2012. boulmier: Boulmier and others, "Optimal load balancing and assessment
// of existing load balancing criteria", arXiv 2104.01688.
#include <memory>

#include "loadbalance/policy.hpp"

namespace amrbench::loadbalance {

/// Cost <= sum over t of T(t) - T(1), T the slowest rank's seconds.
std::unique_ptr<Policy> make_amortized(const BalanceConfig& config);
/// Cost <= sum over t of max(t) - mean(t).
std::unique_ptr<Policy> make_menon(const BalanceConfig& config);
/// The same for what exceeds that of the first segment after the cut: imbalance that no cut cures does not count.
std::unique_ptr<Policy> make_menon_baseline(const BalanceConfig& config);
/// Cost <= k u(k) - sum over t of u(t), u as in menon_baseline: the mean loss a segment, cost included, is then least.
std::unique_ptr<Policy> make_boulmier(const BalanceConfig& config);

}  // namespace amrbench::loadbalance
