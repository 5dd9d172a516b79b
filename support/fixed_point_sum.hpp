#pragma once
// FixedPointSum: an order-free sum of bounded doubles, cheap enough to ride in a stencil loop.
//
// A scale with exponent e takes values |x| < 2^e. Each value is turned into two integers by two additions to "magic"
// numbers whose last mantissa bit weighs just the wanted unit, so that the addition itself rounds to that unit and
// leaves the integer in the mantissa bits:
//
//   M1 = 33 * 2^e      (unit in the last place 2^(e-47))    hi = bits(x + M1) - bits(M1)
//                                                            r  = x - ((x + M1) - M1)        exact, |r| <= 2^(e-48)
//   M2 = 1.5 * 2^(e-31) (unit in the last place 2^(e-83))   lo = bits(r + M2) - bits(M2)
//
//   x = hi * 2^(e-47) + lo * 2^(e-83), rounded to a multiple of 2^(e-83)
//
// Invariants and what follows from them:
// - Resolution 2^(e-83): values with |x| >= 2^(e-31) and 0 enter exactly; smaller ones are rounded once, to nearest, by
//   at most 2^(e-84). What x contributes depends on x and e only; integer sums do the rest: any order, partition,
//   number of ranks, threads or lanes gives the same bits.
// - |hi| <= 2^47 and |lo| <= 2^35, so int64 sums hold kMostCells = 2^15 values; then they are flushed to a 128-bit
//   total in units of 2^(e-83), which holds 2^44 values (1.7e13).
// - The loop accumulates bits(x + M) modulo 2^64; count * bits(M) is taken off at the flush.
// - M1 lies 2^47 units above a power of two, so bits 48..63 of bits(x + M1) equal those of bits(M1) exactly when
//   -2^e <= x and x rounds to less than 2^e. Their differences are OR-ed into a flag word: values out of range,
//   infinite and NaN are all caught at the flush, whose values are then left out and counted as bad.
// - Needs IEEE doubles, rounding to nearest, no contraction (-ffp-contract=off), no -ffast-math.
// Cost: 4 additions and 4 integer operations a value. No ownership, no allocation; objects are plain values.
// Source: splitting by magic constants, Demmel and Nguyen, "Fast reproducible floating-point summation", ARITH 21
// (2013).
#ifdef __FAST_MATH__
#error "fixed-point sums need exact IEEE arithmetic: compile without -ffast-math"
#endif

#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace amrbench::support {

class Communicator;

__extension__ typedef __int128 int128;  // NOLINT(modernize-use-using): __extension__ silences -Wpedantic only here

/// The range and resolution of a fixed-point sum.
class FixedPointScale {
 public:
  static constexpr int kMinExponent = -900;
  static constexpr int kMaxExponent = 1018;
  static constexpr int kLowBits = 36;  ///< hi unit / lo unit = 2^36
  static constexpr int kUnitShift = 83;

  /// RunError when exponent is outside [kMinExponent, kMaxExponent].
  explicit FixedPointScale(int exponent);
  /// The smallest scale that takes all |x| <= bound. RunError when bound is negative, not finite, or beyond 2^1018.
  static FixedPointScale for_bound(double bound);

  [[nodiscard]] int exponent() const { return exponent_; }
  /// Exponent of the unit of totals: 2^unit_exponent().
  [[nodiscard]] int unit_exponent() const { return exponent_ - kUnitShift; }
  [[nodiscard]] double high_magic() const { return high_; }
  [[nodiscard]] double low_magic() const { return low_; }
  friend bool operator==(const FixedPointScale&, const FixedPointScale&) = default;

 private:
  int exponent_ = 0;
  double high_ = 0;
  double low_ = 0;
};

/// The 128-bit total of one variable.
class FixedPointSum {
 public:
  explicit FixedPointSum(const FixedPointScale& scale) : scale_(scale) {}

  /// Adds a flushed partial sum: sums of hi and lo over `count` values; `bad` = some of them were out of range.
  void add_partial(std::int64_t hi, std::int64_t lo, std::int64_t count, bool bad) {
    count_ += count;
    if (bad) {
      ++bad_;
    } else {
      total_ += (static_cast<int128>(hi) << FixedPointScale::kLowBits) + lo;
    }
  }
  /// Adds the total of `count` values in units of 2^scale().unit_exponent(), made elsewhere by the same rule.
  void add_total(int128 total, std::int64_t count, bool bad) {
    count_ += count;
    if (bad) {
      ++bad_;
    } else {
      total_ += total;
    }
  }
  /// One value; slow path.
  void add(double x);
  /// Scales must be equal: RunError.
  void merge(const FixedPointSum& other);

  [[nodiscard]] const FixedPointScale& scale() const { return scale_; }
  /// In units of 2^scale().unit_exponent().
  [[nodiscard]] int128 total() const { return total_; }
  /// Values added, bad ones included.
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// No value was out of range, infinite or NaN. (How many were is not kept: only whole flushes are known to be bad.)
  [[nodiscard]] bool valid() const { return bad_ == 0; }
  /// total() rounded once to nearest (results below 2^-1022 twice); NaN unless valid().
  [[nodiscard]] double to_double() const;
  /// The total exactly, written as ExactSum::to_hex does, so that equal values give equal text under any scale;
  /// "out-of-range" unless valid().
  [[nodiscard]] std::string to_hex() const;
  /// Same scale, total, count and validity.
  friend bool operator==(const FixedPointSum& a, const FixedPointSum& b) {
    return a.scale_ == b.scale_ && a.total_ == b.total_ && a.count_ == b.count_ && a.valid() == b.valid();
  }

  /// Sums over ranks, in place, on every rank; one message for all. Collective. Every rank must pass as many sums with
  /// equal scales; RunError on every rank when the scales differ.
  static void allreduce(const Communicator& comm, std::span<FixedPointSum> sums);
  void allreduce(const Communicator& comm) { allreduce(comm, std::span<FixedPointSum>(this, 1)); }

 private:
  FixedPointScale scale_;
  int128 total_ = 0;
  std::int64_t count_ = 0;
  std::int64_t bad_ = 0;
};

namespace detail {
/// Vectors of W lanes; one lane is a plain number.
template <int W>
struct Lanes {
  typedef double Real __attribute__((vector_size(W * sizeof(double))));                // NOLINT(modernize-use-using)
  typedef std::uint64_t Bits __attribute__((vector_size(W * sizeof(std::uint64_t))));  // NOLINT(modernize-use-using)
  static Bits bits(const Real& x) { return (Bits)x; }
  static std::uint64_t get(const Bits& b, int lane) {
    std::uint64_t words[W];
    std::memcpy(words, &b, sizeof(b));
    return words[lane];
  }
};
template <>
struct Lanes<1> {
  using Real = double;
  using Bits = std::uint64_t;
  static Bits bits(const Real& x) { return std::bit_cast<Bits>(x); }
  static std::uint64_t get(const Bits& b, int) { return b; }
};
}  // namespace detail

/// Partial sums of W variables side by side (W = 1, 2, 4, 8, 16: vectors of W doubles; 1 = scalar, same integers).
/// Meant to live in registers through the loop over a block's cells:
///
///   LaneSum<8> sum(scale);
///   for (...) { v = stencil(...); sum.accumulate(v); store(v); }   // at most kMostCells values a lane
///   sum.flush_to(sums + first_variable, lanes_in_use);
template <int W>
class LaneSum {
 public:
  static_assert(W >= 1 && W <= 64 && (W & (W - 1)) == 0, "W is a power of two");
  using Real = typename detail::Lanes<W>::Real;
  using Bits = typename detail::Lanes<W>::Bits;
  static_assert(sizeof(Real) == W * sizeof(double) && sizeof(Bits) == W * sizeof(std::uint64_t));
  static constexpr std::int64_t kMostCells = std::int64_t{1} << 15;

  explicit LaneSum(const FixedPointScale& scale)
      : high_magic_(Real{} + scale.high_magic()),
        low_magic_(Real{} + scale.low_magic()),
        high_bits_(detail::Lanes<W>::bits(high_magic_)) {}

  /// One value a lane.
  [[gnu::always_inline]] inline void accumulate(const Real& x) {
    const Real shifted = x + high_magic_;
    const Bits bits = detail::Lanes<W>::bits(shifted);
    const Real rest = (x - (shifted - high_magic_)) + low_magic_;
    high_ += bits;
    low_ += detail::Lanes<W>::bits(rest);
    flags_ |= bits ^ high_bits_;
    ++count_;
  }
  /// The same from memory: x[0 .. W), any alignment.
  [[gnu::always_inline]] inline void accumulate(const double* x) requires(W > 1) {
    Real v;
    std::memcpy(&v, x, sizeof(v));
    accumulate(v);
  }

  /// Adds lanes 0 .. lanes-1 to sums[0 .. lanes-1], whose scale must be this one's, and starts again from zero.
  void flush_to(FixedPointSum* sums, int lanes = W) {
    assert(count_ <= kMostCells);
    const auto low_bits = std::bit_cast<std::uint64_t>(first(low_magic_));
    const auto high_bits = detail::Lanes<W>::get(high_bits_, 0);
    const auto count = static_cast<std::uint64_t>(count_);
    for (int lane = 0; lane < lanes; ++lane) {
      const auto hi = static_cast<std::int64_t>(detail::Lanes<W>::get(high_, lane) - count * high_bits);
      const auto lo = static_cast<std::int64_t>(detail::Lanes<W>::get(low_, lane) - count * low_bits);
      const bool bad = (detail::Lanes<W>::get(flags_, lane) >> 48) != 0;
      sums[lane].add_partial(hi, lo, count_, bad);
    }
    high_ = low_ = flags_ = Bits{};
    count_ = 0;
  }
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  static double first(const Real& x) {
    double d = 0;
    std::memcpy(&d, &x, sizeof(d));
    return d;
  }

  Real high_magic_;
  Real low_magic_;
  Bits high_bits_;
  Bits high_{};
  Bits low_{};
  Bits flags_{};
  std::int64_t count_ = 0;
};

}  // namespace amrbench::support
