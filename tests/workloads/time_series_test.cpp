// Inflows: read, refused by line, linear in between, integrals against sums of narrow stretches.
#include "workloads/shallow_water/input/time_series.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <stdexcept>
#include <thread>

#include "tests/temporary_folder.hpp"
#include "tests/workloads/input_refusal.hpp"

namespace amrbench::workloads::shallow_water {
namespace {

const std::string kInflowHeader = "time_s,discharge_m3_s\n";

std::string inflow_refusal(const std::string& text) {
  return tests::refusal_of([&] { return parse_time_series(text, "inflow.csv"); });
}

TEST(TimeSeriesText, IsRead) {
  const TimeSeries series =
      parse_time_series("# gauge\n\n" + kInflowHeader + "-10,1\r\n # peak\n 0 ,\t2.5 \n\n3.5e1,-4", "inflow.csv");
  EXPECT_EQ(series.times(), (std::vector<double>{-10, 0, 35}));
  EXPECT_EQ(series.values(), (std::vector<double>{1, 2.5, -4}));
}

TEST(TimeSeriesText, IsRefusedByLine) {
  EXPECT_EQ(inflow_refusal(""), "inflow.csv:1: no header; the first line must be 'time_s,discharge_m3_s'");
  EXPECT_EQ(inflow_refusal("# x\n"), "inflow.csv:1: no header; the first line must be 'time_s,discharge_m3_s'");
  EXPECT_EQ(inflow_refusal("t,q\n0,1\n"), "inflow.csv:1: the header is 't,q'; must be 'time_s,discharge_m3_s'");
  EXPECT_EQ(inflow_refusal("discharge_m3_s,time_s\n0,1\n"),
            "inflow.csv:1: the header is 'discharge_m3_s,time_s'; must be 'time_s,discharge_m3_s'");
  EXPECT_EQ(inflow_refusal("0,1\n"), "inflow.csv:1: the header is '0,1'; must be 'time_s,discharge_m3_s'");
  EXPECT_EQ(inflow_refusal("time_s,discharge_m3_s,name\n0,1,a\n"),
            "inflow.csv:1: 3 columns in 'time_s,discharge_m3_s,name'; must be 2, time_s,discharge_m3_s");
  EXPECT_EQ(inflow_refusal(kInflowHeader),
            "inflow.csv:1: no row after the header; one at least is needed, such as "
            "'0,12.5'");
  EXPECT_EQ(inflow_refusal(kInflowHeader + "0,1\n2\n"),
            "inflow.csv:3: 1 column in '2'; must be 2, time_s,discharge_m3_s");
  EXPECT_EQ(inflow_refusal(kInflowHeader + "0,1,\n"),
            "inflow.csv:2: 3 columns in '0,1,'; must be 2, time_s,discharge_m3_s");
  for (const char* bad : {"", "x", "nan", "inf", "1e101", "1e999", "+1", "1 2"}) {
    EXPECT_EQ(inflow_refusal(kInflowHeader + "#\n0," + bad + "\n"),
              fmt::format("inflow.csv:3: discharge_m3_s '{}' must be a number from -1e100 to 1e100", bad));
    EXPECT_EQ(inflow_refusal(kInflowHeader + bad + ",0\n"),
              fmt::format("inflow.csv:2: time_s '{}' must be a number from -1e100 to 1e100", bad));
  }
  for (const char* bad : {"5", "4.5"})
    EXPECT_EQ(inflow_refusal(kInflowHeader + "0,1\n5,2\n" + bad + ",3\n"),
              fmt::format("inflow.csv:4: time_s {} does not come after 5, the row's before; times must ascend", bad));
}

TEST(TimeSeriesFile, IsReadOrRefused) {
  const tests::TemporaryFolder folder;
  const std::string path = folder.path("inflow.csv");
  EXPECT_EQ(tests::refusal_of([&] { return read_time_series(path); }), path + ": no such file");
  std::ofstream(path) << "\xef\xbb\xbf" << kInflowHeader << "0,7\n";
  EXPECT_EQ(read_time_series(path).value(3), 7);
  std::ofstream(path) << "time\n";
  EXPECT_EQ(tests::refusal_of([&] { return read_time_series(path); }).find(path + ":1: "), 0U);
}

TEST(TimeSeriesValue, IsLinearBetweenAndConstantOutside) {
  const TimeSeries series({0, 10, 40}, {1, 5, -1});
  EXPECT_EQ(series.value(-1e300), 1);
  EXPECT_EQ(series.value(0), 1);
  EXPECT_EQ(series.value(2.5), 2);
  EXPECT_EQ(series.value(10), 5);
  EXPECT_EQ(series.value(25), 2);
  EXPECT_EQ(series.value(40), -1);
  EXPECT_EQ(series.value(HUGE_VAL), -1);
  EXPECT_EQ(series.value(-HUGE_VAL), 1);
  EXPECT_TRUE(std::isnan(series.value(NAN)));
}

TEST(TimeSeriesIntegral, IsThatOfTheLines) {
  const TimeSeries series({0, 10, 40}, {1, 5, -1});
  EXPECT_EQ(series.integral(0, 10), 30);
  EXPECT_EQ(series.integral(0, 40), 90);
  EXPECT_EQ(series.integral(-5, 0), 5);
  EXPECT_EQ(series.integral(40, 50), -10);
  EXPECT_EQ(series.integral(-5, 50), 85);
  EXPECT_EQ(series.integral(2.5, 5), 6.25);
  EXPECT_EQ(series.integral(40, 0), -90);
  EXPECT_EQ(series.integral(7, 7), 0);
  EXPECT_EQ(TimeSeries({3}, {2}).integral(0, 10), 20);
  EXPECT_THROW(static_cast<void>(series.integral(0, HUGE_VAL)), std::invalid_argument);
}

TEST(TimeSeriesIntegral, IsTheSumOfNarrowStretches) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> step(0.1, 10), value(0, 500);
  std::vector<double> times{value(random)}, values{value(random)};
  for (int i = 0; i < 50; ++i) {
    times.push_back(times.back() + step(random));
    values.push_back(value(random));
  }
  const TimeSeries series(times, values);
  for (int i = 0; i < 20; ++i) {
    const double t0 = times.front() - 20 + value(random) / 2, t1 = t0 + value(random) / 2;
    constexpr int kStretches = 100000;
    double sum = 0;
    for (int k = 0; k < kStretches; ++k) sum += series.value(t0 + (t1 - t0) * (k + 0.5) / kStretches);
    EXPECT_NEAR(series.integral(t0, t1), sum * (t1 - t0) / kStretches, 1e-2);
    const double between = t0 + (t1 - t0) / 3;
    EXPECT_NEAR(series.integral(t0, between) + series.integral(between, t1), series.integral(t0, t1), 1e-8);
  }
}

TEST(TimeSeriesThreads, Agree) {
  const TimeSeries series({0, 10, 40}, {1, 5, -1});
  std::vector<double> found(4);
  std::vector<std::thread> threads;
  for (double& sum : found)
    threads.emplace_back([&series, &sum] {
      for (int i = 0; i < 1000; ++i) sum += series.value(i / 20.0) + series.integral(0, i);
    });
  for (std::thread& thread : threads) thread.join();
  for (const double sum : found) EXPECT_EQ(sum, found[0]);
}

TEST(TimeSeriesParts, ThatFitNot) {
  EXPECT_THROW(TimeSeries({}, {}), std::invalid_argument);
  EXPECT_THROW(TimeSeries({1}, {1, 2}), std::invalid_argument);
  EXPECT_THROW(TimeSeries({1, 1}, {1, 2}), std::invalid_argument);
  EXPECT_THROW(TimeSeries({1, NAN}, {1, 2}), std::invalid_argument);
  EXPECT_THROW(TimeSeries({1, 2}, {1, HUGE_VAL}), std::invalid_argument);
}

}  // namespace
}  // namespace amrbench::workloads::shallow_water
