#include "partitioners/inputs/point_input.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "support/error.hpp"
#include "support/process_memory.hpp"

namespace amrbench::partitioners {
namespace {

class PointInputFiles : public testing::Test {
 protected:
  PointInputFiles() { std::filesystem::create_directories(folder_); }
  ~PointInputFiles() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string write(const std::string& name, const std::string& content) const {
    const auto path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  std::string write(const std::string& name, const std::vector<double>& values) const {
    return write(name, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)));
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("amrbench-input-" + std::to_string(getpid()) + "-" +
                                                testing::UnitTest::GetInstance()->current_test_info()->name());
};

std::vector<double> coordinates_of(const PointInput& input) {
  return {input.points.begin(), input.points.end()};
}

std::vector<double> weights_of(const std::string& text, std::uint64_t n) {
  return load_weights({}, text, n, 0, n);
}
std::vector<std::int32_t> parts_of(const std::string& path, std::uint64_t n) {
  return load_parts({}, path, n, n);
}

/// The one-line message of a refusal, "" when there is none.
template <class F>
std::string problem(F&& call) {
  try {
    call();
  } catch (const support::InputError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return "";
}
std::string input_problem(const std::string& text) {
  return problem([&] { load_input(text); });
}

TEST(PointInput, Grids) {
  const PointInput flat = load_input("grid:5x3:9");
  EXPECT_EQ(flat.name, "grid:5x3:9");
  EXPECT_EQ(flat.size, 15U);
  EXPECT_EQ(flat.dim, 2);
  EXPECT_EQ(flat.points.size(), 30U);
  ASSERT_TRUE(flat.grid && flat.graph);
  EXPECT_EQ(flat.graph->edges(), 4U * 3 + 5 * 2 + 2U * 4 * 2);
  EXPECT_EQ(load_input("grid:5x3").grid->stencil, 5);
  const PointInput deep = load_input("grid:2x3x4");
  EXPECT_EQ(deep.grid->stencil, 7);
  EXPECT_EQ(deep.size, 24U);
  EXPECT_EQ(deep.problem().points.size(), 24U);
  EXPECT_EQ(load_input("grid:2x3x4:27").graph->vertices(), 24U);
}

TEST(PointInput, OneNameOneDistribution) {
  const PointInput three = load_input("cluster:500:3:9");
  const PointInput usual = load_input("cluster:500:9", 2);
  EXPECT_EQ(three.dim, 3);
  EXPECT_EQ(coordinates_of(three), coordinates_of(usual));
  EXPECT_FALSE(three.graph || three.grid || three.weighted);
  std::vector<double> expected(5 * 100);
  make_points<double>(PointKind::corner, 5, 4, 0, expected);
  EXPECT_EQ(coordinates_of(load_input("corner:100:5:4")), expected);
  EXPECT_EQ(parse_input("field:10").seed, 1U);
  EXPECT_EQ(parse_input("field:10:3", 2).dim, 2);
  EXPECT_EQ(parse_input("uniform:10:7:3", 7).dim, 7);
  EXPECT_EQ(parse_input("uniform:4294967296:1").n, std::uint64_t{1} << 32);
  EXPECT_EQ(parse_input("file:a:b.csv").path, "a:b.csv");
  EXPECT_EQ(parse_input("file:points.bin").dim, 3);
  EXPECT_EQ(parse_input("file:points.bin", 5).dim, 5);
}

TEST(PointInput, RefusesText) {
  EXPECT_NE(input_problem("gird:4x4").find("--input gird:4x4: must be grid:"), std::string::npos);
  EXPECT_NE(input_problem("").find("must be grid:"), std::string::npos);
  EXPECT_NE(input_problem("grid").find("must be grid:NXxNY"), std::string::npos);
  EXPECT_NE(input_problem("grid:4").find("must be grid:NXxNY"), std::string::npos);
  EXPECT_NE(input_problem("grid:4x4x4x4").find("must be grid:NXxNY"), std::string::npos);
  EXPECT_NE(input_problem("grid:4x").find("must be grid:NXxNY"), std::string::npos);
  EXPECT_NE(input_problem("grid:4x4:5:1").find("must be grid:NXxNY"), std::string::npos);
  EXPECT_NE(input_problem("grid:4x4:7").find("in 2 dimensions it must be 5 or 9"), std::string::npos);
  EXPECT_NE(input_problem("grid:4x4x0:7").find("extent 0"), std::string::npos);
  for (const char* bad :
       {"uniform", "uniform:", "uniform:ten:1", "uniform:10:x", "uniform:1e3:3:1", "uniform:10:3:1:2"})
    EXPECT_NE(input_problem(bad).find("must be uniform:N[:SEED] or uniform:N:D:SEED"), std::string::npos) << bad;
  EXPECT_NE(input_problem("cluster:-1:3:1").find("N must be from 0"), std::string::npos);
  EXPECT_NE(input_problem("cluster:5000000000:3:1").find("N must be from 0"), std::string::npos);
  EXPECT_NE(input_problem("cluster:10:17:1").find("D must be from 1 to 16"), std::string::npos);
  EXPECT_NE(input_problem("cluster:10:0:1").find("D must be from 1 to 16"), std::string::npos);
  EXPECT_NE(input_problem("plummer:10:4:1").find("D must be 2 or 3"), std::string::npos);
  EXPECT_NE(problem([] { parse_input("uniform:10:2:1", 3); }).find("has 2 dimensions, but --dim is 3"),
            std::string::npos);
  EXPECT_NE(problem([] { parse_input("grid:4x4", 3); }).find("has 2 dimensions, but --dim is 3"), std::string::npos);
  EXPECT_NE(problem([] { parse_input("file:a.bin:2", 3); }).find("has 2 dimensions, but --dim is 3"),
            std::string::npos);
  EXPECT_NE(problem([] { parse_input("file:a.graph", 3); }).find("a graph has no dimension"), std::string::npos);
  // 2^32 points of 16 doubles: refused before memory is taken.
  if (support::total_memory_bytes() < std::int64_t{1} << 38) {
    EXPECT_NE(input_problem("uniform:4294967296:16:1").find("share of the node's memory"), std::string::npos);
  }
  for (const char* bad : {"file", "file:", "file::3", "blocks", "blocks:"})
    EXPECT_NE(input_problem(bad).find("the path is missing"), std::string::npos) << bad;
  EXPECT_NE(input_problem("file:no-such.csv").find("no-such.csv: no such file"), std::string::npos);
  EXPECT_NE(input_problem("file:no-such.bin:3").find("no-such.bin: no such file"), std::string::npos);
  EXPECT_NE(input_problem("file:no-such.graph").find("no-such.graph: no such file"), std::string::npos);
}

TEST_F(PointInputFiles, Raw) {
  const std::vector<double> values{0.5, 1.5, -2, 3, 4, 3e150};
  const std::string path = write("points:1.f64", values);
  const PointInput two = load_input("file:" + path + ":2");
  EXPECT_EQ(coordinates_of(two), values);
  EXPECT_EQ(two.size, 3U);
  EXPECT_EQ(load_input("file:" + path + ":3").size, 2U);
  EXPECT_NE(input_problem("file:" + path + ":4").find("no whole number of points of 4"), std::string::npos);
  EXPECT_NE(input_problem("file:" + path + ":0").find("D must be"), std::string::npos);
  EXPECT_NE(input_problem("file:" + write("odd", std::string("1234567")) + ":1").find("7 bytes are no whole number"),
            std::string::npos);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string bad = write("nan", std::vector<double>{0, 1, 2, nan, 4, -HUGE_VAL});
  EXPECT_NE(input_problem("file:" + bad + ":2").find("coordinate 1 of point 1 is nan"), std::string::npos);
  EXPECT_NE(input_problem("file:" + write("none", std::string()) + ":3").find("no points in it"), std::string::npos);
  EXPECT_NE(input_problem("file:/dev/null:3").find("is a pipe or a device"), std::string::npos);
}

TEST_F(PointInputFiles, Csv) {
  const PointInput plain = load_input("file:" + write("a.csv", std::string("# a comment\n1,2\r\n\n 3 , -4e1\n")));
  EXPECT_EQ(coordinates_of(plain), (std::vector<double>{1, 2, 3, -40}));
  EXPECT_EQ(plain.dim, 2);
  EXPECT_TRUE(plain.weights.empty());
  const PointInput named = load_input("file:" + write("b.csv", std::string("x,y,z,weight\n1,2,3,0.5\n4,5,6,0")));
  EXPECT_EQ(coordinates_of(named), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(named.weights, (std::vector<double>{0.5, 0}));
  EXPECT_EQ(named.dim, 3);
  EXPECT_EQ(load_input("file:" + write("c.csv", std::string("x,y,z,w\n1,2,3,4\n"))).dim, 4);
  const auto refused = [&](const std::string& content) { return input_problem("file:" + write("d.csv", content)); };
  EXPECT_NE(refused("1,2\n1,2,3\n").find("d.csv:2: 3 columns, but 2 before"), std::string::npos);
  EXPECT_NE(refused("x,y\n1,2\n1,b\n").find("d.csv:3: 'b' is no number"), std::string::npos);
  EXPECT_NE(refused("1,2\n1,\n").find("d.csv:2: '' is no number"), std::string::npos);
  EXPECT_NE(refused("1,2\n3,4\nnan,1\n").find("d.csv:3: coordinate 0 of point 2 is nan"), std::string::npos);
  EXPECT_NE(refused("1,2\ninf,1\n").find("d.csv:2: coordinate 0 of point 1 is inf"), std::string::npos);
  EXPECT_NE(refused("x,weight\n1,-1\n").find("d.csv:2: the weight -1 must be"), std::string::npos);
  EXPECT_NE(refused("weight\n1\n").find("0 coordinates"), std::string::npos);
  EXPECT_NE(refused("").find("no points"), std::string::npos);
  EXPECT_NE(refused("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17\n").find("17 coordinates"), std::string::npos);
  EXPECT_NE(refused("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18\n").find("18 columns"), std::string::npos);
}

TEST_F(PointInputFiles, CsvForms) {
  const auto read = [&](const std::string& content) { return load_input("file:" + write("e.csv", content)); };
  const auto refused = [&](const std::string& content) { return input_problem("file:" + write("e.csv", content)); };
  for (const char* text : {"1,2,3\n4,5,6\n", "1;2;3\n4; 5;6\n", "1 2  3\n4\t5 6\n",
                           "\xef\xbb\xbf"
                           "1,2,3\n4,5,6"}) {
    EXPECT_EQ(coordinates_of(read(text)), (std::vector<double>{1, 2, 3, 4, 5, 6})) << text;
    EXPECT_EQ(read(text).dim, 3) << text;
  }
  // The weight may stand anywhere, in any case; other names are coordinates.
  const PointInput first = read("Weight,u,v\n7,1,2\n8,3,4\n");
  EXPECT_EQ(coordinates_of(first), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(first.weights, (std::vector<double>{7, 8}));
  EXPECT_EQ(read("x \"WEIGHT\" y\n1 2 3\n").weights, (std::vector<double>{2}));
  EXPECT_NE(refused("x,y\n").find("e.csv: no points in it"), std::string::npos);
  EXPECT_NE(refused("# nothing\n\n").find("e.csv: no points in it"), std::string::npos);
  EXPECT_NE(refused("weight,x,weight\n1,2,3\n").find("e.csv:1: two columns are called weight"), std::string::npos);
  EXPECT_NE(refused("x,,y\n1,2,3\n").find("column 2 of the header has no name"), std::string::npos);
  EXPECT_NE(refused("1,5;2,5\n").find("e.csv:1: commas and semicolons"), std::string::npos);
  EXPECT_NE(refused("1,2\n1;2\n").find("e.csv:2: 1 columns, but 2 before"), std::string::npos);
  EXPECT_NE(refused("1,2\n1e999,2\n").find("e.csv:2: '1e999' is no number"), std::string::npos);
  EXPECT_NE(refused(std::string(3 << 20, '7')).find("a line of more than"), std::string::npos);
  EXPECT_NE(refused(std::string("1,2\n\0,3\n", 8)).find("is no number"), std::string::npos);
  const std::string path = write("f.csv", std::string("1,2\n3,4\n"));
  EXPECT_NE(
      problem([&] { load_slice<double>({}, parse_input("file:" + path, 3)); }).find("2 coordinates a point, but 3"),
      std::string::npos);
  EXPECT_EQ(load_slice<float>({}, parse_input("file:" + path, 2)).size, 2U);
  // Beyond, distances overflow.
  for (const char* value : {"1e300", "-1e151"})
    EXPECT_NE(refused(fmt::format("1,2\n3,{}\n", value)).find("coordinates must be from -3.27e+150 to 3.27e+150"),
              std::string::npos);
  const std::string far = write("g.csv", std::string("1,2\n3,1e38\n"));
  EXPECT_EQ(load_slice<double>({}, parse_input("file:" + far)).size, 2U);
  EXPECT_NE(problem([&] {
              load_slice<float>({}, parse_input("file:" + far));
            }).find("coordinates must be from -8.51e+37 to 8.51e+37 in single precision"),
            std::string::npos);
}

TEST_F(PointInputFiles, Blocks) {
  const BlockGrid grid{.dim = 3, .root = {2, 1, 3}, .max_level = 2};
  // A block of each level.
  const std::vector<double> centres{4, 4, 4, 14, 2, 22, 1, 7, 9};
  const std::vector<double> weights{1, 0.1, 3};
  const std::string path = write("blocks", std::string());
  write_blocks(path, grid, centres, weights);
  const PointInput read = load_input("blocks:" + path);
  ASSERT_TRUE(read.blocks.has_value());
  EXPECT_EQ(read.blocks->dim, 3);
  EXPECT_EQ(read.blocks->root, grid.root);
  EXPECT_EQ(read.blocks->max_level, 2);
  EXPECT_EQ(coordinates_of(read), centres);
  EXPECT_EQ(read.weights, weights);
  EXPECT_EQ(read.problem().blocks, &*read.blocks);
  write_blocks(path, {.dim = 2, .root = {4, 4}, .max_level = 0}, std::vector<double>{1, 3}, {});
  EXPECT_EQ(load_input("blocks:" + path).weights, std::vector<double>{1});
  EXPECT_EQ(load_input("blocks:" + path).blocks->dim, 2);
  const auto refused = [&](const std::string& text) { return input_problem("blocks:" + write("b", text)); };
  const std::string top = "# root 2 1 3 max_level 2\nx,y,z,weight\n";
  EXPECT_NE(refused("x,y,z,weight\n1,1,1,1\n").find("does not tell the mesh"), std::string::npos);
  for (const char* line : {"# root 2 max_level 2", "# root 2 2 2 2 max_level 2", "# root 2 0 max_level 2",
                           "# root 2 2 max_level -1", "# root 2 2 max_level 41", "# root 2 2 max_level", "# root 2 2",
                           "# root 4000000000 2 max_level 40", "# root 2 2 max_level 2 3"})
    EXPECT_NE(refused(std::string(line) + "\nx,y\n1,1\n").find("its first line must be: # root"), std::string::npos)
        << line;
  EXPECT_NE(refused("# root 2 2 max_level 2\nx,y,z\n1,1,1\n").find("3 coordinates a block"), std::string::npos);
  // Outside, no whole number, other levels along the axes, too coarse.
  for (const char* row : {"17,1,1,1", "-1,1,1,1", "1,1,1.5,1", "1,2,1,1", "8,8,8,1", "0,4,4,1", "nan,1,1,1"})
    EXPECT_NE(refused(top + "4,4,4,1\n" + row + "\n").find("b:4: "), std::string::npos) << row;
}

TEST_F(PointInputFiles, Graphs) {
  const PointInput weighted = load_input("file:" + write("g.graph", std::string("3 2 11\n1 2 7\n2 1 7 3 8\n3 2 8\n")));
  EXPECT_EQ(weighted.size, 3U);
  EXPECT_EQ(weighted.dim, 0);
  EXPECT_TRUE(weighted.points.empty());
  EXPECT_EQ(weighted.weights, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(weighted.notes.size(), 1U);
  EXPECT_EQ(weighted.problem().graph->edges(), 2U);
  EXPECT_TRUE(weighted.problem().points.empty());
  const PointInput two = load_input("file:" + write("h.graph", std::string("2 1 110 2\n5 1 2 2\n6 3 4 1\n")));
  EXPECT_TRUE(two.weights.empty());
  EXPECT_EQ(two.notes.size(), 2U);
}

TEST_F(PointInputFiles, Weights) {
  const std::vector<double> random = weights_of("random:3", 1000);
  ASSERT_EQ(random.size(), 1000U);
  std::vector<double> expected(1000);
  make_weights(3, 0, expected);
  EXPECT_EQ(random, expected);
  const std::vector<double> values{1, 0, 2.5};
  EXPECT_EQ(weights_of(write("w.f64", values), 3), values);
  EXPECT_EQ(weights_of("file:" + write("w.f64", values), 3), values);
  EXPECT_EQ(weights_of(write("w.txt", std::string("1\n0\n2.5\n")), 3), values);
  EXPECT_EQ(weights_of(write("w.csv", std::string("# one a point\nweight\n1\n0\n2.5\n")), 3), values);
  const auto refused = [&](const std::string& text, std::size_t n) { return problem([&] { weights_of(text, n); }); };
  EXPECT_NE(refused("random:x", 1).find("--weights random:x"), std::string::npos);
  EXPECT_NE(refused(write("w.f64", values), 4).find("3 weights for 4 points"), std::string::npos);
  EXPECT_NE(refused(write("v.f64", std::vector<double>{1, -2}), 2).find("point 1: the weight -2"), std::string::npos);
  EXPECT_NE(refused(write("v.txt", std::string("1\nx\n")), 2).find("v.txt:2: 'x' is no number"), std::string::npos);
  EXPECT_NE(refused(write("v.txt", std::string("1\ninf\n")), 2).find("v.txt:2: the weight inf"), std::string::npos);
  EXPECT_NE(refused("no-such-file", 2).find("no such file"), std::string::npos);
}

TEST_F(PointInputFiles, Parts) {
  EXPECT_EQ(parts_of(write("p", std::string("0\n2\n1\n")), 3), (std::vector<std::int32_t>{0, 2, 1}));
  const auto refused = [&](const std::string& text) { return problem([&] { parts_of(write("p", text), 2); }); };
  EXPECT_NE(refused("0\n-1\n").find("p:2: '-1' must be the number of a part"), std::string::npos);
  EXPECT_NE(refused("0\n1.5\n").find("p:2: '1.5'"), std::string::npos);
  EXPECT_NE(refused("0\n").find("1 parts for 2 points"), std::string::npos);
}

}  // namespace
}  // namespace amrbench::partitioners
