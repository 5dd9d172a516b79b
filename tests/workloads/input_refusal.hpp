#pragma once
// What a reader says of bad input.
#include <string>

#include "support/error.hpp"

namespace amrbench::tests {

/// The message with which `read` refuses; "taken" where it does not.
template <class Read>
std::string refusal_of(Read&& read) {
  try {
    static_cast<void>(read());
  } catch (const support::InputError& error) {
    return error.what();
  }
  return "taken";
}

}  // namespace amrbench::tests
