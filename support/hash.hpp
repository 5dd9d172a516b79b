#pragma once
// Hashes of 64-bit words: for checksums, for random numbers that are functions of their place, for choosing samples.
// All are constexpr, so device code may call them: device builds pass nvcc's --expt-relaxed-constexpr. Results depend
// on every bit of these functions (records hold them); known values stand in tests/support/hash_test.cpp.
#include <cstdint>

namespace amrbench::support {

/// 2^64 divided by the golden ratio, odd: multiples of it are spread evenly over the words.
inline constexpr std::uint64_t kGoldenRatio64 = 0x9e3779b97f4a7c15U;

/// A bijection of 64-bit words in which every output bit depends on every input bit; 0 stays 0.
/// Source: the finaliser of SplitMix64, D. Stafford's variant 13 of MurmurHash3's.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Hash of a pair in order.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t a, std::uint64_t b) {
  return mix64(mix64(a + kGoldenRatio64) ^ b);
}

/// What the generator SplitMix64 gives next in state x, which then is x + kGoldenRatio64.
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
[[nodiscard]] constexpr std::uint64_t splitmix64(std::uint64_t x) {
  return mix64(x + kGoldenRatio64);
}

/// The finaliser of MurmurHash3 (A. Appleby), a bijection like mix64.
[[nodiscard]] constexpr std::uint64_t murmur64(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdU;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53U;
  return x ^ (x >> 33);
}

/// 24 random bits for place i of n: half the work of splitmix64, enough to choose a sample.
[[nodiscard]] constexpr std::uint64_t draw24(std::uint64_t i, std::uint64_t n) {
  const std::uint64_t h = ((i + 1) * kGoldenRatio64) ^ n;
  return ((h ^ (h >> 31)) * 0xbf58476d1ce4e5b9U) >> 40;
}

}  // namespace amrbench::support
