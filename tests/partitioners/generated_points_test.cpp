#include "partitioners/inputs/generated_points.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

namespace amrbench::partitioners {
namespace {

constexpr PointKind kPointKinds[] = {PointKind::uniform, PointKind::cluster, PointKind::plummer, PointKind::field,
                                     PointKind::corner};

/// FNV-1a over the bytes.
template <class T>
std::uint64_t bytes_hash(const std::vector<T>& values) {
  std::uint64_t hash = 1469598103934665603U;
  for (const T value : values)
    for (const unsigned char byte : std::bit_cast<std::array<unsigned char, sizeof(T)>>(value))
      hash = (hash ^ byte) * 1099511628211U;
  return hash;
}

template <class T>
std::uint64_t points_hash(PointKind kind, int dim, std::uint64_t seed, std::uint64_t first) {
  std::vector<T> points(1000 * static_cast<std::size_t>(dim));
  make_points<T>(kind, dim, seed, first, points);
  return bytes_hash(points);
}

// Records of GPUs and of the dissertation's tables hold results for these points.
TEST(GeneratedPoints, BitsStayAsTheyAre) {
  EXPECT_EQ(points_hash<float>(PointKind::uniform, 2, 5, 77), 0xfe15ad7ed1262f8dU);
  EXPECT_EQ(points_hash<float>(PointKind::uniform, 3, 5, 77), 0x11aab396105a7e95U);
  EXPECT_EQ(points_hash<double>(PointKind::uniform, 2, 5, 77), 0x95293d81d3ba3a98U);
  EXPECT_EQ(points_hash<double>(PointKind::uniform, 3, 5, 77), 0x5d9303dcfa478c53U);
  EXPECT_EQ(points_hash<float>(PointKind::cluster, 2, 5, 77), 0x4c480f76a678a94bU);
  EXPECT_EQ(points_hash<float>(PointKind::cluster, 3, 5, 77), 0xb68be9f06a075d36U);
  EXPECT_EQ(points_hash<double>(PointKind::cluster, 3, 5, 77), 0x877f12c3a97b6845U);
  for (const auto& [dim, hash] : {std::pair<int, std::uint64_t>{1, 0x3a450e7337fed095U},
                                  {2, 0xbd07eb6cc40d9266U},
                                  {3, 0xd01d28d43ae58105U},
                                  {16, 0xb4e70291cf9a9e1cU}})
    EXPECT_EQ(points_hash<double>(PointKind::corner, dim, 9, 0), hash) << dim;
  std::vector<double> weights(1000);
  make_weights(5, 77, weights);
  EXPECT_EQ(bytes_hash(weights), 0xe23e776e4dae40edU);
  // Bit patterns from a Python version of the generator.
  EXPECT_EQ(std::bit_cast<std::uint64_t>(counter_uniform(1, 0)), 0x3fd7906ac21d0e58U);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(counter_uniform(7, 12345)), 0x3fb9bd65d14c45e8U);
}

TEST(GeneratedPoints, NamesAndDimensions) {
  EXPECT_EQ(point_kind("corner"), PointKind::corner);
  EXPECT_EQ(point_kind("field"), PointKind::field);
  EXPECT_FALSE(point_kind("sphere").has_value());
  for (const PointKind kind : {PointKind::uniform, PointKind::cluster, PointKind::corner})
    EXPECT_TRUE(kind_has_dimension(kind, 1) && kind_has_dimension(kind, 16) && !kind_has_dimension(kind, 17));
  for (const PointKind kind : {PointKind::plummer, PointKind::field})
    EXPECT_TRUE(kind_has_dimension(kind, 2) && kind_has_dimension(kind, 3) && !kind_has_dimension(kind, 4));
}

TEST(GeneratedPoints, DoNotDependOnWhoMakesThem) {
  for (const PointKind kind : kPointKinds) {
    std::vector<float> all(3 * 1000), part(3 * 300), other(3 * 1000);
    make_points<float>(kind, 3, 5, 0, all);
    make_points<float>(kind, 3, 5, 456, part, 3);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 3 * 456));
    EXPECT_TRUE(std::all_of(all.begin(), all.end(), [](float x) { return x >= 0 && x < 1; }));
    make_points<float>(kind, 3, 6, 0, other);
    EXPECT_NE(all, other);
  }
  std::vector<double> all(100), part(20);
  make_weights(4, 0, all);
  make_weights(4, 40, part, 2);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 40));
  EXPECT_TRUE(std::all_of(all.begin(), all.end(), [](double w) { return w > 0 && w <= 1; }));
}

/// Points with every coordinate below `edge`, of n in `dim` dimensions.
std::size_t inside_corner(PointKind kind, int dim, std::size_t n, double edge) {
  const auto width = static_cast<std::size_t>(dim);
  std::vector<double> points(width * n);
  make_points<double>(kind, dim, 1, 0, points);
  std::size_t inside = 0;
  for (std::size_t i = 0; i < n; ++i)
    inside += std::all_of(&points[width * i], &points[width * i] + width, [&](double x) { return x < edge; }) ? 1 : 0;
  return inside;
}

TEST(GeneratedPoints, AreSpreadAsSaid) {
  constexpr std::size_t kPoints = 100000;
  const double deviation = 5 * std::sqrt(kPoints / 4.0);
  EXPECT_NEAR(static_cast<double>(inside_corner(PointKind::uniform, 3, kPoints, 0.5)), kPoints / 8.0, deviation);
  for (const int dim : {2, 3, 7}) {
    // Half of them, and those of the others that fall there.
    EXPECT_NEAR(static_cast<double>(inside_corner(PointKind::cluster, dim, kPoints, 1.0 / 16)),
                0.5 * kPoints * (1 + std::pow(1.0 / 16, dim)), deviation);
    EXPECT_NEAR(static_cast<double>(inside_corner(PointKind::corner, dim, kPoints, 0.1)),
                0.5 * kPoints * (1 + std::pow(0.1, dim)), deviation);
  }
  std::vector<double> points(3 * kPoints);
  make_points<double>(PointKind::plummer, 3, 1, 0, points);
  std::size_t inside = 0;
  for (std::size_t i = 0; i < kPoints; ++i) {
    double square = 0;
    for (std::size_t a = 0; a < 3; ++a) square += (points[3 * i + a] - 0.5) * (points[3 * i + a] - 0.5);
    inside += square < 1.0 / 4096 ? 1 : 0;
  }
  // Plummer: mass inside the scale radius.
  EXPECT_NEAR(static_cast<double>(inside), kPoints * std::pow(2.0, -1.5), 2 * deviation);
}

}  // namespace
}  // namespace amrbench::partitioners
