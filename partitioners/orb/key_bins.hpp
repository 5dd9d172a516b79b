#pragma once
// Bins of a range of keys: what a pass over points counts to narrow the window of a cut, over ranks
// (distributed_levels.hpp) and level by level on a GPU (gpu/level_kernels.cuh). Host and device.
#include <cstddef>
#include <cstdint>
#include <limits>

#include "partitioners/ordered_bits.hpp"

namespace amrbench::partitioners::detail {

/// A pass divides a window into so many bins.
constexpr int kBinBits = 11;
constexpr std::size_t kBins = std::size_t{1} << kBinBits;

/// The bin of a coordinate, by the distance from `lower`: never falls as x rises.
template <class T>
AMRBENCH_HD inline unsigned value_bin(T x, T lower, T scale) {
  const auto bin = static_cast<unsigned>((x - lower) * scale);
  return bin < kBins ? bin : static_cast<unsigned>(kBins - 1);
}
/// The scale by which a side's bins are equally wide; 0 where numbers do not allow it.
template <class T>
AMRBENCH_HD inline T value_scale(T lower, T upper) {
  constexpr T kMost = std::numeric_limits<T>::max();
  const T width = upper - lower, scale = static_cast<T>(kBins) / width;
  return width <= kMost && scale <= kMost ? scale : 0;
}

/// The bins of keys low .. high, below Key's greatest: value_bin() of the coordinates whose ordered_bits() they are
/// where `scale` is above 0, else by the upper bits of their distance from `low`.
template <class T, class Key>
struct KeyBins {
  Key low, high;
  T scale;
  int shift;

  AMRBENCH_HD KeyBins(Key from, Key to, T by_value) : low(from), high(to), scale(by_value) {
    const int bits = bit_width(static_cast<std::uint64_t>(to - from));
    shift = bits > kBinBits ? bits - kBinBits : 0;
  }
  [[nodiscard]] AMRBENCH_HD static T value(Key key) {
    return from_ordered_bits(static_cast<decltype(ordered_bits(T{}))>(key));
  }
  [[nodiscard]] AMRBENCH_HD unsigned bin(Key key) const {
    return scale > 0 ? value_bin(value(key), value(low), scale) : static_cast<unsigned>((key - low) >> shift);
  }
  /// The first key that falls into this bin or a later one; high + 1 where none does.
  [[nodiscard]] AMRBENCH_HD Key first(std::size_t wanted) const {
    if (!(scale > 0)) return (high - low) >> shift < wanted ? high + 1 : low + (static_cast<Key>(wanted) << shift);
    Key begin = low, end = high + 1;
    while (begin < end) {
      const Key middle = begin + (end - begin) / 2;
      if (bin(middle) < wanted)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }
};

}  // namespace amrbench::partitioners::detail
