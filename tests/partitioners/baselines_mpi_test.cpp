// The baselines that this build has, through the registry. Zoltan needs MPI; every rank works alone.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "partitioners/baseline_problem.hpp"
#include "partitioners/inputs/point_input.hpp"
#include "partitioners/partitioner.hpp"
#include "partitioners/quality.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {
namespace {

constexpr std::string_view kBaselines[] = {"linear",     "metis_kway", "metis_recursive", "scotch",
                                           "scotch_map", "zoltan_rcb", "zoltan_hsfc"};

bool built(std::string_view name) {
  for (const PartitionerEntry& entry : partitioner_registry())
    if (entry.name == name) return true;
  return false;
}

class Baseline : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    if (!built(GetParam())) GTEST_SKIP() << GetParam() << " is not in this build";
    partitioner_ = make_partitioner(GetParam());
  }
  PartitionResult partition(const PointInput& input, int parts) {
    return partitioner_->partition(input.problem(), {.parts = parts, .threads = 1});
  }
  std::unique_ptr<Partitioner> partitioner_;
};

TEST_P(Baseline, BalancesAndCutsAGrid) {
  for (const char* text : {"grid:48x64:9", "grid:20x16x12:7"}) {
    SCOPED_TRACE(text);
    const PointInput input = load_input(text);
    for (const int parts : {2, 7, 24}) {
      SCOPED_TRACE(parts);
      const PartitionResult result = partition(input, parts);
      const PartitionQuality q = measure_quality(result.part, parts, {}, &*input.graph);
      EXPECT_EQ(q.empty_parts, 0);
      // What is asked for is 3 % at most; a point more where parts are small.
      EXPECT_LE(q.load_max, 1.03 * q.load_mean + 2);
      // A wrong graph or mixed-up coordinates would scatter points: then nearly every edge is cut. Runs of rows are
      // long and thin.
      const double most = GetParam() == "linear" ? 0.5 : 0.25;
      EXPECT_LT(static_cast<double>(q.edge_cut_total), most * static_cast<double>(input.graph->edges()));
      EXPECT_EQ(partition(input, parts).part, result.part) << "a second call gave another result";
    }
  }
}

TEST_P(Baseline, TakesWeights) {
  PointInput input = load_input("grid:40x30:5");
  // The left half weighs 9 times the right half: in 10 parts, about 9 lie there.
  input.weights.resize(input.size);
  for (std::size_t i = 0; i < input.size; ++i) input.weights[i] = input.points[2 * i] < 20 ? 4.5 : 0.5;
  const PartitionResult result = partition(input, 10);
  const PartitionQuality q = measure_quality(result.part, 10, input.weights, &*input.graph);
  EXPECT_LE(q.load_max, 1.06 * q.load_mean + 4.5);
  std::set<std::int32_t> right;
  for (std::size_t i = 0; i < input.size; ++i)
    if (input.points[2 * i] > 20) right.insert(result.part[i]);
  // Runs of rows reach into both halves, so `linear` spreads.
  if (GetParam() != "linear") {
    EXPECT_LE(right.size(), 5U);
  }
}

TEST_P(Baseline, TrivialCounts) {
  const PointInput input = load_input("grid:4x3:5");
  EXPECT_EQ(partition(input, 1).part, std::vector<std::int32_t>(12, 0));
  for (const int parts : {12, 13, 1000}) {
    const PartitionResult result = partition(input, parts);
    const std::set<std::int32_t> used(result.part.begin(), result.part.end());
    EXPECT_EQ(used.size(), 12U) << parts;
    EXPECT_LT(*used.rbegin(), parts);
  }
  PointInput none;
  none.dim = 2;
  none.graph = Graph{};
  EXPECT_TRUE(partition(none, 3).part.empty());
}

TEST_P(Baseline, LegalOddities) {
  PointInput input = load_input("grid:8x8:5");
  input.weights.assign(64, 0.0);  // all weights zero
  EXPECT_EQ(partition(input, 4).part.size(), 64U);
  input.weights[5] = 1e12;  // one huge
  EXPECT_EQ(partition(input, 4).part.size(), 64U);
  input.weights.clear();
  std::fill(input.points.begin(), input.points.end(), 0.25);  // coincident
  EXPECT_EQ(partition(input, 4).part.size(), 64U);
  for (std::size_t i = 0; i < 64; ++i) input.points[2 * i] = static_cast<double>(i);  // on a line
  EXPECT_EQ(partition(input, 4).part.size(), 64U);
  input.graph->adjacent.clear();  // no edges
  input.graph->offsets.assign(65, 0);
  EXPECT_EQ(partition(input, 4).part.size(), 64U);
}

TEST_P(Baseline, RefusesBadInput) {
  PointInput input = load_input("grid:4x4:5");
  EXPECT_THROW(partition(input, 0), support::InputError);
  input.weights.assign(15, 1.0);
  EXPECT_THROW(partition(input, 2), support::InputError);
  input.weights.assign(16, 1.0);
  input.weights[3] = -1;
  EXPECT_THROW(partition(input, 2), support::InputError);
  input.weights[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(partition(input, 2), support::InputError);
  input.weights.clear();
  if (GetParam() == "linear") return;
  if (partitioner_->needs_graph()) {
    input.graph.reset();
    EXPECT_THROW(partition(input, 2), support::InputError);
  } else {
    input.points[7] = std::numeric_limits<double>::quiet_NaN();
    try {
      partition(input, 2);
      ADD_FAILURE() << "NaN was taken";
    } catch (const support::InputError& error) {
      EXPECT_NE(std::string(error.what()).find("point 3"), std::string::npos) << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Baseline, testing::ValuesIn(kBaselines),
                         [](const auto& method) { return std::string(method.param); });

TEST(Registry, EveryEntryIsMadeByItsName) {
  std::set<std::string_view> names;
  for (const PartitionerEntry& entry : partitioner_registry()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.description.empty()) << entry.name;
    EXPECT_NE(make_partitioner(entry.name), nullptr) << entry.name;
  }
  EXPECT_TRUE(names.contains("linear"));
}

TEST(Registry, RefusesUnknownAndAbsentNames) {
  try {
    make_partitioner("metis_kawy");
    ADD_FAILURE();
  } catch (const support::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("linear"), std::string::npos);
  }
  for (const std::string_view name : kBaselines) {
    if (built(name)) continue;
    try {
      make_partitioner(name);
      ADD_FAILURE() << name;
    } catch (const support::InputError& error) {
      EXPECT_NE(std::string(error.what()).find("not in this build"), std::string::npos);
    }
  }
}

TEST(IntegerWeights, KeepWholeOnesAndScaleOthers) {
  EXPECT_TRUE(integer_weights({}, 1000).empty());
  const std::vector<double> equal{0.3, 0.3, 0.3};
  EXPECT_TRUE(integer_weights(equal, 1000).empty());
  const std::vector<double> whole{3, 0, 7};
  EXPECT_EQ(integer_weights(whole, 1000), (std::vector<std::int64_t>{3, 0, 7}));
  const std::vector<double> broken{0.25, 0.75};
  EXPECT_EQ(integer_weights(broken, 1000), (std::vector<std::int64_t>{250, 750}));
  const std::vector<double> large{1e300, 3e300};
  EXPECT_EQ(integer_weights(large, 1000), (std::vector<std::int64_t>{250, 750}));
  const std::vector<double> tiny{1e-310, 3e-310};
  EXPECT_EQ(integer_weights(tiny, 1000), (std::vector<std::int64_t>{250, 750}));
}

}  // namespace
}  // namespace amrbench::partitioners
