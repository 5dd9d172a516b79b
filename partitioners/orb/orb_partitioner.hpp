#pragma once
// ORB behind the partitioners' interface, for the registry.
#include <memory>

#include "partitioners/partitioner.hpp"

namespace amrbench::partitioners {

/// Parts are leaves, numbered from left to right; `order` is the permutation. Points in 2 or 3 dimensions. Unlike orb()
/// it takes more parts than points: each point then is a part of its own and the last parts are empty. Options besides
/// parts and threads are not used.
std::unique_ptr<Partitioner> make_orb_partitioner();

}  // namespace amrbench::partitioners
