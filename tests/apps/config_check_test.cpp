#include "apps/config_check.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/apps/input_error.hpp"

namespace amrbench::apps {
namespace {

template <class Change>
std::string refusal(Change&& change) {
  Config config;
  change(config);
  return input_error([&] { check_config(config); });
}

template <class Change>
std::vector<std::string> notes(Change&& change) {
  Config config;
  config.objects.emplace_back();
  change(config);
  return check_config(config);
}

TEST(CheckConfig, TheDefaultsPass) {
  Config config;
  config.objects.emplace_back();
  EXPECT_TRUE(check_config(config).empty());
}

TEST(CheckConfig, WorkloadsHaveTheirDimensions) {
  EXPECT_CONTAINS(refusal([](auto& c) { c.mesh.dim = 2; }),
                  "mesh.dim = 2: run.workload = \"averages\" needs mesh.dim = 3");
  EXPECT_CONTAINS(refusal([](auto& c) { c.run.workload = "shallow_water"; }), "needs mesh.dim = 2");
  EXPECT_CONTAINS(refusal([](auto& c) { c.run.workload = "tides"; }), "run.workload tides: unknown");
}

TEST(CheckConfig, TwoDimensionsHaveNoThirdNumbers) {
  Config config;
  config.mesh.dim = 2;
  config.run.workload = "shallow_water";
  complete_config(config);
  EXPECT_TRUE(check_config(config).empty());
  EXPECT_EQ(config.mesh.block[2], 1);
  EXPECT_EQ(config.run.stages_per_step, 2);
  EXPECT_EQ(config.fields.variables, 5);
  EXPECT_GT(config.run.time, 0.0);
  config.output.trace = "t";
  EXPECT_TRUE(check_config(config).empty());
  EXPECT_CONTAINS(refusal([](auto& c) {
                    c.mesh.dim = 2;
                    c.run.workload = "shallow_water";
                    complete_config(c);
                    c.mesh.periodic = {true, true, true};
                  }),
                  "the third of mesh.periodic is false");
}

TEST(CheckConfig, BlocksAreEven) {
  const std::string message = refusal([](auto& c) { c.mesh.block = {8, 7, 8}; });
  EXPECT_CONTAINS(message, "mesh.block = [8, 7, 8]: must be even");
}

TEST(CheckConfig, PositionsFitTwentyBits) {
  for (const auto& [root, level] : {std::pair{1, 20}, {2, 19}, {3, 18}, {4, 18}, {5, 17}, {1024, 10}}) {
    SCOPED_TRACE(root);
    Config config;
    config.mesh.root = {1, root, 1};
    config.mesh.max_level = level;
    EXPECT_NO_THROW(check_config(config));
    config.mesh.max_level = level + 1;
    if (level == 20) continue;  // the schema stops there
    const std::string message = input_error([&] { check_config(config); });
    EXPECT_CONTAINS(message, "mesh.max_level = " + std::to_string(level + 1));
    EXPECT_CONTAINS(message, "take a max_level of " + std::to_string(level));
  }
}

TEST(CheckConfig, RootBlocksAreCountable) {
  const auto message = refusal([](auto& c) {
    c.mesh.root = {1 << 12, 1 << 12, 1 << 12};
    c.mesh.max_level = 0;
  });
  EXPECT_CONTAINS(message, "68719476736 root blocks; at most 2147483648");
}

TEST(CheckConfig, MixedNeedsEightVariables) {
  const auto seven = [](auto& c) {
    c.run.stencil = "mixed";
    c.fields.variables = 7;
  };
  EXPECT_CONTAINS(refusal(seven), "fields.variables = 7: run.stencil = \"mixed\" needs 8 variables or more");
  Config config;
  config.run.stencil = "mixed";
  config.fields.variables = 8;
  EXPECT_NO_THROW(check_config(config));
}

TEST(CheckConfig, CudaOnlyWhereItIsBuilt) {
#if defined(AMRBENCH_CUDA)
  Config config;
  config.device.backend = "cuda";
  EXPECT_NO_THROW(check_config(config)) << "whether there is a GPU is asked when a run begins";
#else
  EXPECT_CONTAINS(refusal([](auto& c) { c.device.backend = "cuda"; }),
                  "device.backend = \"cuda\": this build has no such back end; set device.backend = \"cpu\"");
#endif
}

TEST(CheckConfig, RunNamesAreFileNames) {
  const std::string names[] = {"", "a/b", "..", ".x", "-x", "a b", "ä", std::string(129, 'x'), std::string("a\0b", 3)};
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    EXPECT_CONTAINS(refusal([&](auto& c) { c.run.name = name; }), "run.name: must be 1 to 128 letters");
  }
}

TEST(CheckConfig, FoldersAreText) {
  const std::string bad[] = {"a\nb", "\xff", "\xc0\xaf", "\xed\xa0\x80", "a\xe2\x82", "\xf4\x90\x80\x80", "\x7f"};
  for (const std::string& dir : bad) {
    SCOPED_TRACE(dir);
    EXPECT_CONTAINS(refusal([&](auto& c) { c.output.dir = dir; }), "output.dir (--out): must be a path in UTF-8");
  }
  for (const char* dir : {"a b", "ü/€/𝄞", "C:\\x\"y"}) {
    Config config;
    config.output.dir = dir;
    EXPECT_NO_THROW(check_config(config)) << dir;
  }
}

TEST(CheckConfig, RunsEnd) {
  EXPECT_CONTAINS(refusal([](auto& c) {
                    c.run.steps = std::numeric_limits<std::int64_t>::max();
                    c.run.stages_per_step = 2;
                  }),
                  "more than 2^62 stages");
  // A time step is so short beside this time that adding it changes nothing.
  EXPECT_CONTAINS(refusal([](auto& c) {
                    c.run.steps = 0;
                    c.run.time = 1e18;
                    c.objects.emplace_back().velocity = {0, 1, 0};
                  }),
                  "run.time = 1e+18: more than 2^52 steps");
  EXPECT_CONTAINS(refusal([](auto& c) {
                    c.run.steps = 0;
                    c.run.time = 1;
                    c.objects.emplace_back().growth = {0, 0, -1e308};
                  }),
                  "set run.steps too");
  notes([](auto& c) {
    c.run.steps = 0;
    c.run.time = 1e6;
  });
}

TEST(CheckConfig, NotesWhatMaySurprise) {
  const auto has = [](const std::vector<std::string>& all, const std::string& part) {
    return all.size() == 1 && all[0].find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(notes([](auto& c) { c.run.stencil = "average27"; }), "conserves totals on uniform meshes only"));
  EXPECT_TRUE(has(notes([](auto& c) { c.objects.clear(); }), "no [[object]]"));
  EXPECT_TRUE(has(notes([](auto& c) { c.mesh.uniform = true; }), "the objects have no effect"));
  EXPECT_TRUE(has(notes([](auto& c) { c.run.steps = 0; }), "no step is run"));
}

}  // namespace
}  // namespace amrbench::apps
