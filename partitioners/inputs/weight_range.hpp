#pragma once
// What weights can be summed and made integers of, whatever the method: sums of weights near a double's largest are
// infinite, those of the smallest have no bits left, and of two weights that lie too far apart one counts as 0.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/mpi.hpp"

namespace amrbench::partitioners {

/// Limits of the heaviest weight, unless all are 0: `size` times it may not be above 2^kLargestExponent, and it must be
/// at least 2^kSmallestExponent.
inline constexpr int kLargestExponent = 1000;
inline constexpr int kSmallestExponent = -900;

/// Checks this rank's weights, finite and >= 0, of `size` points in all. support::InputError, the same on every rank,
/// for a heaviest one out of range. Returns notes, the same on every rank: how many weights above 0 become 0 as
/// integers of `bits` bits (partitioners/weights.hpp). Collective; a default Communicator is this process alone.
std::vector<std::string> check_weight_range(const support::Communicator& comm, std::span<const double> weights,
                                            std::uint64_t size, int bits);

}  // namespace amrbench::partitioners
