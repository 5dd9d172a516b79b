#pragma once
// Where a run goes on: this rank's blocks and the state of the run, as a checkpoint hands them to amr::Simulation.
#include <functional>
#include <vector>

#include "amr/checkpoint/run_state.hpp"
#include "amr/fields.hpp"
#include "amr/mesh.hpp"

namespace amrbench::amr {

struct Restart {
  RunState state;
  /// Of this rank, ascending; those of all ranks tile the domain.
  std::vector<Key> keys;
  std::vector<double> weights;  ///< one a key
  /// Are the blocks on the ranks that had them? Else they lie in even stretches and may be placed anew.
  bool is_placed = false;
  /// Writes the values of blocks 0 .. keys.size() - 1 into fields that hold as many. Throws support::RunError. Local.
  std::function<void(Fields& fields)> fill;
};

}  // namespace amrbench::amr
