#pragma once
// Points and weights of which everything is drawn by a seed: mixtures of boxes, balls, sheets, segments, helices,
// cascades and single places, of sizes from 2^-18 to the whole, some rounded to a few coordinates an axis. They look
// for inputs that nobody thought of.
#include <cmath>
#include <cstdint>

#include "support/hash.hpp"

namespace amrbench::bench {

struct Stream {
  std::uint64_t state;
  /// In [0, 1), 24 bits.
  __host__ __device__ float next() {
    state = support::splitmix64(state);
    return static_cast<float>(state >> 40U) * 0x1p-24F;
  }
};

enum class PartShape { box, ball, sheet, segment, helix, cascade, place };
constexpr int kPartShapes = 7;

struct MixturePart {
  PartShape shape;
  float share;  ///< of all points, and of the parts before
  float center[3];
  float size[3];     ///< an axis; of a sheet or a segment the two directions' lengths
  float ways[2][3];  ///< directions of length 1
  float power;       ///< of a ball's radius; turns of a helix
  float eighths[8];  ///< sums of a cascade's shares
  float steps[3];    ///< coordinates an axis; 0: all there are
};

struct Mixture {
  static constexpr int kMost = 5;
  int parts;
  MixturePart part[kMost];
};

inline MixturePart drawn_part(Stream& draws) {
  MixturePart part{};
  part.shape = static_cast<PartShape>(kPartShapes * draws.next());
  part.share = draws.next() + 0.05F;
  const bool alike = draws.next() < 0.5F;
  for (int a = 0; a < 3; ++a) {
    part.center[a] = draws.next();
    part.size[a] = a > 0 && alike ? part.size[0] : std::exp2(-18.0F * draws.next() * draws.next());
  }
  for (auto& way : part.ways) {
    float length = 0;
    for (float& w : way) w = draws.next() - 0.5F;
    for (const float w : way) length += w * w;
    for (float& w : way) w /= std::sqrt(length + 1e-12F);
  }
  part.power = 0.3F + 4.0F * draws.next();
  float sum = 0;
  for (float& e : part.eighths) e = sum += draws.next() * draws.next() + 0.01F;
  for (float& e : part.eighths) e /= sum;
  if (draws.next() < 0.4F)
    for (float& s : part.steps) s = draws.next() < 0.3F ? 0.0F : std::floor(std::exp2(1.0F + 15.0F * draws.next()));
  return part;
}

inline Mixture drawn_mixture(std::uint64_t seed) {
  Stream draws{support::splitmix64(seed ^ 0x6d697874U)};
  Mixture mixture{};
  mixture.parts = 1 + static_cast<int>(Mixture::kMost * draws.next() * draws.next());
  float sum = 0;
  for (int p = 0; p < mixture.parts; ++p) {
    mixture.part[p] = drawn_part(draws);
    sum += mixture.part[p].share;
  }
  float up_to = 0;
  for (int p = 0; p < mixture.parts; ++p) mixture.part[p].share = up_to += mixture.part[p].share / sum;
  return mixture;
}

__device__ inline void drawn_point(const Mixture& mixture, Stream& draws, float (&x)[3]) {
  const float which = draws.next();
  int p = 0;
  while (p + 1 < mixture.parts && which >= mixture.part[p].share) ++p;
  const MixturePart& part = mixture.part[p];
  const float u[3] = {draws.next() - 0.5F, draws.next() - 0.5F, draws.next() - 0.5F};
  float ring = 0, cosine = 0, radius = 0;
  if (part.shape == PartShape::ball) {
    cosine = 2.0F * u[0];
    ring = sqrtf(fmaxf(0.0F, 1.0F - cosine * cosine));
    radius = 0.5F * powf(u[2] + 0.5F, part.power);
  }
  for (int a = 0; a < 3; ++a) {
    switch (part.shape) {
      case PartShape::box:
        x[a] = u[a] * part.size[a];
        break;
      case PartShape::ball:
        x[a] = part.size[0] * radius *
               (a == 0   ? ring * cosf(6.2831853F * u[1])
                : a == 1 ? ring * sinf(6.2831853F * u[1])
                         : cosine);
        break;
      case PartShape::sheet:
        x[a] = part.size[0] * u[0] * part.ways[0][a] + part.size[1] * u[1] * part.ways[1][a];
        break;
      case PartShape::segment:
        x[a] = part.size[0] * u[0] * part.ways[0][a];
        break;
      case PartShape::helix: {
        const float angle = 6.2831853F * 4.0F * part.power * u[0];
        x[a] = part.size[0] * (a == 0 ? 0.5F * cosf(angle) : a == 1 ? 0.5F * sinf(angle) : u[0]);
        break;
      }
      case PartShape::cascade:
      case PartShape::place:
        x[a] = 0;
        break;
    }
  }
  if (part.shape == PartShape::cascade)
    for (float edge = 0.5F; edge > 0x1p-22F; edge *= 0.5F) {
      const float e = draws.next();
      int eighth = 0;
      while (eighth < 7 && e >= part.eighths[eighth]) ++eighth;
      for (int a = 0; a < 3; ++a)
        x[a] += (static_cast<unsigned>(eighth) >> static_cast<unsigned>(a) & 1U) != 0U ? edge : 0.0F;
    }
  for (int a = 0; a < 3; ++a) {
    x[a] += part.center[a];
    x[a] -= floorf(x[a]);
    if (part.steps[a] > 0) x[a] = floorf(x[a] * part.steps[a]) / part.steps[a];
    x[a] = fminf(fmaxf(x[a], 0.0F), 1.0F);
  }
}

/// Weights by seed: 1; uniform; whole numbers from 1 to 4; nine in ten zero; zero on one side; over 20 powers of 2; of
/// a heavy tail.
__device__ inline double drawn_weight(std::uint64_t seed, std::uint64_t i, const float* x) {
  Stream draws{support::splitmix64(seed ^ 0x77656967U) ^ i};
  const float u = draws.next();
  switch (support::splitmix64(seed) % 7) {
    case 0:
      return 1.0;
    case 1:
      return 1.0 - u;
    case 2:
      return 1.0 + floorf(4.0F * u);
    case 3:
      return u < 0.9F ? 0.0 : 1.0 + u;
    case 4:
      return x[0] < 0.5F ? 0.0 : 1.0 - u;
    case 5:
      return exp2(20.0 * u);
    default:
      return 1.0 / ((1.0 - u) * (1.0 - u));
  }
}

}  // namespace amrbench::bench
