#pragma once
// feedback: ranks' shares of all loads follow their idle time (document 002, 3.9).
//
// What a block costs is not asked: rank r, which worked s[r] seconds in the last segment, was idle for max(s) - s[r],
// and takes a larger share the more it was idle beyond the mean:
//   share[r] += e / ranks * (idle[r] - mean(idle)) / max(s)       e = balance.sensitivity
// (the document's shares are not divided by the number of ranks; so its e depends on it, ours does not). Blocks are
// sliced by these shares in the order in which ranks hold them, so they mostly go to neighbours along the curve.
#include <memory>

#include "loadbalance/policy.hpp"

namespace amrbench::loadbalance {

std::unique_ptr<Policy> make_feedback(const BalanceConfig& config);

}  // namespace amrbench::loadbalance
