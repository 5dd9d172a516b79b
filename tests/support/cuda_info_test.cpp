// What is said of GPUs, on machines with and without one and in builds with and without the back end.
#include "support/cuda_info.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/error.hpp"

namespace amrbench::support {
namespace {

TEST(CudaInfo, SaysWhetherTheBackEndIsBuilt) {
  const CudaInfo info = cuda_info();
#if defined(AMRBENCH_CUDA)
  EXPECT_TRUE(info.built);
  EXPECT_NE(info.toolkit.find('.'), std::string::npos);
  EXPECT_FALSE(info.driver.empty());
#else
  EXPECT_FALSE(info.built);
  EXPECT_TRUE(info.devices.empty());
  EXPECT_FALSE(info.problem.empty());
#endif
}

TEST(CudaInfo, HasAProblemOrAUsableDevice) {
  const CudaInfo info = cuda_info();
  const bool usable =
      std::any_of(info.devices.begin(), info.devices.end(), [](const auto& device) { return device.supported(); });
  EXPECT_EQ(info.problem.empty(), usable);
  EXPECT_EQ(info.problem.find('\n'), std::string::npos);
}

TEST(CudaInfo, RefusalNamesTheKeyAndTheReason) {
  const CudaInfo info = cuda_info();
  if (info.problem.empty()) {
    for (const CudaDeviceInfo& device : usable_cuda_devices()) EXPECT_GE(device.capability, kLeastCapability);
    return;
  }
  try {
    static_cast<void>(usable_cuda_devices());
    FAIL() << "no GPU can be used, and nothing was said";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()), "device.backend \"cuda\": " + info.problem);
  }
}

}  // namespace
}  // namespace amrbench::support
