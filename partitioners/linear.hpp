#pragma once
// Points in the order of their numbers, cut into runs: what one has without a partitioner. A yardstick.
#include <memory>

#include "partitioners/partitioner.hpp"

namespace amrbench::partitioners {

/// Point i goes to the part in whose share of the total weight its middle lies; parts without weight to share out are
/// cut by count. With unit weights loads differ by 1 at most. O(n). Over ranks no point moves.
std::unique_ptr<Partitioner> make_linear();

}  // namespace amrbench::partitioners
