// Inputs over ranks: together, the stretches of all ranks are what one process gets; errors are the same everywhere.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "partitioners/even_shares.hpp"
#include "partitioners/inputs/point_input.hpp"
#include "partitioners/quality_ranks.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {
namespace {

using support::Communicator;

class PointSlices : public testing::Test {
 protected:
  PointSlices() {
    const auto number = support::broadcast(world_, static_cast<std::int64_t>(getpid()));
    folder_ = std::filesystem::temp_directory_path() / fmt::format("amrbench-slices-{}", number);
    if (world_.is_root()) std::filesystem::create_directories(folder_);
    support::barrier(world_);
  }
  ~PointSlices() override {
    support::barrier(world_);
    std::error_code ignored;
    if (world_.is_root()) std::filesystem::remove_all(folder_, ignored);
  }
  std::string write(const std::string& name, const std::string& content) const {
    support::barrier(world_);
    const auto path = folder_ / name;
    if (world_.is_root()) std::ofstream(path, std::ios::binary) << content;
    support::barrier(world_);
    return path.string();
  }
  template <class T>
  std::vector<T> everybodys(std::span<const T> mine) const {
    return support::all_gather_v<T>(world_, mine);
  }
  /// The slices of all ranks against the whole.
  void compare(const std::string& text) const {
    const PointInput whole = load_input(text);
    const InputSpec spec = parse_input(text);
    const PointInput mine = load_slice<double>(world_, spec);
    EXPECT_EQ(mine.size, whole.size) << text;
    EXPECT_EQ(mine.dim, whole.dim) << text;
    EXPECT_EQ(mine.weighted, whole.weighted) << text;
    EXPECT_EQ(mine.first, support::exclusive_sum(world_, mine.here())) << text;
    EXPECT_EQ(everybodys<double>(mine.points.span()),
              everybodys<double>(world_.is_root() ? whole.points.span() : std::span<const double>{}))
        << text;
    EXPECT_EQ(everybodys<double>(mine.weights), whole.weights) << text;
    const auto single = load_slice<float>(world_, spec);
    for (std::size_t k = 0; k < single.points.size(); ++k)
      ASSERT_EQ(single.points[k], static_cast<float>(mine.points[k])) << text;
  }
  /// One line, the same on every rank and on one.
  std::string refusal(const std::function<void(const Communicator&)>& call) const {
    const auto message = [&](const Communicator& comm) -> std::string {
      try {
        call(comm);
      } catch (const support::InputError& error) {
        return error.what();
      }
      return "";
    };
    const std::string together = message(world_);
    EXPECT_EQ(together, support::broadcast_string(world_, together));
    EXPECT_EQ(together, message(Communicator()));
    return together;
  }

  Communicator world_ = Communicator::world();
  std::filesystem::path folder_;
};

TEST_F(PointSlices, GeneratedPoints) {
  for (const char* text : {"uniform:1001:2:3", "cluster:7:5:1", "plummer:100:2", "field:30:3", "corner:500:3:8",
                           "grid:7x3:9", "grid:3x4x5", "grid:1x2", "uniform:2:1:1", "uniform:0:2:1"})
    compare(text);
}

TEST_F(PointSlices, Lines) {
  for (const int rows : {1, 2, 3, 50, 3001}) {
    std::string text = "# a comment\n\nWeight;x;y\n";
    for (int k = 0; k < rows; ++k)
      text += fmt::format("{};{};{}{}", k % 7, k, -0.5 * k,
                          k % 3 == 0   ? "\r\n"
                          : k % 5 == 0 ? "\n# between\n\n"
                                       : "\n");
    compare("file:" + write("a.csv", text));
    text.pop_back();  // the last line has no end
    compare("file:" + write("a.csv", text));
  }
  // One line is longer than the stretches of all ranks but one; every place of a stretch's border is met.
  for (std::size_t blanks = 0; blanks < 40; ++blanks)
    compare("file:" + write("b.csv", "1,2\n" + std::string(blanks, '\n') + "3" + std::string(60, ' ') + ",4\n5,6\n"));
  compare("file:" + write("b.csv",
                          "\xef\xbb\xbf"
                          "1,2\n3,4\n"));
  std::string large;
  for (int k = 0; k < 300000; ++k) large += fmt::format("{},{},{}\n", k, k + 1, 0.1 * k);  // several read buffers
  compare("file:" + write("c.csv", large));
}

TEST_F(PointSlices, Numbers) {
  std::vector<double> values(6 * 1003);
  std::iota(values.begin(), values.end(), 0.25);
  const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  const std::string path = write("p.f64", bytes);
  for (const int dim : {1, 2, 3, 6}) compare(fmt::format("file:{}:{}", path, dim));
}

TEST_F(PointSlices, WeightsAndParts) {
  constexpr std::uint64_t kPoints = 1003;
  std::vector<double> weights(kPoints);
  std::string text = "weight\n", parts;
  for (std::size_t i = 0; i < kPoints; ++i) {
    weights[i] = static_cast<double>(i % 10) / 4;
    text += fmt::format("{}\n", weights[i]);
    parts += fmt::format("{}\n", i * i % 97);
  }
  const std::string bytes(reinterpret_cast<const char*>(weights.data()), weights.size() * sizeof(double));
  // Uneven stretches of points, as a text gives them.
  const std::uint64_t here = world_.is_root() ? kPoints - 2 * static_cast<std::uint64_t>(world_.size() - 1) : 2;
  const auto first = support::exclusive_sum(world_, here);
  for (const std::string& name : {write("w.txt", text), "file:" + write("w.csv", text), write("w.f64", bytes)})
    EXPECT_EQ(everybodys<double>(load_weights(world_, name, kPoints, first, here)), weights) << name;
  EXPECT_EQ(everybodys<double>(load_weights(world_, "random:3", kPoints, first, here)),
            load_weights(Communicator(), "random:3", kPoints, 0, kPoints));
  const auto mine = load_parts(world_, write("parts", parts), kPoints, here);
  EXPECT_EQ(mine.size(), here);
  const std::vector<std::int32_t> all = everybodys<std::int32_t>(mine);
  for (std::size_t i = 0; i < kPoints; ++i) ASSERT_EQ(all[i], static_cast<std::int32_t>(i * i % 97));
  const auto refused = [&](const std::string& name, std::uint64_t n) {
    return refusal([&](const Communicator& comm) {
      const bool alone = comm.size() == 1 && world_.size() > 1;
      load_weights(comm, name, n, alone ? 0 : first, alone ? n : here);
    });
  };
  EXPECT_NE(refused(write("w.txt", text), kPoints + 1).find("1003 weights for 1004 points"), std::string::npos);
  EXPECT_NE(refused(write("w.txt", text + "-1\n"), kPoints + 1).find("w.txt:1005: the weight -1"), std::string::npos);
  EXPECT_NE(refused("random:x", kPoints).find("must be random:SEED or a file"), std::string::npos);
}

TEST_F(PointSlices, ErrorsAreTheSameOnEveryRank) {
  const auto refused = [&](const std::string& text) {
    return refusal([&](const Communicator& comm) { load_slice<double>(comm, parse_input(text)); });
  };
  std::string rows = "# top\nx,y\n";
  for (int k = 0; k < 500; ++k) rows += fmt::format("{},{}\n", k, k);
  EXPECT_NE(
      refused("file:" + write("a.csv", rows + "1,nan\n1,2\n3\n")).find("a.csv:503: coordinate 1 of point 500 is nan"),
      std::string::npos);
  EXPECT_NE(refused("file:" + write("a.csv", rows + "7\n")).find("a.csv:503: 1 columns, but 2 before"),
            std::string::npos);
  EXPECT_NE(refused("file:" + write("a.csv", "x,y\n")).find("no points in it"), std::string::npos);
  EXPECT_NE(refused("file:" + write("a.csv", "")).find("no points in it"), std::string::npos);
  EXPECT_NE(refused("file:/no/such.csv").find("/no/such.csv: no such file"), std::string::npos);
  EXPECT_NE(refused("file:/no/such.graph").find("no such file"), std::string::npos);
  EXPECT_NE(refused("file:/no/such:3").find("no such file"), std::string::npos);
  std::vector<double> values(300, 1.0);
  values[290] = HUGE_VAL;
  const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  EXPECT_NE(refused(fmt::format("file:{}:3", write("p", bytes))).find("coordinate 2 of point 96 is inf"),
            std::string::npos);
  EXPECT_NE(refused(fmt::format("blocks:{}", write("b", "# root 2 2 max_level 1\nx,y\n1,1\n2,2\n3,2\n"))).find("b:5: "),
            std::string::npos);
}

TEST_F(PointSlices, AGraphIsOnRankZero) {
  const std::string path = write("g.graph", "3 2 10\n1 2\n2 1 3\n3 2\n");
  const PointInput mine = load_slice<double>(world_, parse_input("file:" + path));
  EXPECT_EQ(mine.size, 3U);
  EXPECT_EQ(mine.dim, 0);
  EXPECT_TRUE(mine.weighted);
  EXPECT_EQ(mine.graph.has_value(), world_.is_root());
  EXPECT_EQ(mine.here(), world_.is_root() ? 3U : 0U);
  EXPECT_EQ(everybodys<double>(mine.weights), (std::vector<double>{1, 2, 3}));
}

TEST_F(PointSlices, MeasuresAreThoseOfOneRank) {
  const InputSpec spec = parse_input("cluster:5003:3:4");
  const PointInput mine = load_slice<double>(world_, spec), whole = load_input(spec.text);
  const auto weights = load_weights(world_, "random:2", mine.size, mine.first, mine.here());
  const auto all_weights = load_weights(Communicator(), "random:2", mine.size, 0, mine.size);
  constexpr int kParts = 5000;  // more than a batch, some empty
  std::vector<std::int32_t> part(whole.size), previous(whole.size);
  std::vector<std::uint64_t> position(whole.size);
  for (std::size_t i = 0; i < part.size(); ++i) {
    part[i] = static_cast<std::int32_t>(i * i % 4999);
    previous[i] = static_cast<std::int32_t>(i % 3 == 0 ? part[i] : 0);
    position[i] = i * 2 % 5003;
  }
  const auto own = [&](const auto& all) { return std::span(all).subspan(mine.first, mine.here()); };
  for (const bool weighted : {false, true}) {
    const auto q = measure_loads(world_, own(part), kParts, weights, weighted);
    const auto one = measure_quality(
        part, kParts, weighted ? std::span<const double>(all_weights) : std::span<const double>{}, nullptr);
    EXPECT_EQ(q.load_max, one.load_max);
    EXPECT_EQ(q.load_mean, one.load_mean);
    EXPECT_EQ(q.load_min, one.load_min);
    EXPECT_EQ(q.empty_parts, one.empty_parts);
    EXPECT_GT(q.empty_parts, 0);
    EXPECT_EQ(
        moved_weight(world_, own(part), own(previous), weights, weighted),
        moved_weight(part, previous, weighted ? std::span<const double>(all_weights) : std::span<const double>{}));
  }
  double length = 0;
  std::int64_t jumps = 0;
  std::vector<std::size_t> order(part.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[position[i]] = i;
  for (std::size_t k = 0; k + 1 < order.size(); ++k) {
    double square = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      const double step = whole.points[3 * order[k + 1] + d] - whole.points[3 * order[k] + d];
      square += step * step;
    }
    length += std::sqrt(square);
    jumps += square > 1.0 ? 1 : 0;
  }
  const auto curve = measure_curve(world_, mine.problem().points, own(position));
  EXPECT_EQ(curve.length, length);
  EXPECT_EQ(curve.jumps, jumps);
  EXPECT_GT(jumps, 0);
}

}  // namespace
}  // namespace amrbench::partitioners
