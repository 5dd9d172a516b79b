#pragma once
// An order cut into parts whose heaviest is as light as it can be.
//
// slices.hpp cuts at marks that lie evenly in the total weight, so that a part may exceed the mean by the heaviest
// point; here the largest weight of a part is the least that any contiguous parts have. It is found by bisection:
// whether parts of at most a given weight suffice is told by filling each as far as it goes, and every answer, yes or
// no, moves its bound to a weight that some part really has. Weights are integers, so the search ends exactly. Of all
// cuts that reach the optimum those are taken that lie nearest to the even marks. Source: Pinar and Aykanat, "Fast
// optimal load balancing algorithms for 1D partitioning", JPDC 64 (2004), section 4.
#include <cstdint>
#include <span>
#include <vector>

namespace amrbench::support {
class Communicator;
}

namespace amrbench::partitioners {

/// Where slices begin: slice p has the places [cuts[p], cuts[p + 1]); parts + 1 cuts. weights: one a place, their sum
/// below 2^62; where all are 0 places count 1 each. parts >= 1; more parts than places leave parts empty. O(n + parts
/// log(n / parts) s) for s steps of bisection, at most 62 and mostly about 20. Memory: 8 bytes a place. Local.
std::vector<std::int64_t> exact_cuts(std::span<const std::uint64_t> weights, int parts);

/// The same for places that are spread over ranks in order, with the same result for any number of ranks. Ranks fill
/// parts one after another, several candidates on their way at once: O(ranks) messages of 40 bytes in a row a round,
/// and fewer rounds than above has steps. Collective.
std::vector<std::int64_t> exact_cuts_on_ranks(const support::Communicator& comm, std::span<const std::uint64_t> weights,
                                              int parts);

}  // namespace amrbench::partitioners
