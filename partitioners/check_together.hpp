#pragma once
// Checks of input that is spread over ranks.
#include <string>

#include "support/error.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

/// Runs `check` on every rank; the support::InputError of the first rank that refuses is thrown on all. Collective; a
/// communicator of one rank sends nothing.
template <class F>
void check_together(const support::Communicator& comm, F&& check) {
  if (comm.size() == 1) return check();
  std::string message;
  try {
    check();
  } catch (const support::InputError& error) {
    message = error.what();
  }
  const int first = support::all_min(comm, message.empty() ? comm.size() : comm.rank());
  if (first < comm.size()) throw support::InputError(support::broadcast_string(comm, message, first));
}

}  // namespace amrbench::partitioners
