#pragma once
// Morton keys: the bits of a point's coordinates interleaved into one 64-bit number, sorted.
//
// The points' box is taken to be a cube whose side is the box's longest. Along each axis it has 2^b cells, as many bits
// as fit: b = floor(64 / dim), but at most 52, which is what differences of doubles hold. Axis 0 has the lowest bit of
// each digit, as in sfc/morton.hpp. Points of one cell stand by number. So cells of the deepest level are not cut,
// while a kd-tree (curve_methods.hpp) goes on until its leaves hold `bucket` points; and space is halved, not points.
// Source: document 001, sections 2.4 (absolute indices) and 4 (keys of centroids, sorted).
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "partitioners/partitioner.hpp"

namespace amrbench::partitioners {

inline constexpr int kMostKeyDims = 16;

/// Bits of a key that each of `dim` coordinates has.
constexpr int morton_key_bits(int dim) {
  return dim == 1 ? 52 : 64 / dim;
}

/// The cube that keys number the cells of: its low corner and its side.
struct KeyCube {
  std::array<double, kMostKeyDims> low{};
  double side = 0;  ///< halved, so that it is finite
};
/// The key of a point. O(bits * dim).
std::uint64_t morton_key(const KeyCube& cube, std::span<const double> point);

/// morton_keys, for the registry: 1 to 16 dimensions, finite coordinates, at most 2^32 - 1 points a rank. Works over
/// ranks. O(n), threads. Memory: 8 bytes a point for keys and 32 for the sort.
std::unique_ptr<Partitioner> make_morton_keys();

}  // namespace amrbench::partitioners
