#include "kernels/device_sum.hpp"

namespace amrbench::kernels {

DeviceSum::DeviceSum(const BlockLayout& layout)
    : layout_(layout),
      words_(std::size_t{kSumCopies} * kSumWords * layout.lanes * layout.chunks),
      host_(words_.size()),
      scale_(support::FixedPointScale::for_bound(1.0)) {}

DeviceSumView DeviceSum::start(const support::FixedPointScale& scale, const support::CudaStream& stream) {
  scale_ = scale;
  support::cuda_check(cudaMemsetAsync(words_.data(), 0, words_.size() * sizeof(unsigned long long), stream.get()),
                      "cudaMemsetAsync");
  return {words_.data(), layout_.lanes * layout_.chunks, scale.high_magic(), scale.low_magic()};
}

void DeviceSum::fetch(std::int64_t cells, const support::CudaStream& stream) {
  cells_ = cells;
  support::copy_to_host(host_.data(), words_.data(), words_.size(), stream);
  fetched_.record(stream);
}

std::vector<support::FixedPointSum> DeviceSum::totals() {
  fetched_.synchronize();
  std::vector<support::FixedPointSum> sums(layout_.variables, support::FixedPointSum(scale_));
  const std::size_t copy = std::size_t{kSumWords} * layout_.lanes * layout_.chunks;
  for (int v = 0; v < layout_.variables; ++v) {
    unsigned __int128 total = 0;  // modulo 2^128, like the two's complement it becomes
    bool bad = false;
    for (int c = 0; c < kSumCopies; ++c) {
      const unsigned long long* w = host_.data() + c * copy + std::size_t{kSumWords} * v;
      for (int digit = 0; digit < 3; ++digit) total += static_cast<unsigned __int128>(w[digit]) << (32 * digit);
      total += static_cast<unsigned __int128>(w[3]) << 96;
      bad = bad || w[4] != 0;
    }
    sums[v].add_total(static_cast<support::int128>(total), cells_, bad);
  }
  return sums;
}

}  // namespace amrbench::kernels
