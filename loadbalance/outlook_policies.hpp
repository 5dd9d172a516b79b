#pragma once
// Policies that know what placing anew would give before they do it (Load::outlook).
#include <memory>

#include "loadbalance/policy.hpp"

namespace amrbench::loadbalance {

/// Adds up, since the last cut, what the fullest rank had above what a cut would have given; cuts when the sum comes to
/// what a cut costs, by the blocks that would move. As menon_baseline, but imbalance that no cut cures never counts.
std::unique_ptr<Policy> make_anticipate(const BalanceConfig& config);
/// Cuts when the present loss a segment is at least the mean loss of the best rhythm of cuts, sqrt(2 C g) for a cut
/// that costs C and a loss that grows by g a segment; at the latest when anticipate would; never when the steps left do
/// not bring its cost in. Source: minimise (C + g k^2 / 2) / k over k segments between cuts, as Boulmier and others
/// (arXiv 2104.01688) with the growth estimated over many cuts.
/// Where blocks are placed by a method that follows no keys, slicing in place is weighed besides: it is taken where the
/// blocks that need not move save more than full placing wins until the next cut, evenness and what slicing has cost in
/// neighbours since the last full placing (seconds for the same load) counted.
std::unique_ptr<Policy> make_auto(const BalanceConfig& config);

}  // namespace amrbench::loadbalance
