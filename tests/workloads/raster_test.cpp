// ESRI ASCII grids: what is read, what is refused and how, and that writing loses nothing.
#include "workloads/shallow_water/input/raster.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <stdexcept>

#include "tests/temporary_folder.hpp"
#include "tests/workloads/input_refusal.hpp"
#include "workloads/shallow_water/input/ascii_grid.hpp"
#include "workloads/shallow_water/input/geotiff.hpp"

namespace amrbench::workloads::shallow_water {
namespace {

const std::string kGridHeader =
    "ncols 3\nnrows 2\nxllcorner 100\nyllcorner -40\ncellsize 10\nNODATA_value -9999\n";  // 6 lines
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

std::string grid_refusal(const std::string& text) {
  return tests::refusal_of([&] { return parse_ascii_grid(text, "bed.asc"); });
}

/// The header above with the line of `key` replaced, and cells that fit it.
std::string with_line(const std::string& key, const std::string& line) {
  std::string text = kGridHeader + "1 2 3\n4 5 6\n";
  const std::size_t at = text.find(key);
  return text.replace(at, text.find('\n', at) + 1 - at, line);
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

void expect_same_raster(const Raster& a, const Raster& b) {
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.west, b.west);
  EXPECT_EQ(a.south, b.south);
  EXPECT_EQ(a.dx, b.dx);
  EXPECT_EQ(a.dy, b.dy);
  ASSERT_EQ(a.cells.size(), b.cells.size());
  for (std::size_t i = 0; i < a.cells.size(); ++i)
    if (!std::isnan(a.cells[i]) || !std::isnan(b.cells[i])) {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(a.cells[i]), std::bit_cast<std::uint64_t>(b.cells[i])) << i;
    }
}

TEST(RasterText, RowsComeFromTheNorth) {
  const Raster raster = parse_ascii_grid(kGridHeader + "1 2 3\n4 -9999 6.5e1\n", "bed.asc");
  EXPECT_EQ(raster.file, "bed.asc");
  EXPECT_EQ(raster.columns, 3);
  EXPECT_EQ(raster.rows, 2);
  EXPECT_EQ(raster.west, 100);
  EXPECT_EQ(raster.east(), 130);
  EXPECT_EQ(raster.south, -40);
  EXPECT_EQ(raster.north(), -20);
  EXPECT_EQ(raster.at(0, 0), 1);
  EXPECT_EQ(raster.at(1, 2), 65);
  EXPECT_TRUE(std::isnan(raster.at(1, 1)));
}

TEST(RasterText, KeysInAnyOrderAndCaseAndForm) {
  const Raster raster = parse_ascii_grid(
      "\n  DY 4\r\nnRows\t2\r\nNCOLS 1\r\nDX   2\r\nYLLCENTER 10\r\nxllcenter 1\r\n\r\n -9999\r\n7\r\n", "bed.asc");
  EXPECT_EQ(raster.dx, 2);
  EXPECT_EQ(raster.dy, 4);
  EXPECT_EQ(raster.west, 0);
  EXPECT_EQ(raster.south, 8);
  EXPECT_TRUE(std::isnan(raster.at(0, 0))) << "-9999 stands for no data where the header does not say";
  EXPECT_EQ(raster.at(1, 0), 7);
}

TEST(RasterText, LinesMayBreakAnywhere) {
  const Raster raster = parse_ascii_grid(kGridHeader + "1\n2 3 4\n\n5 6", "bed.asc");
  EXPECT_EQ(raster.at(1, 2), 6);
}

TEST(RasterText, NoDataMayBeNanOrBeyondAllNumbers) {
  std::string text = with_line("NODATA", "NODATA_value nan\n");
  text.replace(text.find("1 2 3"), 1, "nan");
  EXPECT_TRUE(std::isnan(parse_ascii_grid(text, "bed.asc").at(0, 0)));
  text = with_line("NODATA", "NODATA_value -1.7976931348623157e+308\n");
  text.replace(text.find("1 2 3"), 1, "-1.7976931348623157e+308");
  EXPECT_TRUE(std::isnan(parse_ascii_grid(text, "bed.asc").at(0, 0)));
}

TEST(RasterText, HeaderIsRefusedByLine) {
  EXPECT_EQ(grid_refusal(""), "bed.asc:1: the header ends without ncols");
  EXPECT_EQ(grid_refusal(with_line("ncols", "")), "bed.asc:6: the header ends without ncols");
  EXPECT_EQ(grid_refusal(with_line("nrows", "")), "bed.asc:6: the header ends without nrows");
  EXPECT_EQ(grid_refusal(with_line("xll", "")), "bed.asc:6: the header ends without xllcorner or xllcenter");
  EXPECT_EQ(grid_refusal(with_line("yll", "")), "bed.asc:6: the header ends without yllcorner or yllcenter");
  EXPECT_EQ(grid_refusal(with_line("cellsize", "")), "bed.asc:6: the header ends without cellsize or dx");
  EXPECT_EQ(grid_refusal(with_line("cellsize", "dx 1\n")),
            "bed.asc:7: the header has one of dx and dy; both are needed, or cellsize alone");
  EXPECT_EQ(grid_refusal(with_line("cellsize", "cellsize 1\ndx 1\ndy 1\n")),
            "bed.asc:6: has both cellsize and dx; one of them is right");
  EXPECT_EQ(grid_refusal(with_line("xll", "xllcorner 0\nxllcenter 0\n")),
            "bed.asc:4: has both xllcorner and xllcenter; one of them is right");
  EXPECT_EQ(grid_refusal(with_line("nrows", "nrows 2\nNROWS 2\n")),
            "bed.asc:3: nrows stands on line 2 already; once is right");
  EXPECT_NE(grid_refusal(with_line("nrows", "rows 2\n"))
                .find("bed.asc:2: 'rows' is no key of an ESRI ASCII grid; "
                      "those are ncols, nrows, xllcorner"),
            std::string::npos);
  for (const char* line : {"nrows\n", "nrows 2 2\n"})
    EXPECT_EQ(grid_refusal(with_line("nrows", line)),
              "bed.asc:2: nrows needs one number on its line, and nothing else");
  for (const char* value : {"0", "-2", "2.5", "2147483649", "99999999999999999999", "x", "+2"})
    EXPECT_EQ(grid_refusal(with_line("nrows", fmt::format("nrows {}\n", value))),
              fmt::format("bed.asc:2: nrows '{}' must be a whole number from 1 to 2^31", value));
  for (const char* value : {"0", "-1", "nan", "inf", "1e101", "1,5"})
    EXPECT_EQ(grid_refusal(with_line("cellsize", fmt::format("cellsize {}\n", value))),
              fmt::format("bed.asc:5: cellsize '{}' must be a number above 0, at most 1e100", value));
  for (const char* value : {"nan", "-inf", "-1e101", "0x1"})
    EXPECT_EQ(grid_refusal(with_line("xll", fmt::format("xllcorner {}\n", value))),
              fmt::format("bed.asc:3: xllcorner '{}' must be a number from -1e100 to 1e100", value));
  EXPECT_EQ(grid_refusal(with_line("NODATA", "NODATA_value inf\n")),
            "bed.asc:6: NODATA_value 'inf' must be a finite number or nan");
}

TEST(RasterText, SizesAreRefusedBeforeMemoryIsTaken) {
  EXPECT_EQ(grid_refusal(with_line("ncols", "ncols 2147483648\n")),
            "bed.asc:2: 2 rows of 2147483648 columns; both must be positive and there may be 2^31 cells at most");
  EXPECT_EQ(grid_refusal(with_line("ncols", "ncols 1000000000\n")),
            "bed.asc:7: 2 rows of 1000000000 columns do not fit into the 12 bytes after the header");
  EXPECT_NE(grid_refusal(with_line("xll", "xllcorner 1e30\n")).find("cells of 10 m are lost beside x = 1e+30 m"),
            std::string::npos);
}

TEST(RasterText, CountsAreRefusedByRow) {
  EXPECT_EQ(grid_refusal(kGridHeader + "1 2 3\n4 5000\n"),
            "bed.asc:8: ends in row 2 of 2 after 2 of 3 columns; line 8 (row 2) has 2 where ncols is 3");
  EXPECT_EQ(grid_refusal(kGridHeader + "1 2\n3 4 5000\n"),
            "bed.asc:8: ends in row 2 of 2 after 2 of 3 columns; line 7 (row 1) has 2 where ncols is 3");
  EXPECT_EQ(grid_refusal(kGridHeader + "100 200 300\n"), "bed.asc:7: ends in row 2 of 2 after 0 of 3 columns");
  EXPECT_EQ(grid_refusal(kGridHeader + "1 2 3\n4 5 6\n7 8 9\n"),
            "bed.asc:9: '7' comes after the last of 2 rows of 3 columns; nothing may follow");
  EXPECT_EQ(
      grid_refusal(kGridHeader + "1 2 3 4\n5 6 7\n"),
      "bed.asc:8: '7' comes after the last of 2 rows of 3 columns; nothing may follow; line 7 (row 1) has 4 where "
      "ncols is 3");
  EXPECT_EQ(
      grid_refusal(kGridHeader + "1 2 3\n4 5 6 7\n"),
      "bed.asc:8: '7' comes after the last of 2 rows of 3 columns; nothing may follow; line 8 (row 2) has 4 where "
      "ncols is 3");
}

TEST(RasterText, CellsAreRefusedByLine) {
  const std::string right = "' is no number; one such as -1.25 or 3e-4 is needed";
  EXPECT_EQ(grid_refusal(kGridHeader + "1 2 3\n4 5,5 6\n"), "bed.asc:8: '5,5" + right);
  EXPECT_EQ(grid_refusal(kGridHeader + "1 2 3\n4 x 6\n"), "bed.asc:8: 'x" + right);
  EXPECT_EQ(grid_refusal(kGridHeader + "1 2 3\n4 1e999 6\n"), "bed.asc:8: '1e999" + right);
  EXPECT_EQ(grid_refusal(kGridHeader + std::string("1 2 3\n4 5\0 6\n", 13)), "bed.asc:8: '5?" + right);
  for (const char* value : {"nan", "inf", "-1e+200"})
    EXPECT_EQ(
        grid_refusal(kGridHeader + "1 2 3\n4 " + value + " 6\n"),
        fmt::format("bed.asc:8: row 2, column 2: {} must be a number from -1e100 to 1e100, or NODATA_value (-9999)",
                    value));
}

TEST(RasterFile, IsReadOrRefused) {
  const tests::TemporaryFolder folder;
  const std::string path = folder.path("bed.asc");
  EXPECT_EQ(tests::refusal_of([&] { return read_raster(path); }), path + ": no such file");
  EXPECT_EQ(tests::refusal_of([&] { return read_raster(folder.path("")); }),
            folder.path("") + ": is a folder; a file is needed");
  write_text(path, "\xef\xbb\xbf" + kGridHeader + "1 2 3\n4 5 6\n");
  const Raster raster = read_raster(path);
  EXPECT_EQ(raster.file, path);
  EXPECT_EQ(raster.at(1, 2), 6);
  write_text(path, kGridHeader);
  EXPECT_NE(tests::refusal_of([&] { return read_raster(path); }).find(path + ":7: "), std::string::npos);
  EXPECT_EQ(tests::refusal_of([&] { return read_raster("/dev/null"); }),
            "/dev/null: is a pipe or a device; a file is needed");
}

TEST(RasterFile, WithoutGdalTiffIsRefused) {
  if (has_geotiff()) GTEST_SKIP() << "this build has GDAL";
  for (const char* path : {"bed.tif", "bed.TIFF"}) {
    const std::string said = tests::refusal_of([&] { return read_raster(path); });
    EXPECT_EQ(said.find(std::string(path) + ": this build does not read GeoTIFF: install GDAL"), 0U) << said;
    EXPECT_NE(said.find("-DAMRBENCH_GDAL=ON"), std::string::npos) << said;
  }
}

TEST(RasterRange, NamesTheFirstOffender) {
  Raster raster = parse_ascii_grid(kGridHeader + "-12000 9000 -9999\n4 9001 -12001\n", "bed.asc");
  EXPECT_EQ(
      tests::refusal_of([&] { return check_range(raster, kBedRange), 0; }),
      "bed.asc: row 2, column 2 (from 1, from the north-west): bed 9001 m must be from -12000 to 9000; is its unit "
      "another, or is it the value of cells without data?");
  EXPECT_NE(tests::refusal_of([&] {
              return check_range(raster, "depth", 0, 12000), 0;
            }).find("row 1, column 1 (from 1, from the north-west): depth -12000 must be from 0 to 12000;"),
            std::string::npos);
  raster.cells = {0, 1, 0.03, kNoNumber, 0, 1};
  EXPECT_EQ(tests::refusal_of([&] { return check_range(raster, kRoughnessRange), 0; }), "taken");
  raster.cells[4] = 35;
  EXPECT_NE(
      tests::refusal_of([&] {
        return check_range(raster, kRoughnessRange), 0;
      }).find("row 2, column 2 (from 1, from the north-west): Manning roughness 35 s/m^(1/3) must be from 0 to 1"),
      std::string::npos);
}

TEST(RasterWriting, LosesNoBit) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  for (const double no_data : {-9999.0, kNoNumber, -1.7976931348623157e308}) {
    Raster raster{"", 13, 7, -1234.1, 0.3, 0.1, 0.1, no_data, {}};
    if (random() % 2) raster.dy = 0.7;
    while (raster.cells.size() < 91) {
      const double any = std::bit_cast<double>(static_cast<std::uint64_t>(random()));
      raster.cells.push_back(std::abs(any) <= 1e100 ? any : kNoNumber);
    }
    raster.cells[3] = -0.0;
    raster.cells[5] = std::numeric_limits<double>::denorm_min();
    expect_same_raster(raster, parse_ascii_grid(ascii_grid_text(raster), "bed.asc"));
  }
}

TEST(RasterWriting, WritesWhatOthersRead) {
  const Raster raster{"", 2, 2, 0, 10, 5, 2.5, -9999, {0.1, kNoNumber, 3, 1e-5}};
  EXPECT_EQ(ascii_grid_text(raster),
            "ncols 2\nnrows 2\nxllcorner 0\nyllcorner 10\ndx 5\ndy 2.5\nNODATA_value -9999\n0.1 -9999\n3 1e-05\n");
  const tests::TemporaryFolder folder;
  const std::string path = folder.path("depth.asc");
  write_ascii_grid(path, raster);
  expect_same_raster(raster, read_raster(path));
  EXPECT_THROW(write_ascii_grid(path, raster), support::RunError);
  write_ascii_grid(path, raster, support::Existing::replace);
}

TEST(RasterWriting, RefusesWhatWouldReadBackOtherwise) {
  const Raster sound{"", 2, 1, 0, 0, 1, 1, -9999, {1, 2}};
  EXPECT_NO_THROW(static_cast<void>(ascii_grid_text(sound)));
  for (const int defect : {0, 1, 2, 3, 4}) {
    Raster raster = sound;
    if (defect == 0) raster.cells[1] = -9999;
    if (defect == 1) raster.cells[1] = HUGE_VAL;
    if (defect == 2) raster.cells.pop_back();
    if (defect == 3) raster.dx = 0;
    if (defect == 4) raster.no_data = -HUGE_VAL;
    EXPECT_THROW(static_cast<void>(ascii_grid_text(raster)), std::invalid_argument) << defect;
  }
}

}  // namespace
}  // namespace amrbench::workloads::shallow_water
