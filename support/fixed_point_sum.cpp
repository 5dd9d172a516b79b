#include "support/fixed_point_sum.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "support/error.hpp"
#include "support/mpi.hpp"
#include "support/superaccumulator.hpp"

namespace amrbench::support {

FixedPointScale::FixedPointScale(int exponent) : exponent_(exponent) {
  if (exponent < kMinExponent || exponent > kMaxExponent) {
    throw RunError(
        fmt::format("fixed-point sum: exponent {} is outside {} to {}", exponent, kMinExponent, kMaxExponent));
  }
  high_ = std::ldexp(33.0, exponent);
  low_ = std::ldexp(1.5, exponent - 31);
}

FixedPointScale FixedPointScale::for_bound(double bound) {
  if (!(bound >= 0.0) || std::isinf(bound)) {
    throw RunError(fmt::format("fixed-point sum: a bound of {} is no finite number >= 0", bound));
  }
  int exponent = 0;
  const double mantissa = std::frexp(bound, &exponent);  // bound = mantissa * 2^exponent, 0.5 <= mantissa < 1
  // A value in the last half unit below 2^e rounds up to 2^e, which is out of range.
  if (mantissa >= 1.0 - 0x1p-48) ++exponent;
  return FixedPointScale(bound == 0.0 ? kMinExponent : std::max(exponent, kMinExponent));
}

void FixedPointSum::add(double x) {
  LaneSum<1> one(scale_);
  one.accumulate(x);
  one.flush_to(this);
}

void FixedPointSum::merge(const FixedPointSum& other) {
  if (scale_ != other.scale_) {
    throw RunError(
        fmt::format("fixed-point sum: scales 2^{} and 2^{} do not merge", scale_.exponent(), other.scale_.exponent()));
  }
  total_ += other.total_;
  count_ += other.count_;
  bad_ += other.bad_;
}

double FixedPointSum::to_double() const {
  if (!valid()) return std::numeric_limits<double>::quiet_NaN();
  return std::ldexp(static_cast<double>(total_), scale_.unit_exponent());
}

std::string FixedPointSum::to_hex() const {
  if (!valid()) return "out-of-range";
  const bool negative = total_ < 0;
  // Five limbs, so that the most negative total has a magnitude.
  std::array<std::uint32_t, 5> magnitude{};
  int128 rest = total_;
  for (std::uint32_t& limb : magnitude) {
    const auto digit = static_cast<std::int64_t>(rest & 0xffffffff);
    limb = static_cast<std::uint32_t>(digit);
    rest >>= 32;
  }
  if (negative) {  // two's complement over five limbs
    std::uint64_t carry = 1;
    for (std::uint32_t& limb : magnitude) {
      carry += static_cast<std::uint32_t>(~limb);
      limb = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  return detail::exact_hex(negative, magnitude, scale_.unit_exponent());
}

void FixedPointSum::allreduce(const Communicator& comm, std::span<FixedPointSum> sums) {
  // A total travels as two 32-bit digits and a signed rest: each sums without overflow over up to 2^31 ranks.
  constexpr std::size_t kWords = 5;
  std::vector<std::int64_t> words;
  std::vector<int> exponents;
  words.reserve(sums.size() * kWords);
  for (const FixedPointSum& s : sums) {
    words.push_back(static_cast<std::int64_t>(s.total_ & 0xffffffff));
    words.push_back(static_cast<std::int64_t>((s.total_ >> 32) & 0xffffffff));
    words.push_back(static_cast<std::int64_t>(s.total_ >> 64));
    words.push_back(s.count_);
    words.push_back(s.bad_);
    exponents.push_back(s.scale_.exponent());
    exponents.push_back(-s.scale_.exponent());
  }
  std::vector<int> largest = exponents;
  all_max(comm, std::span<int>(largest));
  all_sum(comm, std::span<std::int64_t>(words));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (largest[2 * i] != -largest[2 * i + 1]) {
      throw RunError(fmt::format("fixed-point sum {}: ranks disagree about the scale (2^{} to 2^{})", i,
                                 -largest[2 * i + 1], largest[2 * i]));
    }
    const std::int64_t* w = words.data() + i * kWords;
    sums[i].total_ = (static_cast<int128>(w[2]) << 64) + (static_cast<int128>(w[1]) << 32) + w[0];
    sums[i].count_ = w[3];
    sums[i].bad_ = w[4];
  }
}

}  // namespace amrbench::support
