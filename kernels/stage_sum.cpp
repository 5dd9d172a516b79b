#include "kernels/stage_sum.hpp"

#include <algorithm>
#include <bit>

namespace amrbench::kernels {

StageSum::StageSum(const BlockLayout& layout, int vector_length, int patterns, const support::FixedPointScale& scale)
    : layout_(layout),
      vector_length_(vector_length),
      patterns_(patterns),
      magic_{scale.high_magic(), scale.low_magic()},
      raw_(std::size_t(layout.chunks) * patterns),
      totals_(layout.variables, support::FixedPointSum(scale)) {}

void StageSum::flush() {
  if (cells_ == 0) return;
  const std::uint64_t hi_offset = cells_ * std::bit_cast<std::uint64_t>(magic_.hi);
  const std::uint64_t lo_offset = cells_ * std::bit_cast<std::uint64_t>(magic_.lo);
  for (int v = 0; v < layout_.variables; ++v) {
    const int lane = v % layout_.lanes;
    const RawSum* chunk = raw(v / layout_.lanes);
    std::uint64_t hi = 0, lo = 0, flags = 0;
    for (int e = lane; e < patterns_ * vector_length_; e += layout_.lanes) {
      const RawSum& sum = chunk[e / vector_length_];
      hi += sum.hi[e % vector_length_];
      lo += sum.lo[e % vector_length_];
      flags |= sum.flags[e % vector_length_];
    }
    totals_[v].add_partial(static_cast<std::int64_t>(hi - hi_offset), static_cast<std::int64_t>(lo - lo_offset),
                           static_cast<std::int64_t>(cells_), (flags >> 48) != 0);
  }
  std::fill(raw_.begin(), raw_.end(), RawSum{});
  cells_ = 0;
}

}  // namespace amrbench::kernels
