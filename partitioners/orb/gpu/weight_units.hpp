#pragma once
// Weights on a GPU as integers, by the rules of weights.hpp, so that sums do not depend on order. Internal to OrbGpu.
#include <cstdint>
#include <optional>

#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Points whose weights are summed for the sample.
constexpr std::uint32_t kWeightGroup = 128;

/// Weights as integers; and their sums up to the end of each group of kWeightGroup points. Null: every point weighs 1.
struct UnitWeights {
  const std::uint64_t* units = nullptr;
  const std::uint64_t* ends = nullptr;
};

/// Weights as integers, by the rules of weights.hpp.
class WeightUnits {
 public:
  WeightUnits(std::uint64_t n, const support::CudaStream& stream);
  /// From n doubles on the device. InputError with the index of the first that is negative, NaN or infinite, unless the
  /// exponent is given. Waits. 24 bytes a point, 16 with an exponent.
  void convert(const double* weights, std::optional<int> exponent);
  [[nodiscard]] UnitWeights get() const { return {units_.data(), ends_.data()}; }
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] double unit() const { return unit_; }  ///< value of 1

 private:
  /// What the kernels find: the bits of the largest weight, the first bad index, the sum of the units.
  struct Findings {
    unsigned long long largest, bad, total;
  };
  [[nodiscard]] Findings read();
  [[nodiscard]] int checked_exponent(const double* weights);

  std::uint64_t n_;
  const support::CudaStream& stream_;
  support::DeviceBuffer<std::uint64_t> units_, ends_;
  support::DeviceBuffer<unsigned char> temporary_;
  support::DeviceBuffer<Findings> findings_;
  support::PinnedBuffer<Findings> host_;
  std::uint64_t total_ = 0;
  double unit_ = 1;
};

}  // namespace amrbench::partitioners::gpu
