#pragma once
// ExactSum: adds any doubles without rounding.
//
// A double is an integer multiple of 2^-1074 below 2^1024, so a sum of fewer than 2^63 of them is an integer of less
// than 2162 bits times 2^-1074. It is kept as 68 limbs of 32 bits, each in an int64:
//
//   value = sum over i of limb[i] * 2^(32 i - 1074)
//
// Invariants and what follows from them:
// - A limb has room for 31 carry bits. A value touches two limbs with less than 2^52 each, so 2046 values may be added
//   before carries are passed on; `pending_` counts them.
// - Normalised, limbs 0..66 lie in [0, 2^32) and the last one carries the sign: equal sums have equal limbs, whatever
//   the order of additions. So merging, MPI_SUM over limbs of up to 2^31 ranks, and comparison are exact.
// - Infinities and NaNs are counted beside the sum; any of them makes the result infinite or NaN.
// Complexity: add O(1), 2 loads and stores; normalise and merge O(68). Size 584 bytes. Plain values, no ownership.
// Source: R. M. Neal, "Fast exact summation using small and large superaccumulators", arXiv:1505.05571 (the small one).
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace amrbench::support {

class Communicator;

class ExactSum {
 public:
  static constexpr std::size_t kLimbs = 68;

  void add(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const auto exponent = static_cast<std::uint32_t>(bits >> 52) & 0x7ffU;
    std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
    std::uint32_t position = 0;  // of the mantissa's last bit above 2^-1074
    if (exponent - 1 < 0x7feU) [[likely]] {
      mantissa |= std::uint64_t{1} << 52;
      position = exponent - 1;
    } else if (exponent != 0) {
      add_special(x);
      return;
    }
    if (pending_ == kMostPending) normalize();
    ++pending_;
    const std::uint32_t limb = position >> 5;
    const std::uint32_t shift = position & 31U;
    const auto low = static_cast<std::int64_t>((mantissa << shift) & 0xffffffffU);
    const auto high = static_cast<std::int64_t>(mantissa >> (32 - shift));
    const std::int64_t sign = static_cast<std::int64_t>(bits) >> 63;  // 0 or -1: (v ^ sign) - sign is +v or -v
    limbs_[limb] += (low ^ sign) - sign;
    limbs_[limb + 1] += (high ^ sign) - sign;
  }
  void add(std::span<const double> values) {
    for (const double x : values) add(x);
  }
  void merge(const ExactSum& other);

  /// The sum rounded once, to nearest, ties to even; infinite beyond the range, NaN after a NaN or after infinities of
  /// both signs. An exact zero is +0.
  [[nodiscard]] double to_double() const;
  /// The exact value: "-0x1f3p-12" = -0x1f3 * 2^-12 with an odd integer; "0x0p+0", "inf", "-inf", "nan". Equal sums
  /// give equal text.
  [[nodiscard]] std::string to_hex() const;
  [[nodiscard]] std::int64_t nan_count() const { return nans_; }
  [[nodiscard]] std::int64_t inf_count() const { return plus_infs_ + minus_infs_; }

  friend bool operator==(const ExactSum& a, const ExactSum& b);

  /// Sums over ranks, in place, on every rank. Collective; one message for all of them.
  static void allreduce(const Communicator& comm, std::span<ExactSum> sums);
  void allreduce(const Communicator& comm) { allreduce(comm, std::span<ExactSum>(this, 1)); }

  /// Form for transport: words of different objects may be added as int64 (up to 2^31 of them), then unpacked.
  static constexpr std::size_t kWords = kLimbs + 3;
  void pack(std::span<std::int64_t, kWords> words) const;
  void unpack(std::span<const std::int64_t, kWords> words);

 private:
  static constexpr std::uint32_t kMostPending = 2046;
  void add_special(double x);
  void normalize();

  std::array<std::int64_t, kLimbs> limbs_{};
  std::int64_t nans_ = 0;
  std::int64_t plus_infs_ = 0;
  std::int64_t minus_infs_ = 0;
  std::uint32_t pending_ = 0;
};

namespace detail {
/// "-0x<odd integer>p<exponent>" of (-1)^negative * magnitude * 2^exponent; magnitude: 32-bit limbs, lowest first.
std::string exact_hex(bool negative, std::span<const std::uint32_t> magnitude, int exponent);
}  // namespace detail

}  // namespace amrbench::support
