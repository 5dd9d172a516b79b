// Delaunay tetrahedra against brute force, and TetGen's files, good and damaged.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>

#include "partitioners/inputs/delaunay.hpp"
#include "partitioners/inputs/mesh_input.hpp"
#include "partitioners/inputs/point_input.hpp"
#include "partitioners/inputs/tetgen_file.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {
namespace {

std::vector<LatticePoint> lattice_points(std::size_t n, std::int32_t extent, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<LatticePoint> points(n);
  for (LatticePoint& p : points)
    for (std::int32_t& c : p) c = static_cast<std::int32_t>(rng() % static_cast<std::uint64_t>(extent));
  return points;
}

const LatticePoint& corner(const std::vector<LatticePoint>& points, const std::array<std::int32_t, 4>& element, int k) {
  return points[static_cast<std::size_t>(element[static_cast<std::size_t>(k)])];
}

/// Six times the volume of the hull: from every plane through three points that has all others at one side. Points of
/// one face must not be more than three.
std::int64_t hull_volume(const std::vector<LatticePoint>& points) {
  std::int64_t volume = 0;
  const std::size_t n = points.size();
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b)
      for (std::size_t c = b + 1; c < n; ++c) {
        bool above = false, below = false;
        for (std::size_t d = 0; d < n; ++d) {
          const std::int64_t side = orientation(points[a], points[b], points[c], points[d]);
          above = above || side > 0;
          below = below || side < 0;
        }
        const std::int64_t cone = orientation(points[a], points[b], points[c], points[0]);
        if (above != below) volume += above ? cone : -cone;
      }
  return volume;
}

/// Empty circumspheres, positive volumes, faces in pairs, neighbours across them.
std::int64_t expect_delaunay(const std::vector<LatticePoint>& points, const TetraMesh& mesh) {
  std::int64_t volume = 0;
  std::map<std::array<std::int32_t, 3>, std::vector<std::int32_t>> faces;
  for (std::size_t t = 0; t < mesh.elements.size(); ++t) {
    const auto& e = mesh.elements[t];
    const std::int64_t own =
        orientation(corner(points, e, 0), corner(points, e, 1), corner(points, e, 2), corner(points, e, 3));
    EXPECT_GT(own, 0);
    volume += own;
    for (const LatticePoint& p : points)
      EXPECT_FALSE(
          in_circumsphere(corner(points, e, 0), corner(points, e, 1), corner(points, e, 2), corner(points, e, 3), p));
    for (std::size_t k = 0; k < 4; ++k) {
      std::array<std::int32_t, 3> face{e[(k + 1) % 4], e[(k + 2) % 4], e[(k + 3) % 4]};
      std::sort(face.begin(), face.end());
      faces[face].push_back(static_cast<std::int32_t>(t));
    }
  }
  for (std::size_t t = 0; t < mesh.elements.size(); ++t) {
    const auto& e = mesh.elements[t];
    for (std::size_t k = 0; k < 4; ++k) {
      std::array<std::int32_t, 3> face{e[(k + 1) % 4], e[(k + 2) % 4], e[(k + 3) % 4]};
      std::sort(face.begin(), face.end());
      const auto& at = faces[face];
      EXPECT_LE(at.size(), 2U);
      const std::int32_t other = at.size() == 1 ? -1 : at[0] == static_cast<std::int32_t>(t) ? at[1] : at[0];
      EXPECT_EQ(mesh.neighbours[t][k], other);
    }
  }
  return volume;
}

TEST(Delaunay, PredicatesKnowSimpleCases) {
  const LatticePoint o{0, 0, 0}, x{10, 0, 0}, y{0, 10, 0}, z{0, 0, 10};
  EXPECT_EQ(orientation(o, x, y, z), 1000);
  EXPECT_EQ(orientation(o, y, x, z), -1000);
  EXPECT_EQ(orientation(o, x, y, {7, 3, 0}), 0);
  EXPECT_TRUE(in_circumsphere(o, x, y, z, {9, 9, 9}));
  EXPECT_FALSE(in_circumsphere(o, x, y, z, {10, 10, 10}));  // on it
  EXPECT_FALSE(in_circumsphere(o, x, y, z, {11, 10, 10}));
  // As far as coordinates go nothing overflows: the cube's corner is on the sphere through four others.
  constexpr std::int32_t m = kLatticeEnd - 1;
  EXPECT_FALSE(in_circumsphere(o, {m, 0, 0}, {0, m, 0}, {0, 0, m}, {m, m, m}));
  EXPECT_TRUE(in_circumsphere(o, {m, 0, 0}, {0, m, 0}, {0, 0, m}, {m, m - 1, m}));
}

TEST(Delaunay, HasEmptySpheresAndFillsTheHull) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto points = lattice_points(4 + seed * 2, kLatticeEnd, seed);
    const TetraMesh mesh = delaunay(points);
    EXPECT_EQ(expect_delaunay(points, mesh), hull_volume(points));
  }
  const auto many = lattice_points(400, kLatticeEnd, 99);
  expect_delaunay(many, delaunay(many));
}

TEST(Delaunay, TakesRepeatsAndPointsOnCommonSpheresAndPlanes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto points = lattice_points(120, 6, seed);  // many coincide, many lie on a plane or a sphere with others
    for (std::int32_t k = 0; k < 8; ++k) points.push_back({5 * (k & 1), 5 * (k >> 1 & 1), 5 * (k >> 2)});
    EXPECT_EQ(expect_delaunay(points, delaunay(points)), 6 * 125);  // the cube, whole
  }
}

TEST(Delaunay, HasNothingWhereAllLieInAPlane) {
  EXPECT_TRUE(delaunay(std::vector<LatticePoint>{}).elements.empty());
  EXPECT_TRUE(delaunay(lattice_points(3, 100, 1)).elements.empty());
  auto flat = lattice_points(50, 100, 2);
  for (LatticePoint& p : flat) p[2] = p[0] + p[1];
  EXPECT_TRUE(delaunay(flat).elements.empty());
  EXPECT_TRUE(delaunay(std::vector<LatticePoint>(9, {1, 2, 3})).elements.empty());
  EXPECT_THROW(parse_input("tetrahedra:3"), support::InputError);
  EXPECT_THROW(parse_input("tetrahedra:100:1:1"), support::InputError);
  EXPECT_THROW(parse_input("tetrahedra:16777217"), support::InputError);
}

/// TetGen's files of a mesh, in a folder of this process.
class TetgenFiles : public testing::Test {
 protected:
  TetgenFiles() { std::filesystem::create_directories(folder_); }
  ~TetgenFiles() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  void write(const std::string& suffix, const std::string& content) const {
    std::ofstream(stem() + suffix, std::ios::binary) << content;
  }
  /// Two tetrahedra with a common face.
  void write_pair(const std::string& node = kNode, const std::string& ele = kEle,
                  const std::string& neigh = kNeigh) const {
    write(".node", node);
    write(".ele", ele);
    write(".neigh", neigh);
  }
  [[nodiscard]] std::string stem() const { return (folder_ / "mesh.1").string(); }
  [[nodiscard]] std::string problem() const {
    try {
      read_tetgen(stem() + ".ele");
    } catch (const support::InputError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.what();
    }
    return "";
  }

  static constexpr const char* kNode =
      "# made by hand\n5 3 0 0\n1 0 0 0\n2 4 0 0 # second\n\n3 0 4 0\n4 0 0 4\n5 4 4 4\n";
  static constexpr const char* kEle = "2 4 0\n1 1 2 3 4\n2 2 3 4 5\n";
  static constexpr const char* kNeigh = "2 4\n1 2 -1 -1 -1\n2 -1 -1 -1 1\n";

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("amrbench-tetgen-" + std::to_string(getpid()) + "-" +
                                                testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(TetgenFiles, AreRead) {
  write_pair();
  const PointInput input = load_input("file:" + stem() + ".ele");
  EXPECT_EQ(input.size, 2U);
  EXPECT_EQ(std::vector<double>(input.points.begin(), input.points.end()), (std::vector<double>{1, 1, 1, 2, 2, 2}));
  ASSERT_TRUE(input.graph);
  EXPECT_EQ(input.graph->offsets, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(input.graph->adjacent, (std::vector<std::int32_t>{1, 0}));
}

TEST_F(TetgenFiles, RoundTripOfADelaunayMesh) {
  const auto points = tetra_points(60, 3);
  const TetraMesh mesh = delaunay(points);
  for (const int base : {0, 1}) {
    std::string node = fmt::format("{} 3 0 0\n", points.size());
    for (std::size_t i = 0; i < points.size(); ++i)
      node += fmt::format("{} {} {} {}\n", i + static_cast<std::size_t>(base), points[i][0] / double{kLatticeEnd},
                          points[i][1] / double{kLatticeEnd}, points[i][2] / double{kLatticeEnd});
    std::string ele = fmt::format("{} 4 0\n", mesh.elements.size());
    std::string neigh = fmt::format("{} 4\n", mesh.elements.size());
    for (std::size_t t = 0; t < mesh.elements.size(); ++t) {
      ele += std::to_string(t + static_cast<std::size_t>(base));
      neigh += std::to_string(t + static_cast<std::size_t>(base));
      for (std::size_t k = 0; k < 4; ++k) {
        ele += fmt::format(" {}", mesh.elements[t][k] + base);
        neigh += fmt::format(" {}", mesh.neighbours[t][k] < 0 ? -1 : mesh.neighbours[t][k] + base);
      }
      ele += "\n";
      neigh += "\n";
    }
    write_pair(node, ele, neigh);
    const PointInput made = load_input("tetrahedra:60:3"), read = load_input("file:" + stem() + ".ele");
    EXPECT_TRUE(std::equal(made.points.begin(), made.points.end(), read.points.begin(), read.points.end()));
    ASSERT_TRUE(made.graph && read.graph);
    EXPECT_EQ(made.graph->offsets, read.graph->offsets);
    EXPECT_EQ(made.graph->adjacent, read.graph->adjacent);
  }
}

TEST_F(TetgenFiles, DamagedOnesCostOneLine) {
  struct Case {
    std::string node, ele, neigh, says;
  };
  const std::string node = kNode, ele = kEle, neigh = kNeigh;
  const Case cases[] = {
      {"", ele, neigh, "mesh.1.node: no header"},
      {"2 2 0 0\n1 0 0\n", ele, neigh, "the dimension '2'"},
      {"2000000000 3 0 0\n1 0 0 0\n", ele, neigh, "do not fit into a file"},
      {"0 3 0 0\n", ele, neigh, "no points in it"},
      {"5 3 0 0\n1 0 0 0\n", ele, neigh, "ends after 1 of 5 rows"},
      {"1 3 0 0\n7 0 0 0\n", ele, neigh, "the first row's number '7'"},
      {"1 3 0 0\n1 0 nan 0\n", ele, neigh, "'nan' is no coordinate"},
      {"1 3 0 0\n1 0 0\n", ele, neigh, "'' is no coordinate"},
      {"1 3 0 0\n1 0 0 0\n2 0 0 0\n", ele, neigh, "more rows than the 1"},
      {node, "2 5 0\n", neigh, "5 corners an element"},
      {node, "2 4 0\n1 1 2 3 9\n2 2 3 4 5\n", neigh, "mesh.1.ele:2: the corner '9'"},
      {node, "2 4 0\n1 1 2 3 3\n2 2 3 4 5\n", neigh, "element 1 has a corner twice"},
      {node, "2 4 0\n1 1 2 3 4\n3 2 3 4 5\n", neigh, "the row's number '3'"},
      {node, ele, "1 4\n1 -1 -1 -1 -1\n", "1 elements, but the .ele file has 2"},
      {node, ele, "2 4\n1 -1 -1 -1 -1\n2 -1 -1 -1 1\n", "element 2 lists 1, which does not list it back"},
      {node, ele, "2 4\n1 2 2 -1 -1\n2 -1 -1 -1 1\n", "element 1 lists neighbour 2 twice"},
      {node, ele, "2 4\n1 1 -1 -1 -1\n2 -1 -1 -1 1\n", "elements 1 and 1 share no face"},
      {node, ele, "2 4\n1 0 -1 -1 -1\n2 -1 -1 -1 1\n", "elements count from 1"},
      {node, ele, "2 4\n1 3 -1 -1 -1\n2 -1 -1 -1 1\n", "the neighbour '3'"},
  };
  for (const Case& c : cases) {
    write_pair(c.node, c.ele, c.neigh);
    EXPECT_NE(problem().find(c.says), std::string::npos) << c.says << " | " << problem();
  }
  std::filesystem::remove(stem() + ".neigh");
  write(".node", node);
  write(".ele", ele);
  EXPECT_NE(problem().find("mesh.1.neigh: no such file"), std::string::npos);
}

TEST_F(TetgenFiles, CutOffAnywhereAreReadOrRefused) {
  const std::string whole[] = {kNode, kEle, kNeigh};
  for (std::size_t file = 0; file < 3; ++file) {
    std::size_t read = 0;
    for (std::size_t length = 0; length < whole[file].size(); ++length) {
      std::string content[] = {kNode, kEle, kNeigh};
      content[file].resize(length);
      write_pair(content[0], content[1], content[2]);
      read += problem().empty() ? 1 : 0;
    }
    EXPECT_LE(read, 1U);  // without the last line end
  }
}

}  // namespace
}  // namespace amrbench::partitioners
