#pragma once
// Sizes held against the memory there is, before any of it is taken.
#include <string>

#include "support/mpi.hpp"

namespace amrbench::partitioners {

/// Bytes that this rank may have in all: its share of what its node has left, and what it has already. Infinite where
/// the system does not say. Collective; a default Communicator is this process alone.
double memory_share(const support::Communicator& comm);

/// support::InputError that names `name` and both sizes where `bytes` are more than `share`. A double, for sizes from
/// outside may multiply to more than 64 bits hold. Local.
void check_memory(const std::string& name, double bytes, double share);

}  // namespace amrbench::partitioners
