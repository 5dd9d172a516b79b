// GeoTIFF files, written here byte by byte; in builds with GDAL.
#include "workloads/shallow_water/input/geotiff.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "tests/temporary_folder.hpp"
#include "tests/workloads/input_refusal.hpp"

namespace amrbench::workloads::shallow_water {
namespace {

template <class T>
void put(std::string& bytes, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof value);
}

/// What stands in a file besides its cells; empty vectors leave their tag out.
struct TiffTags {
  std::vector<double> scale{5, 2, 0};
  std::vector<double> tie_point{0, 0, 0, 100, 40, 0};
  std::string no_data = "-9999";
  std::uint32_t strip = 512;  ///< where cells begin; they are written there
};

/// 3 x 2 cells of 32-bit floats, little-endian, uncompressed, one strip.
std::string tiff_bytes(const std::vector<float>& cells, const TiffTags& tags) {
  std::string data, entries;
  std::uint16_t count = 0;
  constexpr std::uint32_t kDataAt = 512;
  const auto entry = [&](std::uint16_t tag, std::uint16_t type, std::uint32_t n, std::uint32_t value) {
    put(entries, tag);
    put(entries, type);
    put(entries, n);
    put(entries, value);
    ++count;
  };
  const auto doubles = [&](std::uint16_t tag, const std::vector<double>& values) {
    if (values.empty()) return;
    entry(tag, 12, static_cast<std::uint32_t>(values.size()), kDataAt + static_cast<std::uint32_t>(data.size()));
    for (const double value : values) put(data, value);
  };
  for (const float cell : cells) put(data, cell);
  const auto bytes = static_cast<std::uint32_t>(data.size());
  entry(256, 4, 1, 3);   // width
  entry(257, 4, 1, 2);   // height
  entry(258, 3, 1, 32);  // bits
  entry(259, 3, 1, 1);   // no compression
  entry(262, 3, 1, 1);   // black is zero
  entry(273, 4, 1, tags.strip);
  entry(277, 3, 1, 1);      // samples a pixel
  entry(278, 4, 1, 2);      // rows a strip
  entry(279, 4, 1, bytes);  // bytes of the strip
  entry(339, 3, 1, 3);      // floating point
  doubles(33550, tags.scale);
  doubles(33922, tags.tie_point);
  if (!tags.no_data.empty()) {
    entry(42113, 2, static_cast<std::uint32_t>(tags.no_data.size() + 1),
          kDataAt + static_cast<std::uint32_t>(data.size()));
    data += tags.no_data + '\0';
  }
  std::string file("II\x2a\0\x08\0\0\0", 8);
  put(file, count);
  file += entries;
  put(file, std::uint32_t{0});
  file.resize(kDataAt);
  return file + data;
}

class GeoTiff : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_geotiff()) GTEST_SKIP() << "this build has no GDAL";
  }
  std::string path(const std::string& bytes) {
    const std::string name = folder_.path("bed.tif");
    std::ofstream(name, std::ios::binary) << bytes;
    return name;
  }
  std::string refusal(const std::string& bytes) {
    const std::string name = path(bytes), said = tests::refusal_of([&] { return read_raster(name); });
    EXPECT_EQ(said.find(name + ": "), 0U) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    return said;
  }

 private:
  tests::TemporaryFolder folder_;
};

TEST_F(GeoTiff, IsRead) {
  const Raster raster = read_raster(path(tiff_bytes({1, 2, 3, 4.5, -9999, NAN}, {})));
  EXPECT_EQ(raster.columns, 3);
  EXPECT_EQ(raster.rows, 2);
  EXPECT_EQ(raster.west, 100);
  EXPECT_EQ(raster.south, 36);
  EXPECT_EQ(raster.dx, 5);
  EXPECT_EQ(raster.dy, 2);
  EXPECT_EQ(raster.at(0, 2), 3);
  EXPECT_EQ(raster.at(1, 0), 4.5);
  EXPECT_TRUE(std::isnan(raster.at(1, 1)));
  EXPECT_TRUE(std::isnan(raster.at(1, 2)));
}

TEST_F(GeoTiff, NoDataOfSinglePrecision) {
  TiffTags tags;
  tags.no_data = "-3.40282346639e+38";
  const float none = std::numeric_limits<float>::lowest();
  EXPECT_TRUE(std::isnan(read_raster(path(tiff_bytes({none, 2, 3, 4, 5, 6}, tags))).at(0, 0)));
}

TEST_F(GeoTiff, IsRefused) {
  const std::vector<float> cells{1, 2, 3, 4, 5, 6};
  TiffTags tags;
  tags.scale.clear();
  tags.tie_point.clear();
  EXPECT_NE(refusal(tiff_bytes(cells, tags)).find("does not say where it lies"), std::string::npos);
  EXPECT_NE(refusal(tiff_bytes({1, 2, 3, 4, INFINITY, 6}, {})).find("row 2, column 2"), std::string::npos);
  EXPECT_NE(refusal("no tiff").find("cannot be read as GeoTIFF"), std::string::npos);
  TiffTags beyond;
  beyond.strip = 100000;
  EXPECT_NE(refusal(tiff_bytes(cells, beyond)).find("cannot be read"), std::string::npos);
  EXPECT_NE(tests::refusal_of([] { return read_raster("/no/such.tif"); }).find("/no/such.tif: cannot be read"),
            std::string::npos);
}

}  // namespace
}  // namespace amrbench::workloads::shallow_water
