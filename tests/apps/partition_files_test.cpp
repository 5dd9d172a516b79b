#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <string_view>

#include "apps/partition/files.hpp"
#include "apps/partition/png_image.hpp"
#include "partitioners/inputs/point_input.hpp"
#include "support/error.hpp"

#ifdef AMRBENCH_HAVE_PNG
#include <png.h>
#endif

namespace amrbench::apps {
namespace {

using partitioners::load_input;
using partitioners::PointInput;

template <class T>
T big_endian(std::string_view bytes) {
  std::array<char, sizeof(T)> value{};
  std::copy_n(bytes.begin(), sizeof(T), value.begin());
  if constexpr (std::endian::native == std::endian::little) std::reverse(value.begin(), value.end());
  return std::bit_cast<T>(value);
}

/// The bytes behind the line that ends with `text`.
std::string_view behind(std::string_view file, std::string_view text) {
  const std::size_t at = file.find(text);
  if (at == std::string_view::npos) {
    ADD_FAILURE() << text << " is not there";
    return {};
  }
  const std::size_t end = file.find('\n', at);
  return file.substr(end + 1);
}

TEST(VtkFile, GridCells) {
  const PointInput input = load_input("grid:3x2x2:7");
  std::vector<std::int32_t> part(12);
  std::vector<std::uint32_t> order(12);
  for (std::size_t i = 0; i < 12; ++i) {
    part[i] = static_cast<std::int32_t>(i / 5);
    order[i] = static_cast<std::uint32_t>(11 - i);
  }
  const std::string file =
      vtk_file({.points = input.problem().points, .grid = &*input.grid, .part = part, .order = order});
  EXPECT_TRUE(file.starts_with("# vtk DataFile Version 3.0\n"));
  EXPECT_NE(file.find("\nBINARY\nDATASET STRUCTURED_POINTS\nDIMENSIONS 4 3 3\n"), std::string::npos);
  EXPECT_NE(file.find("\nCELL_DATA 12\n"), std::string::npos);
  const std::string_view parts = behind(file, "part 1 12 int");
  const std::string_view positions = behind(file, "position 1 12 int");
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(big_endian<std::int32_t>(parts.substr(4 * i)), part[i]);
    EXPECT_EQ(big_endian<std::int32_t>(positions.substr(4 * i)), 11 - static_cast<std::int32_t>(i));
  }
}

TEST(VtkFile, CurveOfFlatPoints) {
  const std::vector<double> coordinates{0, 1, 2, 3, 4, 5};
  const std::vector<std::int32_t> part{0, 0, 1};
  const std::vector<std::uint32_t> order{2, 0, 1};
  const std::string file = vtk_file({.points = {coordinates, 2}, .part = part, .order = order, .curve = true});
  const std::string_view points = behind(file, "POINTS 3 double");
  const double expected[] = {0, 1, 0, 2, 3, 0, 4, 5, 0};
  for (std::size_t k = 0; k < 9; ++k) EXPECT_EQ(big_endian<double>(points.substr(8 * k)), expected[k]);
  const std::string_view line = behind(file, "LINES 1 4");
  const std::int32_t entries[] = {3, 2, 0, 1};
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(big_endian<std::int32_t>(line.substr(4 * k)), entries[k]);
}

TEST(VtkFile, Refuses) {
  const std::vector<double> coordinates{0, 1, 2, 3};
  const std::vector<std::int32_t> part{0};
  EXPECT_THROW(vtk_file({.points = {coordinates, 4}, .part = part}), support::InputError);
  const std::vector<std::int32_t> two{0, 0};
  EXPECT_THROW(vtk_file({.points = {coordinates, 2}, .part = two, .curve = true}), support::InputError);
}

#ifdef AMRBENCH_HAVE_PNG
/// Decoded again by libpng.
Image decode(const std::string& bytes) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()), 0);
  png.format = PNG_FORMAT_RGB;
  Image image(static_cast<int>(png.width), static_cast<int>(png.height));
  EXPECT_NE(png_image_finish_read(&png, nullptr, image.pixels.data(), 0, nullptr), 0);
  return image;
}

std::uint32_t packed(Colour c) {
  return (std::uint32_t{c.red} << 16) | (std::uint32_t{c.green} << 8) | std::uint32_t{c.blue};
}

TEST(Picture, GridPartsAreFlatAreasOfTheirColour) {
  const PointInput input = load_input("grid:4x2:5");
  const std::vector<std::int32_t> part{0, 0, 1, 1, 2, 2, 3, 3};
  Image image = decode(png_picture({.points = input.problem().points, .grid = &*input.grid, .part = part}, 100));
  ASSERT_EQ(image.width, 100);
  ASSERT_EQ(image.height, 50);
  std::set<std::uint32_t> colours;
  for (int quarter = 0; quarter < 4; ++quarter) {
    // Part 0 lies at the bottom left.
    const int left = 50 * (quarter % 2);
    const int top = quarter < 2 ? 25 : 0;
    const std::uint32_t colour = packed(image.at(left, top));
    colours.insert(colour);
    for (int y = top; y < top + 25; ++y)
      for (int x = left; x < left + 50; ++x) ASSERT_EQ(packed(image.at(x, y)), colour) << x << ' ' << y;
  }
  EXPECT_EQ(colours.size(), 4U);
}

TEST(Picture, ShrinksLargeGridsAndShowsEveryPoint) {
  const PointInput grid = load_input("grid:400x100:5");
  const std::vector<std::int32_t> part(40000, 0);
  const Image small = decode(png_picture({.points = grid.problem().points, .grid = &*grid.grid, .part = part}, 64));
  EXPECT_EQ(small.width, 64);
  EXPECT_EQ(small.height, 16);
  const PointInput one = load_input("uniform:1:2:1");
  const std::vector<std::int32_t> zero{0};
  EXPECT_EQ(decode(png_picture({.points = one.problem().points, .part = zero}, 64)).width, 1);
  const PointInput points = load_input("uniform:50:2:1");
  const std::vector<std::int32_t> fifty(50, 7);
  Image dots = decode(png_picture({.points = points.problem().points, .part = fifty}, 200));
  int coloured = 0;
  for (const Colour c : dots.pixels) coloured += packed(c) != 0xffffff ? 1 : 0;
  EXPECT_GT(coloured, 50);
}

TEST(Picture, CurveIsALineThroughTheCells) {
  const PointInput input = load_input("grid:3x1:5");
  const std::vector<std::int32_t> part{0, 0, 0};
  const std::vector<std::uint32_t> order{0, 1, 2};
  const Drawing drawing{
      .points = input.problem().points, .grid = &*input.grid, .part = part, .order = order, .curve = true};
  Image image = decode(png_picture(drawing, 30));
  ASSERT_EQ(image.height, 10);
  const std::uint32_t background = packed(image.at(0, 0));
  for (int x = 5; x <= 25; ++x) EXPECT_NE(packed(image.at(x, 4)), background) << x;
  EXPECT_EQ(packed(image.at(2, 4)), background);
  EXPECT_EQ(packed(image.at(15, 8)), background);
}

TEST(Picture, ASphereIsADiscOfTheHalfThatFaces) {
  const PointInput sphere = load_input("sphere:4");
  const partitioners::PointView<double> points = sphere.problem().points;
  // Part 1 lies around the viewer, part 0 is all else.
  std::vector<std::int32_t> part(points.size());
  for (std::size_t i = 0; i < part.size(); ++i)
    part[i] = 0.75 * points[i][0] + 0.4330127 * points[i][1] + 0.5 * points[i][2] > 0.5 ? 1 : 0;
  Image image = decode(png_picture({.points = points, .part = part, .sphere = true}, 100));
  EXPECT_NEAR(image.width, image.height, 2);
  const std::uint32_t near = packed(image.at(image.width / 2, image.height / 2));
  const std::uint32_t far = packed(image.at(3, image.height / 2));
  EXPECT_NE(near, far);
  for (const int x : {0, image.width - 1})
    for (const int y : {0, image.height - 1}) EXPECT_EQ(packed(image.at(x, y)), 0xffffffU);
  EXPECT_THROW(png_picture({.points = points, .part = part, .sphere = true, .curve = true}, 64), support::InputError);
}

TEST(Picture, Refuses) {
  const PointInput deep = load_input("uniform:5:3:1");
  const std::vector<std::int32_t> part(5, 0);
  EXPECT_THROW(png_picture({.points = deep.problem().points, .part = part}, 64), support::InputError);
  const PointInput flat = load_input("uniform:5:2:1");
  EXPECT_THROW(png_picture({.points = flat.problem().points, .part = part, .curve = true}, 64), support::InputError);
  const PointInput none = load_input("uniform:0:2:1");
  EXPECT_THROW(png_picture({.points = none.problem().points}, 64), support::InputError);
}
#endif

}  // namespace
}  // namespace amrbench::apps
