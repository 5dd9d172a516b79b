// The files in configs/ and the pages in docs/ say what the program says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "apps/config_check.hpp"
#include "apps/config_schema.hpp"
#include "apps/config_toml.hpp"
#include "apps/config_write.hpp"
#include "apps/miniamr_options.hpp"

namespace amrbench::apps {
namespace {

namespace fs = std::filesystem;

fs::path top() {
  return AMRBENCH_SOURCE_DIR;  // not from __FILE__, which compiler caches make relative
}

std::string read(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

Config shipped(const std::string& name) {
  return parse_toml(read(top() / "configs" / (name + ".toml")), name + ".toml");
}

/// The file gives what the miniAMR line gives, apart from the run's name.
void expect_same(const std::string& name, const std::string& line, const std::string& initial) {
  SCOPED_TRACE(name);
  Config expected = parse_miniamr(line).config;
  expected.fields.initial = initial;
  expected.run.name = name;
  EXPECT_EQ(write_toml(shipped(name)), write_toml(expected));
}

TEST(ShippedConfigs, AllAreValid) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(top() / "configs")) {
    if (entry.path().extension() != ".toml") continue;
    SCOPED_TRACE(entry.path().filename());
    EXPECT_NO_THROW({
      Config config = parse_toml(read(entry.path()), entry.path().string());
      complete_config(config);
      EXPECT_TRUE(check_config(config).empty());
    });
    ++count;
  }
  EXPECT_GE(count, 5);
}

TEST(ShippedConfigs, ReferenceCasesAreMiniamrs) {
  const std::string common =
      "--nx 4 --ny 4 --nz 4 --num_vars 1 --stages_per_ts 5 --npx 1 --npy 1 --npz 1 --init_x 2 --init_y 2 --init_z 2 "
      "--num_refine 4 --checksum_freq 0 --morton ";
  expect_same(
      "sphere",
      common + "--num_objects 1 --object 2 0 -1.71 -1.71 -1.71 0.04 0.04 0.04 1.7 1.7 1.7 0 0 0 --num_tsteps 50",
      "ones");
  expect_same("expand",
              common + "--num_objects 1 --object 2 0 -0.01 -0.01 -0.01 0 0 0 0 0 0 0.009 0.009 0.009 --num_tsteps 100",
              "ones");
  expect_same("two",
              common +
                  "--num_objects 2 --object 2 0 -1.10 -1.10 -1.10 0.030 0.030 0.030 1.5 1.5 1.5 0 0 0 --object 2 0 0.5 "
                  "0.5 1.76 0 0 -0.025 0.75 0.75 0.75 0 0 0 --num_tsteps 60",
              "ones");
  expect_same("miniamr-one-sphere",
              "--npx 2 --init_y 2 --init_z 2 --num_refine 4 --nx 8 --ny 8 --nz 8 --num_vars 40 --stages_per_ts 20 "
              "--num_objects 1 --object 2 0 -1.71 -1.71 -1.71 0.04 0.04 0.04 1.7 1.7 1.7 0 0 0 --num_tsteps 100 "
              "--checksum_freq 1 --morton",
              "random");
}

TEST(Documentation, ConfigPageHasEveryKeyDefaultAndName) {
  const std::string page = read(top() / "docs" / "config.md");
  const Config defaults;
  for (const Table& table : config_tables()) {
    EXPECT_NE(page.find(fmt::format("## [{}]", table.name)), std::string::npos) << table.name;
    for (const auto& key : table.keys) {
      std::string value = format_value(key.get(defaults));
      if (key.info.name == "tolerance") value = "1e-8";
      EXPECT_NE(page.find(fmt::format("| `{}` | ", key.info.name)), std::string::npos)
          << table.name << '.' << key.info.name;
      EXPECT_NE(page.find(fmt::format("| `{}` |", value)), std::string::npos) << key.info.name << " = " << value;
    }
  }
  for (const auto& key : object_keys())
    EXPECT_NE(page.find(fmt::format("| `{}` | ", key.info.name)), std::string::npos) << "object." << key.info.name;
  for (const auto group : {partition_methods(), splitters(), slice_rules(), balance_policies(), balance_weights(),
                           stencils(), initial_fields(), object_shapes(), bounce_modes(), backends(), transports()})
    for (const Choice& choice : group)
      EXPECT_NE(page.find(fmt::format("`{}`", choice.name)), std::string::npos) << choice.name;
}

TEST(Documentation, MiniamrPageHasEveryOption) {
  const std::string page = read(top() / "docs" / "miniamr.md");
  for (const char* option : {"--nx",           "--ny",
                             "--nz",           "--init_x",
                             "--init_y",       "--init_z",
                             "--npx",          "--npy",
                             "--npz",          "--num_refine",
                             "--block_change", "--uniform_refine",
                             "--refine_freq",  "--refine_ghost",
                             "--num_vars",     "--num_tsteps",
                             "--time",         "--stages_per_ts",
                             "--stencil",      "--checksum_freq",
                             "--error_tol",    "--plot_freq",
                             "--rcb",          "--morton",
                             "--hilbert",      "--trunc_hilbert",
                             "--lb_opt",       "--inbalance",
                             "--num_objects",  "--object",
                             "--max_blocks",   "--comm_vars",
                             "--permute",      "--blocking_send",
                             "--code",         "--send_faces",
                             "--reorder",      "--change_dir",
                             "--group_blocks", "--break_ties",
                             "--limit_move",   "--report_diffusion",
                             "--report_perf"})
    EXPECT_NE(page.find(fmt::format("`{}", option)), std::string::npos) << option;
}

}  // namespace
}  // namespace amrbench::apps
