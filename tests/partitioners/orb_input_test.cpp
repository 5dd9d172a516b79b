// What `amrbench orb` reads: generated points that do not depend on who makes them, and files.
#include "apps/orb_input.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "partitioners/orb/inputs.hpp"
#include "support/error.hpp"

namespace amrbench::apps {
namespace {

using partitioners::OrbInputKind;

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const support::InputError& error) {
    return error.what();
  }
  return "";
}

class OrbInput : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    const auto path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("orb_input_test." + std::to_string(getpid()));
};

TEST_F(OrbInput, Specs) {
  const OrbInputSpec spec = parse_orb_input("plummer:1000:7");
  EXPECT_EQ(spec.kind, "plummer");
  EXPECT_EQ(spec.n, 1000U);
  EXPECT_EQ(spec.seed, 7U);
  EXPECT_EQ(parse_orb_input("file:a:b.csv").path, "a:b.csv");
  EXPECT_NE(refusal([] { parse_orb_input("sphere:10:1"); }).find("\"sphere\""), std::string::npos);
  for (const char* bad : {"uniform", "uniform:", "uniform:0:1", "uniform:ten:1", "uniform:10:x", "uniform:-5:1",
                          "uniform:4294967297:1", "uniform:10:1:2", "file", "file:"})
    EXPECT_NE(refusal([&] { parse_orb_input(bad); }), "") << bad;
  EXPECT_EQ(parse_orb_input("uniform:4294967296:1").n, 4294967296U);
}

TEST_F(OrbInput, PointsDoNotDependOnWhoMakesThem) {
  for (const OrbInputKind kind :
       {OrbInputKind::uniform, OrbInputKind::cluster, OrbInputKind::plummer, OrbInputKind::field}) {
    std::vector<float> all(3 * 1000);
    partitioners::make_orb_points<float, 3>(kind, 5, 0, all);
    std::vector<float> part(3 * 300);
    partitioners::make_orb_points<float, 3>(kind, 5, 456, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 3 * 456));
    EXPECT_TRUE(std::all_of(all.begin(), all.end(), [](float x) { return x >= 0 && x < 1; }));
    std::vector<float> other(3 * 1000);
    partitioners::make_orb_points<float, 3>(kind, 6, 0, other);
    EXPECT_NE(all, other);
  }
  const OrbInputSpec spec = parse_orb_input("uniform:1001:3");
  const auto whole = load_orb_points<double, 2>(spec);
  std::vector<double> joined;
  for (int rank = 0; rank < 3; ++rank) {
    const auto part = load_orb_points<double, 2>(spec, rank, 3);
    joined.insert(joined.end(), part.begin(), part.end());
  }
  EXPECT_TRUE(std::equal(joined.begin(), joined.end(), whole.begin(), whole.end()));
}

TEST_F(OrbInput, ClusterAndPlummerAreDense) {
  std::vector<double> points(3 * 10000);
  partitioners::make_orb_points<double, 3>(OrbInputKind::cluster, 1, 0, points);
  std::size_t inside = 0;
  for (std::size_t i = 0; i < 10000; ++i)
    inside += points[3 * i] < 0.0625 && points[3 * i + 1] < 0.0625 && points[3 * i + 2] < 0.0625 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(inside), 5000, 300);
  partitioners::make_orb_points<double, 3>(OrbInputKind::plummer, 1, 0, points);
  inside = 0;
  for (std::size_t i = 0; i < 10000; ++i) {
    double square = 0;
    for (std::size_t a = 0; a < 3; ++a) square += (points[3 * i + a] - 0.5) * (points[3 * i + a] - 0.5);
    inside += square < 1.0 / 4096 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(inside), 10000 * std::pow(2.0, -1.5), 300);  // Plummer: mass inside the scale radius
}

TEST_F(OrbInput, Files) {
  const std::string csv = write("p.csv", "x,y,z\n1,2,3\n-4.5, 5e-1 ,6\r\n\n");
  const auto points = load_orb_points<float, 3>(parse_orb_input("file:" + csv));
  EXPECT_EQ(std::vector<float>(points.begin(), points.end()), (std::vector<float>{1, 2, 3, -4.5F, 0.5F, 6}));
  const double raw[4] = {0.5, 1.5, -2, 8};
  const std::string binary = write("p.f64", std::string(reinterpret_cast<const char*>(raw), sizeof(raw)));
  const auto flat = load_orb_points<double, 2>(parse_orb_input("file:" + binary));
  EXPECT_EQ(std::vector<double>(flat.begin(), flat.end()), (std::vector<double>{0.5, 1.5, -2, 8}));
  const auto read = [](const std::string& path) {
    return refusal([&] { (void)load_orb_points<double, 3>(parse_orb_input("file:" + path)); });
  };
  EXPECT_NE(read(binary).find("4 numbers"), std::string::npos);
  EXPECT_NE(read(write("bad.csv", "1,2,3\n4,5\n")).find("line 2"), std::string::npos);
  EXPECT_NE(read(write("bad2.csv", "1,2,3\n4,5,6,7\n")).find("line 2"), std::string::npos);
  EXPECT_NE(read(write("odd.f64", "12345")).find("5 bytes"), std::string::npos);
  EXPECT_NE(read(write("empty.csv", "")), "");
  EXPECT_NE(read((folder_ / "none").string()).find("no such file"), std::string::npos);
}

TEST_F(OrbInput, Weights) {
  EXPECT_TRUE(load_orb_weights("", 0, 10, 10).empty());
  const auto all = load_orb_weights("random:4", 0, 100, 100);
  const auto part = load_orb_weights("random:4", 40, 20, 100);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 40));
  EXPECT_TRUE(std::all_of(all.begin(), all.end(), [](double w) { return w > 0 && w <= 1; }));
  EXPECT_NE(refusal([] { (void)load_orb_weights("ones", 0, 1, 1); }), "");
  EXPECT_NE(refusal([] { (void)load_orb_weights("random:x", 0, 1, 1); }), "");
  const double raw[3] = {1, 2, 3};
  const std::string file = write("w.f64", std::string(reinterpret_cast<const char*>(raw), sizeof(raw)));
  EXPECT_EQ(load_orb_weights("file:" + file, 1, 2, 3), (std::vector<double>{2, 3}));
  EXPECT_NE(refusal([&] { (void)load_orb_weights("file:" + file, 0, 4, 4); }).find("3 weights for 4"),
            std::string::npos);
}

}  // namespace
}  // namespace amrbench::apps
