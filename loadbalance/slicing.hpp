#pragma once
// Slicing a curve into parts of equal weight (document 001, section 2.15).
#include <cstdint>
#include <span>
#include <vector>

#include "support/mpi.hpp"

namespace amrbench::loadbalance {

/// Where parts begin when every item weighs the same: part p gets positions [cuts[p], cuts[p + 1]) of `items`, the
/// first items % parts parts one more. parts + 1 positions. Local, O(parts).
std::vector<std::int64_t> slice_evenly(std::int64_t items, int parts);

/// The same for weights: `weights` are this rank's items, in curve order over all ranks. Item k goes to part
/// floor(parts * (weight before k + half its own) / total), so no part exceeds the mean by more than the heaviest item.
/// Weights must be >= 0; all zero falls back to even slices. Sums are exact integers, so the cuts do not depend on the
/// number of ranks. Returns parts + 1 positions, the same on every rank. Collective.
std::vector<std::int64_t> slice_by_weight(const support::Communicator& comm, std::span<const std::int64_t> weights,
                                          int parts);

}  // namespace amrbench::loadbalance
