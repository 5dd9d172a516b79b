#pragma once
// ORB behind the partitioners' interface, for the registry.
#include <memory>

#include "partitioners/partitioner.hpp"

namespace amrbench::partitioners {

/// Parts are leaves, numbered from left to right; `order` is the permutation. Points in 2 or 3 dimensions. Unlike orb()
/// it takes more parts than points: each point then is a part of its own and the last parts are empty. Of the options
/// parts, threads and side_tolerance count. Over ranks by orb_distributed(), with `position` where `order` asks for it
/// and without what moves in RankResult::memory_bytes.
std::unique_ptr<Partitioner> make_orb_partitioner();

}  // namespace amrbench::partitioners
