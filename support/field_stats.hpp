#pragma once
// What is reported of a field: exact sums, extremes, and a hash of every value at its place. All of it is free of
// order: ranks, threads and partitions do not change a bit.
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "support/hash.hpp"
#include "support/superaccumulator.hpp"

namespace amrbench::support {

class Communicator;

/// Order-free hash of a set of (value, place) pairs: the sum modulo 2^64 of a hash of each pair. Two fields that differ
/// in one value agree with probability 2^-64. Sensitive to the sign of zero and to NaN payloads.
class FieldHash {
 public:
  /// position_hash: a hash of the cell's global position (mix64 of its level and coordinates, say).
  void add(double value, std::uint64_t position_hash) {
    sum_ += mix64(position_hash, std::bit_cast<std::uint64_t>(value));
  }
  void merge(const FieldHash& other) { sum_ += other.sum_; }
  /// Sum over ranks on every rank. Collective.
  void allreduce(const Communicator& comm);
  [[nodiscard]] std::uint64_t value() const { return sum_; }
  /// 16 hexadecimal digits.
  [[nodiscard]] std::string to_hex() const;

 private:
  friend class FieldStats;
  std::uint64_t sum_ = 0;
};

/// Statistics of one variable.
class FieldStats {
 public:
  /// `measure`: what the value counts for in the sums, a power of 2.
  void add(double x, std::uint64_t position_hash, double measure = 1.0) {
    sum_.add(x * measure);
    squares_.add(x * x * measure);
    hash_.add(x, position_hash);
    const double y = x + 0.0;  // -0 becomes +0: which zero is the smallest must not depend on order
    min_ = y < min_ ? y : min_;
    max_ = y > max_ ? y : max_;
  }
  void merge(const FieldStats& other);
  /// Statistics whose parts were made elsewhere by the same rules: the value of the hash, extremes as min() and max().
  [[nodiscard]] static FieldStats of(const ExactSum& sum, const ExactSum& squares, std::uint64_t hash, double min,
                                     double max) {
    FieldStats stats;
    stats.sum_ = sum;
    stats.squares_ = squares;
    stats.hash_.sum_ = hash;
    stats.min_ = min;
    stats.max_ = max;
    return stats;
  }
  /// Over ranks, in place, on every rank; two messages for all of them. Collective.
  static void allreduce(const Communicator& comm, std::span<FieldStats> stats);
  void allreduce(const Communicator& comm) { allreduce(comm, std::span<FieldStats>(this, 1)); }

  [[nodiscard]] const ExactSum& sum() const { return sum_; }
  /// Exact sum of the squares, each rounded to a double first.
  [[nodiscard]] const ExactSum& sum_squares() const { return squares_; }
  /// Extremes of the values that are numbers; +infinity and -infinity when there are none.
  [[nodiscard]] double min() const { return min_; }
  [[nodiscard]] double max() const { return max_; }
  [[nodiscard]] const FieldHash& hash() const { return hash_; }
  [[nodiscard]] std::int64_t nan_count() const { return sum_.nan_count(); }

 private:
  ExactSum sum_;
  ExactSum squares_;
  FieldHash hash_;
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
};

}  // namespace amrbench::support
