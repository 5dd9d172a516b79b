#pragma once
// What GPUs a build can use on this machine. In every build, also one without CUDA; needs no CUDA header.
#include <string>
#include <vector>

namespace amrbench::support {

/// The oldest GPUs the CUDA back end runs on: compute capability 8.0.
inline constexpr int kLeastCapability = 80;

struct CudaDeviceInfo {
  int index = 0;
  std::string name;
  int capability = 0;  ///< 90 = 9.0
  int multiprocessors = 0;
  double memory_bytes = 0;
  [[nodiscard]] bool supported() const { return capability >= kLeastCapability; }
};

struct CudaInfo {
  bool built = false;                   ///< the back end is part of this program
  std::string toolkit;                  ///< "13.0", empty unless built
  std::string driver;                   ///< newest CUDA version the driver serves, "none" without a driver
  std::string problem;                  ///< why no GPU can be used, one line; empty when one can
  std::vector<CudaDeviceInfo> devices;  ///< visible ones, supported or not
};

/// Looks at the machine; never throws. Does not touch a GPU beyond asking for its properties.
[[nodiscard]] CudaInfo cuda_info();

/// The devices that can be used, in the driver's order. InputError (one line with the reason) when there is none.
[[nodiscard]] std::vector<CudaDeviceInfo> usable_cuda_devices();

}  // namespace amrbench::support
