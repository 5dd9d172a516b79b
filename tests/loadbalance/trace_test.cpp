// The file of a trace: what is written is read, and what is damaged is refused.
#include "loadbalance/replay/trace.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>
#include <tuple>

#include "support/error.hpp"
#include "temporary_folder.hpp"

namespace amrbench::loadbalance {
namespace {

TraceHeader some_header() {
  return {.root = {3, 2, 5},
          .max_level = 4,
          .block = {4, 6, 8},
          .variables = 7,
          .steps = 20,
          .name = "a \"name\"\nof two lines",
          .periodic = {true, false, true}};
}

std::vector<TraceRefinement> some_refinements(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<TraceRefinement> refinements(random() % 6);
  std::int64_t step = 0;
  for (TraceRefinement& r : refinements) {
    r.step = step += static_cast<std::int64_t>(random() % 5);
    r.stages = 20 * step;
    r.passes.resize(random() % 4);
    for (TracePass& pass : r.passes) {
      for (auto* costs : {&r.costs, &r.costs_after}) {
        costs->resize(random() % 4);
        for (auto& [blocks, cost] : *costs) {
          blocks = 1 + random() % 300;
          cost = static_cast<double>(random() % 100) * 0.03;
        }
      }
      for (auto* codes : {&pass.splits, &pass.merges}) {
        codes->resize(5);
        for (auto& level : *codes) {
          std::uint64_t code = random() % 3 == 0 ? random() >> 2 : 0;
          for (std::size_t k = random() % 40; k > 0; --k) level.push_back(code += 1 + random() % 300);
        }
      }
    }
  }
  return refinements;
}

void write(const std::string& file, const std::vector<TraceRefinement>& refinements) {
  TraceWriter writer(file, some_header());
  for (const TraceRefinement& r : refinements) writer.write(r);
  writer.finish(100, 2000);
}

std::string bytes_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// Reads to the end; the message of what it threw, or nothing.
std::string refusal_of(const std::string& file) {
  try {
    TraceReader reader(file);
    TraceRefinement r;
    while (reader.next(r)) {
    }
  } catch (const support::InputError& error) {
    return error.what();
  }
  return {};
}

TEST(Trace, WhatIsWrittenIsRead) {
  const tests::TemporaryFolder folder;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    const auto expected = some_refinements(seed);
    const std::string file = folder.path("t" + std::to_string(seed));
    write(file, expected);
    TraceReader reader(file);
    EXPECT_EQ(reader.header().root, some_header().root);
    EXPECT_EQ(reader.header().block, some_header().block);
    EXPECT_EQ(reader.header().max_level, 4);
    EXPECT_EQ(reader.header().variables, 7);
    EXPECT_EQ(reader.header().steps, 20);
    EXPECT_EQ(reader.header().name, some_header().name);
    EXPECT_EQ(reader.header().periodic, some_header().periodic);
    TraceRefinement got;
    for (const TraceRefinement& r : expected) {
      ASSERT_TRUE(reader.next(got));
      EXPECT_EQ(got.step, r.step);
      EXPECT_EQ(got.stages, r.stages);
      EXPECT_EQ(got.costs, r.costs);
      EXPECT_EQ(got.costs_after, r.costs_after);
      ASSERT_EQ(got.passes.size(), r.passes.size());
      for (std::size_t p = 0; p < r.passes.size(); ++p) {
        EXPECT_EQ(got.passes[p].splits, r.passes[p].splits);
        EXPECT_EQ(got.passes[p].merges, r.passes[p].merges);
      }
    }
    EXPECT_FALSE(reader.next(got));
    EXPECT_EQ(reader.steps(), 100);
    EXPECT_EQ(reader.stages(), 2000);
  }
}

TEST(Trace, HeadersOfTwoDimensionsAreRead) {
  const tests::TemporaryFolder folder;
  const std::string file = folder.path("t");
  TraceHeader header{{3, 2, 1}, 4, {4, 6, 1}, 7, 20, "flat", {}, 2, {4, 2}};
  { TraceWriter(file, header).finish(0, 0); }
  EXPECT_NE(bytes_of(file).find("\"root\":[3,2]"), std::string::npos);
  const TraceReader reader(file);
  EXPECT_EQ(reader.header().dim, 2);
  EXPECT_EQ(reader.header().root, header.root);
  EXPECT_EQ(reader.header().block, header.block);
  EXPECT_EQ(reader.header().halo.variables, 4);
  EXPECT_EQ(reader.header().halo.layers, 2);
}

TEST(Trace, CostsThatAreNoneAreNotWritten) {
  const tests::TemporaryFolder folder;
  for (const double cost : {-1.0, std::nan(""), 1e7}) {
    TraceWriter writer(folder.path("t"), some_header());
    EXPECT_THROW(writer.write({0, 0, {}, {{1, cost}}}), support::RunError) << cost;
  }
}

TEST(Trace, EveryDamagedByteAndEveryShorterFileIsRefused) {
  const tests::TemporaryFolder folder;
  std::vector<TraceRefinement> refinements;
  std::uint64_t seed = 0;
  while (refinements.size() < 2) refinements = some_refinements(++seed);
  const std::string whole = folder.path("whole"), broken = folder.path("broken");
  write(whole, refinements);
  ASSERT_EQ(refusal_of(whole), "");
  const std::string bytes = bytes_of(whole);
  const std::size_t body = bytes.find('\n', bytes.find('\n') + 1) + 1;  // the header's JSON is no checksum's
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    SCOPED_TRACE(at);
    std::ofstream(broken, std::ios::binary | std::ios::trunc) << bytes.substr(0, at);
    EXPECT_NE(refusal_of(broken), "");
    if (at < body) continue;
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    std::ofstream(broken, std::ios::binary | std::ios::trunc) << damaged;
    EXPECT_NE(refusal_of(broken), "");
  }
  std::ofstream(broken, std::ios::binary | std::ios::trunc) << bytes << "more";
  EXPECT_NE(refusal_of(broken), "");
}

TEST(Trace, RefusalsNameTheFileAndWhatIsWrong) {
  const tests::TemporaryFolder folder;
  const std::string file = folder.path("t");
  const auto says = [&](const std::string& text, const std::string& what) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
    const std::string refusal = refusal_of(file);
    EXPECT_NE(refusal.find(file), std::string::npos) << refusal;
    EXPECT_NE(refusal.find(what), std::string::npos) << refusal;
  };
  says("", "is no trace");
  says("PK\x03\x04", "is no trace");
  says("amrbench-trace 3\n{}\n", "version 3");
  says("amrbench-trace 1\n{}\n", "header is damaged");
  says("amrbench-trace 1\nnull\n", "header is damaged");
  const std::string head = "amrbench-trace 1\n{\"root\":[1,1,1],\"max_level\":";
  const std::string tail = ",\"block\":[8,8,8],\"variables\":1,\"steps\":0,\"name\":\"x\"}\n";
  says(head + "40" + tail, "max_level");
  says(head + "-1" + tail, "max_level");
  says(head + "2" + tail, "cut off after refinement 0");
  // What a cast would make a small number.
  for (const char* value : {"4294967296", "2.5", "true", "1e300", "18446744073709551615", "\"2\"", "[2]", "null"})
    says(head + value + tail, "no whole number");
  for (const char* dim : {"1", "4", "2.0", "\"2\""})
    says("amrbench-trace 2\n{\"dim\":" + std::string(dim) + ",\"root\"" + (head + "2" + tail).substr(head.find(":[1")),
         "header is wrong");
  says("amrbench-trace 2\n{\"dim\":2,\"root\"" + (head + "2" + tail).substr(head.find(":[1")), "2 integers");
  const std::string halo = ",\"halo\":{\"variables\":2,\"layers\":1}}\n";
  says(head + "2" + tail.substr(0, tail.size() - 2) + halo, "halo");
  for (const char* const periodic : {"true", "[true,false]", "[true,false,1]"})
    says(head + "2" + tail.substr(0, tail.size() - 2) + ",\"periodic\":" + periodic + "}\n",
         "periodic must be 3 times true or false");
  says("amrbench-trace 1\n{\"root\":[1,1]" + (head + "2" + tail).substr(head.find(",\"max")), "3 integers");
  // A frame that promises gigabytes.
  says(head + "2" + tail + "R\xff\xff\xff\x1f\xff\xff\xff\x7f" + "abcd", "cut off after refinement 0");
  EXPECT_NE(refusal_of(folder.path("none")).find("no such file"), std::string::npos);
}

TEST(Trace, TheEndIsNotBeforeTheLastRefinement) {
  const tests::TemporaryFolder folder;
  for (const auto& [steps, stages, good] :
       {std::tuple(5, 10, true), std::tuple(4, 10, false), std::tuple(5, 9, false)}) {
    const std::string file = folder.path("t");
    TraceWriter writer(file, some_header());
    writer.write({5, 10, {}});
    writer.finish(steps, stages);
    EXPECT_EQ(refusal_of(file).empty(), good) << steps << ' ' << stages;
  }
}

TEST(Trace, FoldersAndPipesAreNoFiles) {
  const tests::TemporaryFolder folder;
  EXPECT_NE(refusal_of(folder.path(".")).find("is a folder"), std::string::npos);
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_NE(refusal_of(folder.path("pipe")).find("is a pipe"), std::string::npos);
}

TEST(Trace, AFileGetsItsNameWhenItIsWhole) {
  const tests::TemporaryFolder folder;
  const std::string file = folder.path("t");
  { TraceWriter writer(file, some_header()); }
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_FALSE(std::filesystem::exists(file + ".part"));
  EXPECT_THROW(TraceWriter("/no/such/folder/t", some_header()), support::RunError);
  std::filesystem::create_symlink("elsewhere", file + ".part");
  EXPECT_THROW(TraceWriter(file, some_header()), support::RunError);
  EXPECT_TRUE(std::filesystem::is_symlink(file + ".part"));
}

}  // namespace
}  // namespace amrbench::loadbalance
