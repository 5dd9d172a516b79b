// Owners of CUDA's handles and memory: what they hold, what they say when there is too little of it.
#include "support/cuda.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "support/cuda_info.hpp"
#include "support/device_bandwidth.hpp"
#include "support/device_slots.hpp"
#include "support/error.hpp"

#define AMRBENCH_NEEDS_GPU()                                            \
  do {                                                                  \
    const std::string problem = amrbench::support::cuda_info().problem; \
    if (!problem.empty()) GTEST_SKIP() << problem;                      \
  } while (false)

namespace amrbench::support {
namespace {

TEST(DeviceMemory, TooMuchIsRefusedWithTheAmountsAndTheProgramGoesOn) {
  AMRBENCH_NEEDS_GPU();
  constexpr std::size_t kMuch = std::size_t{100} << 40;
  try {
    const DeviceRegion region(kMuch);
    FAIL() << "100 TiB were given";
  } catch (const RunError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("out of memory: 102400.00 GiB more are needed"), std::string::npos) << text;
    EXPECT_NE(text.find("are free"), std::string::npos) << text;
  }
  const CudaStream stream;  // the failure must not be reported again
  stream.synchronize();
  EXPECT_NO_THROW(cuda_check_launch("none"));
}

TEST(DeviceMemory, ValuesComeBack) {
  AMRBENCH_NEEDS_GPU();
  const CudaStream stream;
  std::vector<double> values(100'000);
  std::iota(values.begin(), values.end(), 0.5);
  DeviceBuffer<double> device(values.size());
  PinnedBuffer<double> host(values.size());
  copy_to_device(device.data(), values.data(), values.size(), stream);
  copy_to_host(host.data(), device.data(), values.size(), stream);
  stream.synchronize();
  EXPECT_TRUE(std::equal(values.begin(), values.end(), host.data()));
}

TEST(StreamRegion, GrowsInTheStreamsOrder) {
  AMRBENCH_NEEDS_GPU();
  const CudaStream stream;
  StreamRegion region;
  constexpr std::size_t kFirst = 1 << 20;
  std::vector<PinnedBuffer<double>> in, out;
  // Nothing waits in between: each copy back must find the values that its own copy brought.
  for (std::size_t n = kFirst; n <= 4 * kFirst; n += kFirst) {
    PinnedBuffer<double>& from = in.emplace_back(n);
    PinnedBuffer<double>& back = out.emplace_back(n);
    for (std::size_t i = 0; i < n; ++i) from[i] = static_cast<double>(i + n);
    auto* const device = static_cast<double*>(region.reserve(n * sizeof(double), stream));
    EXPECT_GE(region.bytes(), n * sizeof(double));
    copy_to_device(device, static_cast<const double*>(from.data()), n, stream);
    copy_to_host(back.data(), static_cast<const double*>(device), n, stream);
  }
  stream.synchronize();
  for (std::size_t k = 0; k < in.size(); ++k)
    EXPECT_TRUE(std::equal(in[k].data(), in[k].data() + in[k].size(), out[k].data())) << "list " << k;
}

TEST(CudaCheck, NamesCallAndReason) {
  AMRBENCH_NEEDS_GPU();
  try {
    cuda_check(cudaErrorInvalidValue, "cudaSomething");
    FAIL();
  } catch (const RunError& error) {
    EXPECT_EQ(std::string(error.what()).find("cudaSomething: "), 0U) << error.what();
    EXPECT_NE(std::string(error.what()).find("cudaErrorInvalidValue"), std::string::npos) << error.what();
  }
}

TEST(DeviceSlotArray, ExtentsPassOnAndKeepTheirValues) {
  AMRBENCH_NEEDS_GPU();
  const CudaStream stream;
  constexpr std::size_t kValues = 96;
  DeviceSlotArray a(kValues, 4 * kValues * sizeof(double)), b(kValues, 4 * kValues * sizeof(double));
  EXPECT_EQ(a.extent_slots(), 4);
  a.grow(6);
  b.grow(9);
  EXPECT_EQ(a.capacity(), 8);
  EXPECT_EQ(b.capacity(), 12);
  std::vector<double> values(kValues), back(kValues);
  for (int i = 0; i < 8; ++i) {
    std::fill(values.begin(), values.end(), 1.0 + i);
    copy_to_device(a.address(i), values.data(), kValues, stream);
    stream.synchronize();
  }
  double* const fifth = a.address(5);
  const std::size_t bytes = b.memory_bytes();
  a.grow_from(b, 18);  // takes all three extents of b, needs no new memory
  EXPECT_EQ(a.capacity(), 20);
  EXPECT_EQ(b.capacity(), 0);
  EXPECT_LT(b.memory_bytes(), bytes);
  EXPECT_EQ(a.address(5), fifth);
  const DeviceSlots view = a.view(stream);
  std::vector<double*> table(5);
  copy_to_host(table.data(), view.extents, table.size(), stream);
  stream.synchronize();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(table[i >> view.shift] + (i & 3) * view.slot_values, a.address(i));
  for (int i = 0; i < 8; ++i) {
    copy_to_host(back.data(), a.address(i), kValues, stream);
    stream.synchronize();
    EXPECT_EQ(back.front(), 1.0 + i);
    EXPECT_EQ(back.back(), 1.0 + i);
  }
}

TEST(DeviceBandwidth, IsMeasuredByBothKinds) {
  AMRBENCH_NEEDS_GPU();
  const DeviceCopyBandwidth copy = measure_device_copy(std::size_t{256} << 20, 5);
  EXPECT_GT(copy.runtime_bytes_per_s, 1e10);
  EXPECT_GT(copy.kernel_bytes_per_s, 1e10);
  EXPECT_EQ(copy.bytes_per_s, std::max(copy.runtime_bytes_per_s, copy.kernel_bytes_per_s));
}

}  // namespace
}  // namespace amrbench::support
