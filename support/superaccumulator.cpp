#include "support/superaccumulator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/mpi.hpp"

namespace amrbench::support {

namespace {

constexpr int kLowestExponent = -1074;
constexpr std::int64_t kLimbMask = 0xffffffff;

using Magnitude = std::array<std::uint32_t, ExactSum::kLimbs>;

/// |value| of normalised limbs; returns whether the value was negative.
bool magnitude_of(const std::array<std::int64_t, ExactSum::kLimbs>& limbs, Magnitude& magnitude) {
  const bool negative = limbs.back() < 0;
  std::int64_t carry = 0;
  for (std::size_t i = 0; i < limbs.size(); ++i) {
    const std::int64_t v = (negative ? -limbs[i] : limbs[i]) + carry;
    magnitude[i] = static_cast<std::uint32_t>(v & kLimbMask);
    carry = v >> 32;
  }
  return negative;
}

/// Bits of a magnitude up to its highest one; 0 for zero.
int bit_length(std::span<const std::uint32_t> magnitude) {
  for (std::size_t i = magnitude.size(); i-- > 0;) {
    if (magnitude[i] != 0) return static_cast<int>(32 * i) + std::bit_width(magnitude[i]);
  }
  return 0;
}

bool bit_at(std::span<const std::uint32_t> magnitude, int bit) {
  return ((magnitude[static_cast<std::size_t>(bit / 32)] >> (bit % 32)) & 1U) != 0;
}

/// `count` <= 64 bits from bit `first` on; bits beyond the end are 0.
std::uint64_t bits_at(std::span<const std::uint32_t> magnitude, int first, int count) {
  std::uint64_t result = 0;
  for (int b = count; b-- > 0;) {
    const bool inside = static_cast<std::size_t>(first) + static_cast<std::size_t>(b) < 32 * magnitude.size();
    result = (result << 1) | static_cast<std::uint64_t>(inside && bit_at(magnitude, first + b));
  }
  return result;
}

int trailing_zeros(std::span<const std::uint32_t> magnitude) {
  int bit = 0;
  while (!bit_at(magnitude, bit)) ++bit;
  return bit;
}

}  // namespace

namespace detail {

std::string exact_hex(bool negative, std::span<const std::uint32_t> magnitude, int exponent) {
  const int length = bit_length(magnitude);
  if (length == 0) return "0x0p+0";
  const int first = trailing_zeros(magnitude);
  std::string digits = negative ? "-0x" : "0x";
  for (int digit = (length - first + 3) / 4; digit-- > 0;) {
    digits += "0123456789abcdef"[bits_at(magnitude, first + 4 * digit, 4)];
  }
  return fmt::format("{}p{:+}", digits, exponent + first);
}

}  // namespace detail

void ExactSum::add_special(double x) {
  if (std::isnan(x)) {
    ++nans_;
  } else {
    ++(x > 0 ? plus_infs_ : minus_infs_);
  }
}

void ExactSum::normalize() {
  std::int64_t carry = 0;
  for (std::size_t i = 0; i + 1 < kLimbs; ++i) {
    const std::int64_t v = limbs_[i] + carry;
    limbs_[i] = v & kLimbMask;
    carry = v >> 32;  // rounds down, so that what stays is not negative
  }
  limbs_[kLimbs - 1] += carry;
  pending_ = 0;
}

void ExactSum::merge(const ExactSum& other) {
  ExactSum addend = other;
  addend.normalize();
  normalize();
  for (std::size_t i = 0; i < kLimbs; ++i) limbs_[i] += addend.limbs_[i];
  nans_ += addend.nans_;
  plus_infs_ += addend.plus_infs_;
  minus_infs_ += addend.minus_infs_;
  normalize();
}

double ExactSum::to_double() const {
  if (nans_ > 0 || (plus_infs_ > 0 && minus_infs_ > 0)) return std::numeric_limits<double>::quiet_NaN();
  if (plus_infs_ > 0) return std::numeric_limits<double>::infinity();
  if (minus_infs_ > 0) return -std::numeric_limits<double>::infinity();
  ExactSum sum = *this;
  sum.normalize();
  Magnitude magnitude;
  const bool negative = magnitude_of(sum.limbs_, magnitude);
  const int length = bit_length(magnitude);
  const int dropped = std::max(length - 53, 0);
  std::uint64_t mantissa = bits_at(magnitude, dropped, 53);
  if (dropped > 0 && bit_at(magnitude, dropped - 1)) {
    const bool tie = trailing_zeros(magnitude) == dropped - 1;
    if (!tie || (mantissa & 1U) != 0) ++mantissa;
  }
  // With bits dropped the result is a normal number: the scaling does not round again. It may overflow to infinity.
  const double result = std::ldexp(static_cast<double>(mantissa), dropped + kLowestExponent);
  return negative ? -result : result;
}

std::string ExactSum::to_hex() const {
  if (nans_ > 0 || (plus_infs_ > 0 && minus_infs_ > 0)) return "nan";
  if (plus_infs_ > 0) return "inf";
  if (minus_infs_ > 0) return "-inf";
  ExactSum sum = *this;
  sum.normalize();
  Magnitude magnitude;
  const bool negative = magnitude_of(sum.limbs_, magnitude);
  return detail::exact_hex(negative, magnitude, kLowestExponent);
}

bool operator==(const ExactSum& a, const ExactSum& b) {
  std::array<std::int64_t, ExactSum::kWords> wa{};
  std::array<std::int64_t, ExactSum::kWords> wb{};
  a.pack(wa);
  b.pack(wb);
  return wa == wb;
}

void ExactSum::pack(std::span<std::int64_t, kWords> words) const {
  ExactSum sum = *this;
  sum.normalize();
  std::copy(sum.limbs_.begin(), sum.limbs_.end(), words.begin());
  words[kLimbs] = nans_;
  words[kLimbs + 1] = plus_infs_;
  words[kLimbs + 2] = minus_infs_;
}

void ExactSum::unpack(std::span<const std::int64_t, kWords> words) {
  std::copy_n(words.begin(), kLimbs, limbs_.begin());
  nans_ = words[kLimbs];
  plus_infs_ = words[kLimbs + 1];
  minus_infs_ = words[kLimbs + 2];
  normalize();
}

void ExactSum::allreduce(const Communicator& comm, std::span<ExactSum> sums) {
  std::vector<std::int64_t> words(sums.size() * kWords);
  const auto part = [&](std::size_t i) { return std::span<std::int64_t, kWords>(words.data() + i * kWords, kWords); };
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i].pack(part(i));
  all_sum(comm, std::span<std::int64_t>(words));
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i].unpack(part(i));
}

}  // namespace amrbench::support
