#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/field_stats_cuda.hpp"

namespace amrbench::kernels {

namespace {

using support::ExactSum;
using support::mix64;

constexpr int kThreads = 256;
constexpr int kCopies = 16;  ///< of the words, so that atomics meet less
constexpr int kBlocksEach = 8;

/// The words of one lane: those of two exact sums, then the hash and the extremes as ordered integers.
struct LaneWords {
  unsigned long long sum[ExactSum::kWords];
  unsigned long long squares[ExactSum::kWords];
  unsigned long long hash;
  unsigned long long least;
  unsigned long long most;
};

/// Doubles that are numbers as integers of the same order, and back.
__device__ unsigned long long ordered(double x) {
  const auto bits = static_cast<unsigned long long>(__double_as_longlong(x));
  return bits >> 63 != 0 ? ~bits : bits | 1ULL << 63;
}
double from_ordered(unsigned long long word) {
  return std::bit_cast<double>(word >> 63 != 0 ? word & ~(1ULL << 63) : ~word);
}

/// A thread's part of an exact sum: the digits limb .. limb + 2. Each can take 2^31 values before it overflows.
struct WindowSum {
  int limb = 0;
  unsigned int pending = 0;
  long long digits[3] = {0, 0, 0};

  __device__ void add(double x, unsigned long long* words) {
    const auto bits = static_cast<unsigned long long>(__double_as_longlong(x));
    const unsigned int exponent = static_cast<unsigned int>(bits >> 52) & 0x7ffU;
    if (exponent == 0x7ffU) {
      const bool nan = (bits & ((1ULL << 52) - 1)) != 0;
      atomicAdd(words + ExactSum::kLimbs + (nan ? 0 : bits >> 63 != 0 ? 2 : 1), 1ULL);
      return;
    }
    const unsigned long long mantissa = (bits & ((1ULL << 52) - 1)) | (exponent > 0 ? 1ULL << 52 : 0ULL);
    const int position = exponent > 0 ? static_cast<int>(exponent) - 1 : 0;
    if (position >> 5 != limb || pending == 1U << 30) {
      hand_over(words);
      limb = position >> 5;
    }
    ++pending;
    const int shift = position & 31;
    const unsigned long long low = mantissa << shift;
    const unsigned long long high = shift == 0 ? 0ULL : mantissa >> (64 - shift);
    const long long sign = static_cast<long long>(bits) >> 63;  // (v ^ sign) - sign is +v or -v
    digits[0] += (static_cast<long long>(low & 0xffffffffULL) ^ sign) - sign;
    digits[1] += (static_cast<long long>(low >> 32) ^ sign) - sign;
    digits[2] += (static_cast<long long>(high) ^ sign) - sign;
  }
  /// Digits go on as a 32-bit digit and a carry, so that words take very many of them.
  __device__ void hand_over(unsigned long long* words) {
    if (pending == 0) return;
    for (int d = 0; d < 3; ++d) {
      atomicAdd(words + limb + d, static_cast<unsigned long long>(digits[d]) & 0xffffffffULL);
      atomicAdd(words + limb + d + 1, static_cast<unsigned long long>(digits[d] >> 32));
      digits[d] = 0;
    }
    pending = 0;
  }
};

/// One chunk of all blocks; words: [copy][lane].
__global__ void __launch_bounds__(kThreads)
    stats_kernel(const __grid_constant__ BlockLayout l, const std::int32_t* slots, const std::uint64_t* hashes,
                 int count, int chunk, support::DeviceSlots blocks, LaneWords* words) {
  const int step = kThreads / l.lanes * l.lanes, lane = static_cast<int>(threadIdx.x) % l.lanes;
  const auto values = static_cast<int>(l.chunk_values());
  LaneWords& mine = words[static_cast<int>(blockIdx.x) % kCopies * l.lanes + lane];
  if (static_cast<int>(threadIdx.x) >= step || chunk * l.lanes + lane >= l.variables) return;
  WindowSum sum, squares;
  std::uint64_t hash = 0;
  double least = __longlong_as_double(0x7ff0000000000000LL), most = -least;
  for (int i = static_cast<int>(blockIdx.x); i < count; i += static_cast<int>(gridDim.x)) {
    const double* const from = blocks.at(slots[i]) + static_cast<std::size_t>(chunk) * values;
    const std::uint64_t block = hashes[i];
    for (int k = static_cast<int>(threadIdx.x); k < values; k += step) {
      const double x = from[k];
      sum.add(x, mine.sum);
      squares.add(__dmul_rn(x, x), mine.squares);
      hash += mix64(mix64(block, static_cast<std::uint64_t>(k / l.lanes)),
                    static_cast<std::uint64_t>(__double_as_longlong(x)));
      const double y = x + 0.0;
      least = y < least ? y : least;
      most = y > most ? y : most;
    }
  }
  sum.hand_over(mine.sum);
  squares.hand_over(mine.squares);
  atomicAdd(&mine.hash, static_cast<unsigned long long>(hash));
  atomicMin(&mine.least, ordered(least));
  atomicMax(&mine.most, ordered(most));
}

ExactSum exact_sum(const unsigned long long (&words)[ExactSum::kWords]) {
  std::array<std::int64_t, ExactSum::kWords> copy{};
  std::transform(std::begin(words), std::end(words), copy.begin(),
                 [](unsigned long long w) { return static_cast<std::int64_t>(w); });
  ExactSum sum;
  sum.unpack(copy);
  return sum;
}

LaneWords empty_words() {
  LaneWords words{};
  words.least = ~0ULL;
  return words;
}

}  // namespace

std::vector<support::FieldStats> device_field_stats(const BlockLayout& layout, const std::int32_t* slots,
                                                    const std::uint64_t* hashes, int count,
                                                    const support::DeviceSlots& blocks,
                                                    const support::CudaStream& stream) {
  std::vector<support::FieldStats> stats(layout.variables);
  if (count == 0) return stats;
  const std::size_t lanes = layout.lanes;
  support::DeviceBuffer<LaneWords> device(kCopies * lanes);
  support::PinnedBuffer<LaneWords> host(kCopies * lanes);
  const int grid = std::min(count, support::current_device_shape().multiprocessors * kBlocksEach);
  for (int chunk = 0; chunk < layout.chunks; ++chunk) {
    std::fill_n(host.data(), host.size(), empty_words());
    support::copy_to_device(device.data(), host.data(), host.size(), stream);
    stats_kernel<<<grid, kThreads, 0, stream.get()>>>(layout, slots, hashes, count, chunk, blocks, device.data());
    support::cuda_check_launch("field statistics");
    support::copy_to_host(host.data(), device.data(), host.size(), stream);
    stream.synchronize();
    for (std::size_t k = 0; k < host.size(); ++k) {
      const std::size_t variable = chunk * lanes + k % lanes;
      const LaneWords& w = host[k];
      // A copy that no thread block used holds no extremes.
      if (variable >= stats.size() || w.least == ~0ULL) continue;
      stats[variable].merge(support::FieldStats::of(exact_sum(w.sum), exact_sum(w.squares), w.hash,
                                                    from_ordered(w.least), from_ordered(w.most)));
    }
  }
  return stats;
}

}  // namespace amrbench::kernels
