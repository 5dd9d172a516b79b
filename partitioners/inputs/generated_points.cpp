#include "partitioners/inputs/generated_points.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "partitioners/threads.hpp"
#include "support/hash.hpp"

namespace amrbench::partitioners {

namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

/// The draws of one point, in [0, 1) with 24 bits, so that float and double inputs hold the same values where no
/// arithmetic follows.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t point)
      : state_(support::splitmix64(seed) ^ (point * 0xd1342543de82ef95ULL)) {}
  double next() {
    state_ += support::kGoldenRatio64;
    return static_cast<double>(support::splitmix64(state_) >> 40) * 0x1p-24;
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

template <class T>
void plummer_point(Draws& draws, int dim, T* x) {
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
  for (int a = 0; a < dim; ++a) x[a] = below_one<T>(0.5 + at[a]);
}

template <class T>
void field_point(Draws& draws, int dim, const std::vector<Wave>& waves, T* x) {
  double from[3] = {draws.next(), draws.next(), draws.next()};
  double to[3] = {from[0], from[1], from[2]};
  for (const Wave& wave : waves) {
    double phase = wave.phase;
    for (int a = 0; a < dim; ++a) phase += kTwoPi * wave.direction[static_cast<std::size_t>(a)] * from[a];
    const double push = wave.amplitude * std::sin(phase);
    for (int a = 0; a < dim; ++a) to[a] += push * wave.direction[static_cast<std::size_t>(a)];
  }
  for (int a = 0; a < dim; ++a) x[a] = below_one<T>(to[a]);
}

template <class T>
void box_point(Draws& draws, int dim, bool cluster, T* x) {
  const bool in_cluster = cluster && draws.next() < 0.5;
  for (int a = 0; a < dim; ++a) x[a] = static_cast<T>(draws.next() * (in_cluster ? 1.0 / 16 : 1.0));
}

/// Takes numbers (3 dim + 1) * point .. of the stream.
template <class T>
void corner_point(std::uint64_t seed, std::uint64_t point, int dim, T* x) {
  std::uint64_t next = point * (3 * static_cast<std::uint64_t>(dim) + 1);
  const bool crowded = counter_uniform(seed, next++) < 0.5;
  for (int a = 0; a < dim; ++a) {
    double at = counter_uniform(seed, next++);
    // Products of uniforms crowd towards 0 and need nothing but multiplications, which round alike everywhere.
    if (crowded) at = 0.1 * (at * counter_uniform(seed, next) * counter_uniform(seed, next + 1));
    if (crowded) next += 2;
    x[a] = below_one<T>(at);
  }
}

constexpr std::pair<std::string_view, PointKind> kKinds[] = {{"uniform", PointKind::uniform},
                                                             {"cluster", PointKind::cluster},
                                                             {"plummer", PointKind::plummer},
                                                             {"field", PointKind::field},
                                                             {"corner", PointKind::corner}};

}  // namespace

std::optional<PointKind> point_kind(std::string_view name) {
  for (const auto& [known, kind] : kKinds)
    if (known == name) return kind;
  return std::nullopt;
}

bool kind_has_dimension(PointKind kind, int dim) {
  if (kind == PointKind::plummer || kind == PointKind::field) return dim == 2 || dim == 3;
  return dim >= 1 && dim <= 16;
}

double counter_uniform(std::uint64_t seed, std::uint64_t index) {
  constexpr double kUnit = 0x1p-53;
  return static_cast<double>(support::splitmix64(support::splitmix64(seed) ^ index) >> 11) * kUnit;
}

template <class T>
void make_points(PointKind kind, int dim, std::uint64_t seed, std::uint64_t first, std::span<T> coordinates,
                 int threads) {
  const auto width = static_cast<std::size_t>(dim);
  const std::size_t n = coordinates.size() / width;
  const std::vector<Wave> waves = kind == PointKind::field ? waves_of(seed, dim) : std::vector<Wave>{};
#pragma omp parallel for schedule(static) num_threads(team_size(threads))
  for (std::size_t i = 0; i < n; ++i) {
    Draws draws(seed, first + i);
    T* x = coordinates.data() + i * width;
    if (kind == PointKind::plummer) {
      plummer_point(draws, dim, x);
    } else if (kind == PointKind::field) {
      field_point(draws, dim, waves, x);
    } else if (kind == PointKind::corner) {
      corner_point(seed, first + i, dim, x);
    } else {
      box_point(draws, dim, kind == PointKind::cluster, x);
    }
  }
}

void make_weights(std::uint64_t seed, std::uint64_t first, std::span<double> weights, int threads) {
#pragma omp parallel for schedule(static) num_threads(team_size(threads))
  for (std::size_t i = 0; i < weights.size(); ++i) {
    Draws draws(seed ^ 0x77656967, first + i);
    weights[i] = 1 - draws.next();
  }
}

template void make_points<float>(PointKind, int, std::uint64_t, std::uint64_t, std::span<float>, int);
template void make_points<double>(PointKind, int, std::uint64_t, std::uint64_t, std::span<double>, int);

}  // namespace amrbench::partitioners
