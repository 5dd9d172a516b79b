#include "partitioners/orb/inputs.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

std::uint64_t splitmix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// The draws of one point, in [0, 1) with 24 bits, so that float and double inputs hold the same values where no
/// arithmetic follows.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t point) : state_(splitmix(seed) ^ (point * 0xd1342543de82ef95ULL)) {}
  double next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    return static_cast<double>(splitmix(state_) >> 40) * 0x1p-24;
  }

 private:
  std::uint64_t state_;
};

struct Wave {
  std::array<double, 3> direction;
  double phase;
  double amplitude;
};

/// Plane waves with whole wave numbers, amplitudes falling with their square, as displacements grow the large scales.
std::vector<Wave> waves_of(std::uint64_t seed, int dim) {
  constexpr int kWaves = 48;
  std::vector<Wave> waves;
  Draws draws(seed ^ 0x5eed, 0);
  while (waves.size() < kWaves) {
    Wave wave{};
    double square = 0;
    for (int a = 0; a < dim; ++a) {
      wave.direction[static_cast<std::size_t>(a)] = std::floor(draws.next() * 17) - 8;
      square += wave.direction[static_cast<std::size_t>(a)] * wave.direction[static_cast<std::size_t>(a)];
    }
    wave.phase = kTwoPi * draws.next();
    if (square == 0) continue;
    wave.amplitude = 0.06 / square;
    waves.push_back(wave);
  }
  return waves;
}

template <class T>
T below_one(double x) {
  const double inside = x - std::floor(x);
  const T value = static_cast<T>(inside);
  return value < T(1) ? value : std::nextafter(T(1), T(0));
}

template <class T, int Dim>
void plummer_point(Draws& draws, T* x) {
  constexpr double kScale = 1.0 / 64;
  double radius = 1;
  double cosine = 0;
  double angle = 0;
  while (!(radius < 0.5)) {
    const double mass = draws.next();
    radius = mass > 0 ? kScale / std::sqrt(std::pow(mass, -2.0 / 3) - 1) : 0;
    cosine = 2 * draws.next() - 1;
    angle = kTwoPi * draws.next();
  }
  const double ring = radius * std::sqrt(1 - cosine * cosine);
  const double at[3] = {ring * std::cos(angle), ring * std::sin(angle), radius * cosine};
  for (int a = 0; a < Dim; ++a) x[a] = below_one<T>(0.5 + at[a]);
}

template <class T, int Dim>
void field_point(Draws& draws, const std::vector<Wave>& waves, T* x) {
  double from[3] = {draws.next(), draws.next(), draws.next()};
  double to[3] = {from[0], from[1], from[2]};
  for (const Wave& wave : waves) {
    double phase = wave.phase;
    for (int a = 0; a < Dim; ++a) phase += kTwoPi * wave.direction[static_cast<std::size_t>(a)] * from[a];
    const double push = wave.amplitude * std::sin(phase);
    for (int a = 0; a < Dim; ++a) to[a] += push * wave.direction[static_cast<std::size_t>(a)];
  }
  for (int a = 0; a < Dim; ++a) x[a] = below_one<T>(to[a]);
}

}  // namespace

template <class T, int Dim>
void make_orb_points(OrbInputKind kind, std::uint64_t seed, std::uint64_t first, std::span<T> coordinates) {
  const std::size_t n = coordinates.size() / Dim;
  const std::vector<Wave> waves = kind == OrbInputKind::field ? waves_of(seed, Dim) : std::vector<Wave>{};
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < n; ++i) {
    Draws draws(seed, first + i);
    T* x = coordinates.data() + i * Dim;
    if (kind == OrbInputKind::plummer) {
      plummer_point<T, Dim>(draws, x);
    } else if (kind == OrbInputKind::field) {
      field_point<T, Dim>(draws, waves, x);
    } else {
      const bool in_cluster = kind == OrbInputKind::cluster && draws.next() < 0.5;
      for (int a = 0; a < Dim; ++a) x[a] = static_cast<T>(draws.next() * (in_cluster ? 1.0 / 16 : 1.0));
    }
  }
}

void make_orb_weights(std::uint64_t seed, std::uint64_t first, std::span<double> weights) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < weights.size(); ++i) {
    Draws draws(seed ^ 0x77656967, first + i);
    weights[i] = 1 - draws.next();
  }
}

OrbInputKind orb_input_kind(std::string_view name) {
  if (name == "uniform") return OrbInputKind::uniform;
  if (name == "cluster") return OrbInputKind::cluster;
  if (name == "plummer") return OrbInputKind::plummer;
  if (name == "field") return OrbInputKind::field;
  throw support::InputError(
      fmt::format("input kind \"{}\": there are uniform, cluster, plummer, field and file", name));
}

template void make_orb_points<float, 2>(OrbInputKind, std::uint64_t, std::uint64_t, std::span<float>);
template void make_orb_points<float, 3>(OrbInputKind, std::uint64_t, std::uint64_t, std::span<float>);
template void make_orb_points<double, 2>(OrbInputKind, std::uint64_t, std::uint64_t, std::span<double>);
template void make_orb_points<double, 3>(OrbInputKind, std::uint64_t, std::uint64_t, std::span<double>);

}  // namespace amrbench::partitioners
