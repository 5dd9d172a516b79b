#pragma once
// Seeded point sets for tests of partitioners.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "partitioners/points.hpp"

namespace amrbench::partitioners {

enum class Kind : std::uint8_t { uniform, cluster, lattice, line, coincident, extreme };
inline constexpr Kind kKinds[] = {Kind::uniform, Kind::cluster,    Kind::lattice,
                                  Kind::line,    Kind::coincident, Kind::extreme};

inline std::string kind_name(Kind kind) {
  const char* names[] = {"uniform", "cluster", "lattice with repeats", "line", "coincident", "extreme magnitudes"};
  return names[static_cast<int>(kind)];
}

template <class T>
std::vector<T> make_points(Kind kind, std::size_t n, int dim, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<T> unit(0, 1);
  std::vector<T> x;
  x.reserve(n * static_cast<std::size_t>(dim));
  for (std::size_t i = 0; i < n; ++i) {
    const T along = unit(rng);
    const bool inside = rng() % 2 == 0;
    for (int d = 0; d < dim; ++d) {
      switch (kind) {
        case Kind::uniform:
          x.push_back(unit(rng));
          break;
        case Kind::cluster:
          x.push_back(unit(rng) * (inside ? T(1e-3) : T(1)));
          break;
        case Kind::lattice:
          x.push_back(static_cast<T>(rng() % 7));
          break;
        case Kind::line:
          x.push_back(along * static_cast<T>(d + 1) - static_cast<T>(3));
          break;
        case Kind::coincident:
          x.push_back(static_cast<T>(d));
          break;
        case Kind::extreme:
          // Both ends of the exponents, both signs: sides overflow, halves underflow.
          x.push_back((inside ? T(1) : T(-1)) * std::numeric_limits<T>::max() *
                      std::ldexp(unit(rng), -static_cast<int>(rng() % 200)));
          break;
      }
    }
  }
  return x;
}

}  // namespace amrbench::partitioners
