#pragma once
// Copy bandwidth of a GPU: the roofline of what runs there (the twin of support/bandwidth.hpp).
#include <cstddef>

#include "support/cuda.hpp"

namespace amrbench::support {

struct DeviceCopyBandwidth {
  double bytes_per_s = 0;          ///< of the better kind; a byte read and a byte written count two
  double runtime_bytes_per_s = 0;  ///< the CUDA runtime's own copy
  double kernel_bytes_per_s = 0;   ///< a kernel of 16-byte loads and streaming stores
};

/// Copies `bytes` (a multiple of 16) from one buffer to another, `repetitions` times after one untimed, on the current
/// device; medians. Takes twice `bytes` of device memory meanwhile.
[[nodiscard]] DeviceCopyBandwidth measure_device_copy(std::size_t bytes, int repetitions = 9);

}  // namespace amrbench::support
