#pragma once
// Counts how often the shallow-water kernels' own arithmetic on a GPU differs from IEEE 754's.
#include <cstdint>

namespace amrbench::kernels::checks {

struct WrongResults {
  std::uint64_t tried = 0, reciprocals = 0, quotients = 0, roots = 0;
};

/// On `count` pairs of numbers within the bounds of arithmetic.hpp, drawn from `seed`; a fourth of them with mantissas
/// of few bits, or all ones but for few. Waits.
template <class Real>
WrongResults count_wrong(std::uint64_t count, std::uint64_t seed);

/// Of all mantissas of floats: reciprocals, and roots at two exponents. Waits.
WrongResults count_wrong_floats();

}  // namespace amrbench::kernels::checks
