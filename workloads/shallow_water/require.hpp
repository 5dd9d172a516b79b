#pragma once
// What parameters of a problem must fulfil.
#include "support/error.hpp"

namespace amrbench::workloads::shallow_water {

inline void require(bool holds, const char* otherwise) {
  if (!holds) throw support::InputError(otherwise);
}

}  // namespace amrbench::workloads::shallow_water
