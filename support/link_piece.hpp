#pragma once
// A piece of an exchange between ranks: what support/cuda_link.hpp is told of, for those that plan it without CUDA.
#include <cstddef>

namespace amrbench::support {

/// What goes to a rank or comes from it: `count` elements from `at` on in a buffer.
struct LinkPiece {
  int rank = 0;
  std::size_t at = 0;
  std::size_t count = 0;
};

}  // namespace amrbench::support
