#pragma once
// The roofline of document 000, section 4.3, measured here: what counting points left of a cut can reach, and what each
// level of a run should take at the memory's speed.
#include <algorithm>
#include <cstdint>
#include <span>

#include "partitioners/orb/orb.hpp"

namespace amrbench::partitioners {

/// Counting x <= cut over a column, all threads. The document's operations of a value: compare, add, advance, compare
/// with the end.
struct OrbRoofline {
  static constexpr double kOperationsAValue = 4;
  double bytes_a_value = 4;
  double memory_bytes_per_s = 0;      ///< counting a column that lies in memory
  double cache_operations_per_s = 0;  ///< counting a column that lies in each thread's first-level cache: the ceiling
  double memory_operations_per_s = 0;
  [[nodiscard]] double intensity() const { return kOperationsAValue / bytes_a_value; }
  /// The roof over that intensity, and whether memory is what bounds it.
  [[nodiscard]] double roof(double copy_bytes_per_s) const {
    return std::min(cache_operations_per_s, intensity() * copy_bytes_per_s);
  }
  [[nodiscard]] bool memory_bound(double copy_bytes_per_s) const {
    return intensity() * copy_bytes_per_s < cache_operations_per_s;
  }
};

/// Takes some tenths of a second and 256 MiB. T float or double.
template <class T>
OrbRoofline measure_orb_roofline(int threads);

}  // namespace amrbench::partitioners
