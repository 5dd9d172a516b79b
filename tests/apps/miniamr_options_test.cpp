#include "apps/miniamr_options.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "apps/config_check.hpp"
#include "tests/apps/input_error.hpp"

namespace amrbench::apps {
namespace {

Config config_of(const std::string& line) {
  return parse_miniamr(line).config;
}

bool has_note(const MiniamrInput& input, const std::string& part) {
  return std::any_of(input.notes.begin(), input.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

TEST(SplitWords, AsAShell) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(split_words(""), Words{});
  EXPECT_EQ(split_words("  a \t b\n c "), (Words{"a", "b", "c"}));
  EXPECT_EQ(split_words("'a b' \"c d\" e'f 'g"), (Words{"a b", "c d", "ef g"}));
  EXPECT_EQ(split_words("'' \"\""), (Words{"", ""}));
  EXPECT_EQ(split_words(R"(a\ b "c\"d" 'e\f')"), (Words{"a b", "c\"d", "e\\f"}));
  EXPECT_EQ(split_words("a \\\n b"), (Words{"a", "\n", "b"}));
  EXPECT_CONTAINS(input_error([] { split_words("a 'b"); }), "--miniamr: a ' is never closed");
}

TEST(ParseMiniamr, TheDefaultsAreMiniamrs) {
  const MiniamrInput input = parse_miniamr("");
  const Config& c = input.config;
  EXPECT_EQ(c.mesh.dim, 3);
  EXPECT_EQ(c.mesh.root, (std::array<int, 3>{1, 1, 1}));
  EXPECT_EQ(c.mesh.block, (std::array<int, 3>{10, 10, 10}));
  EXPECT_EQ(c.mesh.max_level, 5);
  EXPECT_EQ(c.mesh.block_change, 0);
  EXPECT_FALSE(c.mesh.uniform);
  EXPECT_FALSE(c.mesh.refine_ghost);
  EXPECT_EQ(c.fields.variables, 40);
  EXPECT_EQ(c.fields.initial, "random");
  EXPECT_EQ(c.run.name, "miniamr");
  EXPECT_EQ(c.run.steps, 20);
  EXPECT_EQ(c.run.time, 0.0);
  EXPECT_EQ(c.run.stages_per_step, 20);
  EXPECT_EQ(c.run.refine_every, 5);
  EXPECT_EQ(c.run.checksum_every, 5);
  EXPECT_EQ(c.run.tolerance, 1e-8);
  EXPECT_EQ(c.run.stencil, "average7");
  EXPECT_EQ(c.partition.method, "morton");
  EXPECT_EQ(c.balance.policy, "every");
  EXPECT_EQ(c.output.plotfile, 0);
  EXPECT_TRUE(c.objects.empty());
  EXPECT_TRUE(has_note(input, "miniAMR's default, --rcb"));
  EXPECT_NO_THROW(check_config(c));
}

TEST(ParseMiniamr, MeshOptions) {
  const Config c = config_of(
      "--nx 4 --ny 6 --nz 8 --init_x 2 --init_y 3 --init_z 4 --npx 5 --npy 1 --npz 2 --num_refine 3 --block_change 2 "
      "--uniform_refine 1 --refine_ghost --num_vars 9");
  EXPECT_EQ(c.mesh.block, (std::array<int, 3>{4, 6, 8}));
  EXPECT_EQ(c.mesh.root, (std::array<int, 3>{10, 3, 8}));
  EXPECT_EQ(c.mesh.max_level, 3);
  EXPECT_EQ(c.mesh.block_change, 2);
  EXPECT_TRUE(c.mesh.uniform);
  EXPECT_TRUE(c.mesh.refine_ghost);
  EXPECT_EQ(c.fields.variables, 9);
  EXPECT_TRUE(config_of("--refine_ghosts").mesh.refine_ghost);  // as miniAMR's README spells it
  EXPECT_FALSE(config_of("--uniform_refine 0").mesh.uniform);
  EXPECT_EQ(config_of("--num_refine 2 --block_change 7").mesh.block_change, 2);
  EXPECT_EQ(config_of("--num_refine 2 --block_change 0").mesh.block_change, 0);
  EXPECT_EQ(config_of("--num_refine 0").mesh.max_level, 0);
  EXPECT_EQ(config_of("--nx 4 --nx 8").mesh.block[0], 8);  // the last one counts
}

TEST(ParseMiniamr, TheRankGridOnlyMultipliesTheRoots) {
  EXPECT_TRUE(has_note(parse_miniamr("--npx 2"), "the number of ranks is free"));
  EXPECT_FALSE(has_note(parse_miniamr("--npx 1 --npy 1 --npz 1"), "the number of ranks is free"));
}

TEST(ParseMiniamr, RunOptions) {
  const Config c =
      config_of("--num_tsteps 7 --stages_per_ts 12 --refine_freq 0 --checksum_freq 4 --error_tol 5 --plot_freq 3");
  EXPECT_EQ(c.run.steps, 7);
  EXPECT_EQ(c.run.stages_per_step, 12);
  EXPECT_EQ(c.run.refine_every, 0);
  EXPECT_EQ(c.run.checksum_every, 4);
  EXPECT_EQ(c.run.tolerance, 1e-5);
  EXPECT_EQ(c.output.plotfile, 3);
  EXPECT_EQ(config_of("--error_tol 0").run.tolerance, 1.0);
  EXPECT_EQ(config_of("--error_tol 300").run.tolerance, 1e-300);
}

TEST(ParseMiniamr, TimeWithAndWithoutSteps) {
  EXPECT_EQ(config_of("--time 2.5").run.time, 2.5);
  EXPECT_EQ(config_of("--time 2.5").run.steps, 0);
  EXPECT_EQ(config_of("--time 2.5 --num_tsteps 10").run.steps, 10);
  EXPECT_EQ(config_of("--num_tsteps 10 --time 1e-3").run.time, 1e-3);
}

TEST(ParseMiniamr, ChecksumsAreCountedInEachStep) {
  EXPECT_EQ(config_of("--checksum_freq 0").run.checksum_every, 0);
  EXPECT_EQ(config_of("--checksum_freq 1").run.checksum_every, 1);
  EXPECT_EQ(config_of("--checksum_freq 20").run.checksum_every, 20);
  EXPECT_EQ(config_of("--checksum_freq 21").run.checksum_every, 20);
  EXPECT_EQ(config_of("--checksum_freq 5 --stages_per_ts 3").run.checksum_every, 3);
  EXPECT_TRUE(has_note(parse_miniamr("--checksum_freq 3"), "does not divide --stages_per_ts 20"));
  EXPECT_FALSE(has_note(parse_miniamr("--checksum_freq 30"), "does not divide"));
}

TEST(ParseMiniamr, Stencils) {
  EXPECT_EQ(config_of("--stencil 7").run.stencil, "average7");
  EXPECT_EQ(config_of("--stencil 27").run.stencil, "average27");
  EXPECT_EQ(config_of("--stencil 0 --num_vars 8").run.stencil, "mixed");
}

TEST(ParseMiniamr, PartitionAndBalance) {
  EXPECT_EQ(config_of("--morton").partition.method, "morton");
  EXPECT_EQ(config_of("--hilbert").partition.method, "hilbert");
  EXPECT_EQ(config_of("--trunc_hilbert").partition.method, "hilbert");
  EXPECT_EQ(config_of("--rcb").partition.method, "orb");
  EXPECT_EQ(config_of("--hilbert --morton").partition.method, "morton");
  EXPECT_TRUE(has_note(parse_miniamr(""), "--rcb"));
  EXPECT_FALSE(has_note(parse_miniamr("--rcb"), "--rcb"));
  EXPECT_FALSE(has_note(parse_miniamr("--morton"), "--rcb"));
  EXPECT_TRUE(has_note(parse_miniamr("--trunc_hilbert"), "--trunc_hilbert: the Hilbert curve"));

  EXPECT_EQ(config_of("--lb_opt 0").balance.policy, "never");
  EXPECT_EQ(config_of("--lb_opt 0 --inbalance 30").balance.policy, "never");
  EXPECT_EQ(config_of("--lb_opt 1").balance.policy, "every");
  EXPECT_EQ(config_of("--lb_opt 2").balance.policy, "every");
  EXPECT_EQ(config_of("--inbalance 30").balance.policy, "threshold");
  EXPECT_EQ(config_of("--inbalance 30 --lb_opt 2").balance.threshold, 0.3);
  EXPECT_TRUE(has_note(parse_miniamr("--lb_opt 2"), "--lb_opt 2"));
}

TEST(ParseMiniamr, Objects) {
  const Config c = config_of(
      "--num_objects 3 --object 2 0 -1.71 -1.7 -1.6 0.04 .05 6e-2 1.7 1.8 1.9 0 +0.5 -1 --num_tsteps 3 "
      "--object 25 1 1 2 3 4 5 6 7 8 9 10 11 12 --object 15 2 0 0 0 0 0 0 0 0 0 0 0 0");
  ASSERT_EQ(c.objects.size(), 3u);
  EXPECT_EQ(c.run.steps, 3);
  EXPECT_EQ(c.objects[0].shape, "spheroid");
  EXPECT_FALSE(c.objects[0].volume);
  EXPECT_EQ(c.objects[0].bounce, "none");
  EXPECT_EQ(c.objects[0].center, (std::array<double, 3>{-1.71, -1.7, -1.6}));
  EXPECT_EQ(c.objects[0].velocity, (std::array<double, 3>{0.04, 0.05, 0.06}));
  EXPECT_EQ(c.objects[0].size, (std::array<double, 3>{1.7, 1.8, 1.9}));
  EXPECT_EQ(c.objects[0].growth, (std::array<double, 3>{0, 0.5, -1}));
  EXPECT_EQ(c.objects[1].shape, "cylinder_z");
  EXPECT_TRUE(c.objects[1].volume);
  EXPECT_EQ(c.objects[1].bounce, "center");
  EXPECT_EQ(c.objects[1].center, (std::array<double, 3>{1, 2, 3}));
  EXPECT_EQ(c.objects[1].velocity, (std::array<double, 3>{4, 5, 6}));
  EXPECT_EQ(c.objects[1].size, (std::array<double, 3>{7, 8, 9}));
  EXPECT_EQ(c.objects[1].growth, (std::array<double, 3>{10, 11, 12}));
  EXPECT_EQ(c.objects[2].shape, "hemispheroid_zminus");
  EXPECT_EQ(c.objects[2].bounce, "none");  // miniAMR's 2 moves as 0 does
}

TEST(ParseMiniamr, AllObjectTypes) {
  for (int type = 0; type <= 30; ++type) {
    SCOPED_TRACE(type);
    const std::string line = fmt::format("--num_objects 1 --object {} 0 0 0 0 0 0 0 1 1 1 0 0 0", type);
    if (type <= 15 || (type >= 20 && type <= 25))
      EXPECT_EQ(config_of(line).objects.at(0).volume, type % 2 == 1);
    else
      EXPECT_CONTAINS(input_error([&] { parse_miniamr(line); }), "--object (number 1) type must be");
  }
}

TEST(ParseMiniamr, OptionsOfItsInsideAreNotedOnce) {
  const char* silent[] = {"--max_blocks 500", "--comm_vars 2",    "--permute",         "--blocking_send",
                          "--code 2",         "--send_faces",     "--reorder 1",       "--change_dir",
                          "--break_ties",     "--report_perf 15", "--report_diffusion"};
  const std::size_t before = parse_miniamr("--morton").notes.size();
  for (const char* option : silent) {
    SCOPED_TRACE(option);
    const MiniamrInput input = parse_miniamr(fmt::format("--morton {0} {0}", option));
    const std::string name = split_words(option)[0];
    EXPECT_EQ(input.notes.size(), before + 1);
    EXPECT_TRUE(has_note(input, name + " has no effect here: "));
  }
}

TEST(ParseMiniamr, WhatAMoveMayDoIsKept) {
  EXPECT_EQ(config_of("--morton").balance.limit_move, 0.0);
  EXPECT_EQ(config_of("--morton --limit_move 35").balance.limit_move, 35.0);
  EXPECT_FALSE(config_of("--hilbert").partition.group_blocks);
  EXPECT_TRUE(config_of("--hilbert --group_blocks").partition.group_blocks);
  const MiniamrInput rcb = parse_miniamr("--rcb --group_blocks");
  EXPECT_FALSE(rcb.config.partition.group_blocks);
  EXPECT_TRUE(has_note(rcb, "--group_blocks has no effect here: "));
}

struct Refusal {
  const char* line;
  std::vector<const char*> parts;
};

TEST(ParseMiniamr, RefusesWithTheOptionAndWhatIsRight) {
  const Refusal refusals[] = {
      {"--nx", {"--nx lacks its value", "an integer from 2 to 32"}},
      {"--nx --ny 4", {"--nx lacks its value"}},
      {"--nx four", {"--nx must be an integer from 2 to 32; got four"}},
      {"--nx 4x", {"--nx must be", "got 4x"}},
      {"--nx 4.0", {"--nx must be", "got 4.0"}},
      {"--nx ''", {"--nx must be an integer"}},
      {"--nx 7", {"--nx must be even, from 2 to 32; got 7"}},
      {"--ny 0", {"--ny must be an integer from 2 to 32; got 0"}},
      {"--nz 34", {"--nz must be an integer from 2 to 32; got 34"}},
      {"--nx 99999999999999999999", {"--nx must be", "got 99999999999999999999"}},
      {"--init_x 0", {"--init_x must be an integer from 1 to 1048576; got 0"}},
      {"--npz -1", {"--npz must be", "got -1"}},
      {"--npx 1048576 --init_x 4096", {"--npx times --init_x is 4294967296 blocks; at most 1048576 fit"}},
      {"--num_refine -1", {"--num_refine must be an integer from 0 to 20; got -1"}},
      {"--block_change -1", {"--block_change must be an integer >= 0; got -1"}},
      {"--num_vars 0", {"--num_vars must be"}},
      {"--num_tsteps 0", {"--num_tsteps must be an integer >= 1; got 0"}},
      {"--stages_per_ts 0", {"--stages_per_ts must be an integer >= 1; got 0"}},
      {"--refine_freq -5", {"--refine_freq must be an integer >= 0; got -5"}},
      {"--checksum_freq -1", {"--checksum_freq must be an integer >= 0"}},
      {"--lb_opt 3", {"--lb_opt must be an integer from 0 to 2; got 3"}},
      {"--inbalance -1", {"--inbalance must be an integer >= 0"}},
      {"--stencil 9", {"--stencil must be 0, 7 or 27; got 9"}},
      {"--stencil 0 --num_vars 7", {"--stencil 0 needs --num_vars 8 or more; got 7"}},
      {"--error_tol -1", {"--error_tol must be an integer from 0 to 300"}},
      {"--code 3", {"--code must be an integer from 0 to 2; got 3"}},
      {"--max_blocks", {"--max_blocks lacks its value"}},
      {"--max_blocks many", {"--max_blocks must be an integer >= 0; got many"}},
      {"--limit_move 101", {"--limit_move must be an integer from 0 to 100; got 101"}},
      {"--time", {"--time lacks its value; it must be a number > 0"}},
      {"--time 0", {"--time must be a number > 0; got 0"}},
      {"--time -1", {"--time must be a number > 0; got -1"}},
      {"--time nan", {"--time must be a number > 0; got nan"}},
      {"--num_refin 4", {"--num_refin is no option of miniAMR; did you mean --num_refine?"}},
      {"--qqqqqqqqqq", {"--qqqqqqqqqq is no option of miniAMR; docs/miniamr.md lists them all"}},
      {"4", {"4 is no option of miniAMR"}},
      {"--nx 4 5", {"5 is no option of miniAMR"}},
      {"--num_objects 1", {"--num_objects 1 but 0 --object; the two must agree"}},
      {"--object 2 0 0 0 0 0 0 0 0 0 0 0 0 0", {"--num_objects 0 but 1 --object; the two must agree"}},
      {"--num_objects -1", {"--num_objects must be an integer >= 0; got -1"}},
      {"--num_objects 1 --object 2 0 0 0 0 0 0 0 0 0 0 0 0",
       {"--object (number 1) must have 14 numbers", "center, movement, size, growth; got 13"}},
      {"--num_objects 1 --object 2 0 0 0 0 0 0 0 0 0 0 0 0 --nx 4", {"must have 14 numbers", "got 13"}},
      {"--num_objects 1 --object 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0", {"must have 14 numbers", "got 15"}},
      {"--num_objects 1 --object", {"must have 14 numbers", "got 0"}},
      {"--num_objects 1 --object 16 0 0 0 0 0 0 0 0 0 0 0 0 0", {"type must be 0 to 15 or 20 to 25; got 16"}},
      {"--num_objects 1 --object 2.5 0 0 0 0 0 0 0 0 0 0 0 0 0", {"type must be an integer", "got 2.5"}},
      {"--num_objects 1 --object 2 3 0 0 0 0 0 0 0 0 0 0 0 0", {"bounce must be an integer from 0 to 2; got 3"}},
      {"--num_objects 1 --object 2 0 x 0 0 0 0 0 0 0 0 0 0 0", {"must be 14 finite numbers; got x"}},
      {"--num_objects 1 --object 2 0 inf 0 0 0 0 0 0 0 0 0 0 0", {"must be 14 finite numbers; got inf"}},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.line);
    const std::string message = input_error([&] { parse_miniamr(refusal.line); });
    EXPECT_TRUE(message.starts_with("--miniamr: ")) << message;
    for (const char* part : refusal.parts) EXPECT_CONTAINS(message, part);
  }
}

}  // namespace
}  // namespace amrbench::apps
