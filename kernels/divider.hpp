#pragma once
// Division by a number that is known before a kernel starts.
#include "sfc/host_device.hpp"

namespace amrbench::kernels {

/// Quotients by multiplication, of numbers whose product with the divisor is below 2^32.
struct Divider {
  Divider() = default;
  explicit Divider(int by) : divisor(by), factor(0xffffffffU / static_cast<unsigned int>(by) + 1) {}
#if defined(__CUDACC__)
  [[nodiscard]] __device__ int operator()(int n) const {
    return divisor == 1 ? n : static_cast<int>(__umulhi(static_cast<unsigned int>(n), factor));
  }
#endif
  int divisor = 1;
  unsigned int factor = 0;
};

}  // namespace amrbench::kernels
