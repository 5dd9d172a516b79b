#pragma once
// Partitioners of other libraries behind our interface, as yardsticks. Each is built only where its library was found
// (cmake/AmrbenchDependencies.cmake); make_...() of the others does not exist.
//
// Integer weights: METIS and Scotch take 32- or 64-bit integers. Whole weights whose sum fits are handed over as they
// are; others are scaled so that their sum is near the largest that fits (2^30, or 2^50 in 64 bits) and rounded.
// All of them give parts 0 .. parts - 1 and no order. One part, and at least as many parts as points, are answered
// without the library: some versions refuse or fail there.
#include <memory>

#include "partitioners/partitioner.hpp"

namespace amrbench::partitioners {

/// METIS 5: multilevel k-way partitioning, its defaults (at most 3 % imbalance asked for), a fixed seed.
std::unique_ptr<Partitioner> make_metis_kway();
/// METIS 5: multilevel recursive bisection, its defaults, a fixed seed.
std::unique_ptr<Partitioner> make_metis_recursive();
/// Scotch 7: recursive bisection with its default strategy, at most 1 % imbalance asked for, one thread, a fixed seed.
std::unique_ptr<Partitioner> make_scotch();
/// Scotch 7: mapping onto a tree of two levels, nodes and their tasks, where an edge between nodes costs 10 times one
/// between tasks of a node; its default strategy, otherwise as above. PartitionOptions::nodes must
/// divide the parts; without nodes it is `scotch`.
std::unique_ptr<Partitioner> make_scotch_map();
/// Zoltan 3: recursive coordinate bisection. MPI must run; works on this rank alone. Two or three dimensions.
std::unique_ptr<Partitioner> make_zoltan_rcb();
/// Zoltan 3: Hilbert space-filling curve. As above.
std::unique_ptr<Partitioner> make_zoltan_hsfc();

}  // namespace amrbench::partitioners
