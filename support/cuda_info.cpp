#include "support/cuda_info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "support/error.hpp"

#if defined(AMRBENCH_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace amrbench::support {

#if defined(AMRBENCH_CUDA)

namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

CudaDeviceInfo device_info(int index) {
  CudaDeviceInfo info;
  info.index = index;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
    info.name = "unknown";
    return info;
  }
  info.name = properties.name;
  info.capability = properties.major * 10 + properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.memory_bytes = static_cast<double>(properties.totalGlobalMem);
  return info;
}

}  // namespace

CudaInfo cuda_info() {
  CudaInfo info;
  info.built = true;
  info.toolkit = version_text(CUDART_VERSION);
  int driver = 0;
  info.driver = cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0 ? version_text(driver) : "none";
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // the next call must not report this one's failure
    if (info.driver == "none") {
      info.problem = "no NVIDIA driver on this machine";
    } else if (status == cudaErrorInsufficientDriver) {
      info.problem = fmt::format("the NVIDIA driver serves CUDA {}, this program needs {}", info.driver, info.toolkit);
    } else if (status == cudaErrorNoDevice) {
      info.problem = "no NVIDIA GPU on this machine";
    } else {
      info.problem = fmt::format("GPUs cannot be listed: {}", cudaGetErrorString(status));
    }
    return info;
  }
  for (int index = 0; index < count; ++index) info.devices.push_back(device_info(index));
  if (std::none_of(info.devices.begin(), info.devices.end(), [](const auto& device) { return device.supported(); })) {
    info.problem = count == 0
                       ? "no NVIDIA GPU on this machine"
                       : fmt::format("GPU {} has compute capability {}.{}, at least {}.{} is needed",
                                     info.devices[0].name, info.devices[0].capability / 10,
                                     info.devices[0].capability % 10, kLeastCapability / 10, kLeastCapability % 10);
  }
  return info;
}

#else

CudaInfo cuda_info() {
  CudaInfo info;
  info.problem = "this program was built without the CUDA back end; AMRBENCH_CUDA=ON scripts/run builds it";
  return info;
}

#endif

std::vector<CudaDeviceInfo> usable_cuda_devices() {
  const CudaInfo info = cuda_info();
  if (!info.problem.empty()) throw InputError("device.backend \"cuda\": " + info.problem);
  std::vector<CudaDeviceInfo> devices;
  std::copy_if(info.devices.begin(), info.devices.end(), std::back_inserter(devices),
               [](const auto& device) { return device.supported(); });
  return devices;
}

}  // namespace amrbench::support
