#include "partitioners/point_input.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "support/error.hpp"

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

TEST(PointInput, RandomPointsAreTheSameOnEveryMachine) {
  // Bit patterns from a Python version of the generator.
  EXPECT_EQ(std::bit_cast<std::uint64_t>(counter_uniform(1, 0)), 0x3fd7906ac21d0e58U);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(counter_uniform(7, 12345)), 0x3fb9bd65d14c45e8U);
  const PointInput uniform = load_input("uniform:3:2:1");
  for (std::uint64_t k = 0; k < 6; ++k) EXPECT_EQ(uniform.points[k], counter_uniform(1, k));
  EXPECT_FALSE(uniform.graph || uniform.grid);
  const PointInput one = load_input("cluster:5000:3:9", 1);
  const PointInput three = load_input("cluster:5000:3:9", 3);
  EXPECT_EQ(one.points, three.points);
  EXPECT_NE(one.points, load_input("cluster:5000:3:10").points);
}

TEST(PointInput, RandomPointsAreSpreadAsSaid) {
  const std::size_t n = 100000;
  const PointInput uniform = load_input("uniform:100000:3:5");
  const PointInput cluster = load_input("cluster:100000:3:5");
  ASSERT_EQ(uniform.size, n);
  std::size_t octants[8] = {};
  std::size_t corner = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double* p = &uniform.points[3 * i];
    ASSERT_TRUE(p[0] >= 0 && p[0] < 1 && p[1] >= 0 && p[1] < 1 && p[2] >= 0 && p[2] < 1);
    ++octants[(p[0] < 0.5 ? 0 : 1) + (p[1] < 0.5 ? 0 : 2) + (p[2] < 0.5 ? 0 : 4)];
    const double* c = &cluster.points[3 * i];
    ASSERT_TRUE(c[0] >= 0 && c[0] < 1 && c[1] >= 0 && c[1] < 1 && c[2] >= 0 && c[2] < 1);
    if (c[0] < 0.1 && c[1] < 0.1 && c[2] < 0.1) ++corner;
  }
  const double sigma = std::sqrt(static_cast<double>(n) * 7 / 64);
  for (const std::size_t count : octants) EXPECT_NEAR(static_cast<double>(count), n / 8.0, 5 * sigma);
  // Half of them, and a thousandth of the others.
  EXPECT_NEAR(static_cast<double>(corner), 0.5 * n + 0.0005 * n, 5 * std::sqrt(n / 4.0));
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
  EXPECT_NE(input_problem("uniform:10:3").find("must be uniform:N:D:SEED"), std::string::npos);
  EXPECT_NE(input_problem("uniform:1e3:3:1").find("must be uniform:N:D:SEED"), std::string::npos);
  EXPECT_NE(input_problem("cluster:-1:3:1").find("N must be from 0"), std::string::npos);
  EXPECT_NE(input_problem("cluster:5000000000:3:1").find("N must be from 0"), std::string::npos);
  EXPECT_NE(input_problem("cluster:10:17:1").find("D must be from 1 to 16"), std::string::npos);
  EXPECT_NE(input_problem("cluster:10:0:1").find("D must be from 1 to 16"), std::string::npos);
  EXPECT_NE(input_problem("file:points.bin").find("needs its dimension"), std::string::npos);
  EXPECT_NE(input_problem("file:no-such.csv").find("no-such.csv: no such file"), std::string::npos);
  EXPECT_NE(input_problem("file:no-such.bin:3").find("no-such.bin: no such file"), std::string::npos);
  EXPECT_NE(input_problem("file:no-such.graph").find("no-such.graph: no such file"), std::string::npos);
}

TEST_F(PointInputFiles, Raw) {
  const std::vector<double> values{0.5, 1.5, -2, 3, 4, 1e300};
  const std::string path = write("points:1.f64", values);
  const PointInput two = load_input("file:" + path + ":2");
  EXPECT_EQ(two.points, values);
  EXPECT_EQ(two.size, 3U);
  EXPECT_EQ(load_input("file:" + path + ":3").size, 2U);
  EXPECT_NE(input_problem("file:" + path + ":4").find("no whole number of points of 4"), std::string::npos);
  EXPECT_NE(input_problem("file:" + path + ":0").find("D must be"), std::string::npos);
  EXPECT_NE(input_problem("file:" + write("odd", std::string("1234567")) + ":1").find("7 bytes are no whole number"),
            std::string::npos);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string bad = write("nan", std::vector<double>{0, 1, 2, nan, 4, -HUGE_VAL});
  EXPECT_NE(input_problem("file:" + bad + ":2").find("coordinate 1 of point 1 is nan"), std::string::npos);
  EXPECT_EQ(load_input("file:" + write("none", std::string()) + ":3").size, 0U);
}

TEST_F(PointInputFiles, Csv) {
  const PointInput plain = load_input("file:" + write("a.csv", std::string("# a comment\n1,2\r\n\n 3 , -4e1\n")));
  EXPECT_EQ(plain.points, (std::vector<double>{1, 2, 3, -40}));
  EXPECT_EQ(plain.dim, 2);
  EXPECT_TRUE(plain.weights.empty());
  const PointInput named = load_input("file:" + write("b.csv", std::string("x,y,z,weight\n1,2,3,0.5\n4,5,6,0")));
  EXPECT_EQ(named.points, (std::vector<double>{1, 2, 3, 4, 5, 6}));
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
  const std::vector<double> random = load_weights("random:3", 1000);
  ASSERT_EQ(random.size(), 1000U);
  EXPECT_GE(*std::min_element(random.begin(), random.end()), 0.5);
  EXPECT_LT(*std::max_element(random.begin(), random.end()), 1.5);
  EXPECT_EQ(random[17], 0.5 + counter_uniform(3, 17));
  const std::vector<double> values{1, 0, 2.5};
  EXPECT_EQ(load_weights(write("w.f64", values), 3), values);
  EXPECT_EQ(load_weights(write("w.txt", std::string("1\n0\n2.5\n")), 3), values);
  const auto refused = [&](const std::string& text, std::size_t n) { return problem([&] { load_weights(text, n); }); };
  EXPECT_NE(refused("random:x", 1).find("--weights random:x"), std::string::npos);
  EXPECT_NE(refused(write("w.f64", values), 4).find("3 weights for 4 points"), std::string::npos);
  EXPECT_NE(refused(write("v.f64", std::vector<double>{1, -2}), 2).find("point 1: the weight -2"), std::string::npos);
  EXPECT_NE(refused(write("v.txt", std::string("1\nx\n")), 2).find("v.txt:2: 'x' is no number"), std::string::npos);
  EXPECT_NE(refused(write("v.txt", std::string("1\ninf\n")), 2).find("v.txt:2: the weight inf"), std::string::npos);
  EXPECT_NE(refused("no-such-file", 2).find("no such file"), std::string::npos);
}

TEST_F(PointInputFiles, Parts) {
  EXPECT_EQ(load_parts(write("p", std::string("0\n2\n1\n")), 3), (std::vector<std::int32_t>{0, 2, 1}));
  const auto refused = [&](const std::string& text) { return problem([&] { load_parts(write("p", text), 2); }); };
  EXPECT_NE(refused("0\n-1\n").find("p:2: '-1' must be the number of a part"), std::string::npos);
  EXPECT_NE(refused("0\n1.5\n").find("p:2: '1.5'"), std::string::npos);
  EXPECT_NE(refused("0\n").find("1 parts for 2 points"), std::string::npos);
}

}  // namespace
}  // namespace amrbench::partitioners
