#include "apps/config_toml.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apps/toml_guard.hpp"
#include "tests/apps/input_error.hpp"

namespace amrbench::apps {
namespace {

TEST(ParseToml, ReadsEveryTable) {
  const Config c = parse_toml(R"(
[mesh]
dim = 3
root = [1, 2, 3]
block = [4, 6, 8]
max_level = 5
block_change = 2
uniform = true
refine_ghost = true
[fields]
variables = 7
initial = "ones"
seed = 9223372036854775807
[run]
name = "a.b-c_d"
steps = 11
time = 2
stages_per_step = 3
refine_every = 0
checksum_every = 0
tolerance = 1e-6
stencil = "average27"
overlap = false
hang_after = 12.5
[[object]]
shape = "cylinder_y"
volume = true
center = [0, 1.5, -2]
velocity = [1e-3, 0.0, 0]
size = [-1, 2, 3]
growth = [0.25, 0, 0]
bounce = "edge"
[[object]]
[partition]
method = "hilbert"
[balance]
policy = "threshold"
threshold = 0.25
[device]
backend = "cpu"
threads = 3
[output]
dir = "out/ü"
plotfile = 4
)",
                              "x.toml");
  EXPECT_EQ(c.mesh.root, (std::array<int, 3>{1, 2, 3}));
  EXPECT_EQ(c.mesh.block, (std::array<int, 3>{4, 6, 8}));
  EXPECT_EQ(c.mesh.max_level, 5);
  EXPECT_EQ(c.mesh.block_change, 2);
  EXPECT_TRUE(c.mesh.uniform);
  EXPECT_TRUE(c.mesh.refine_ghost);
  EXPECT_EQ(c.fields.variables, 7);
  EXPECT_EQ(c.fields.initial, "ones");
  EXPECT_EQ(c.fields.seed, 9223372036854775807u);
  EXPECT_EQ(c.run.name, "a.b-c_d");
  EXPECT_EQ(c.run.steps, 11);
  EXPECT_EQ(c.run.time, 2.0);
  EXPECT_EQ(c.run.stages_per_step, 3);
  EXPECT_EQ(c.run.refine_every, 0);
  EXPECT_EQ(c.run.checksum_every, 0);
  EXPECT_EQ(c.run.tolerance, 1e-6);
  EXPECT_EQ(c.run.hang_after, 12.5);
  EXPECT_EQ(c.run.stencil, "average27");
  EXPECT_FALSE(c.run.overlap);
  ASSERT_EQ(c.objects.size(), 2u);
  EXPECT_EQ(c.objects[0].shape, "cylinder_y");
  EXPECT_TRUE(c.objects[0].volume);
  EXPECT_EQ(c.objects[0].center, (std::array<double, 3>{0, 1.5, -2}));
  EXPECT_EQ(c.objects[0].velocity, (std::array<double, 3>{1e-3, 0, 0}));
  EXPECT_EQ(c.objects[0].size, (std::array<double, 3>{-1, 2, 3}));
  EXPECT_EQ(c.objects[0].growth, (std::array<double, 3>{0.25, 0, 0}));
  EXPECT_EQ(c.objects[0].bounce, "edge");
  EXPECT_EQ(c.objects[1].shape, "sphere");
  EXPECT_EQ(c.partition.method, "hilbert");
  EXPECT_EQ(c.balance.policy, "threshold");
  EXPECT_EQ(c.balance.threshold, 0.25);
  EXPECT_EQ(c.device.threads, 3);
  EXPECT_EQ(c.output.dir, "out/ü");
  EXPECT_EQ(c.output.plotfile, 4);
}

TEST(ParseToml, OneNumberIsACubicBlock) {
  EXPECT_EQ(parse_toml("[mesh]\nblock = 16", "x").mesh.block, (std::array<int, 3>{16, 16, 16}));
}

TEST(ParseToml, TheFileNamesTheRun) {
  EXPECT_EQ(parse_toml("", "some/folder/two spheres.toml").run.name, "two-spheres");
  EXPECT_EQ(parse_toml("", "/.hidden").run.name, "run.hidden");
  EXPECT_EQ(parse_toml("[run]\nname = \"mine\"", "other.toml").run.name, "mine");
}

TEST(ParseToml, TimeAloneLeavesTheStepsOpen) {
  EXPECT_EQ(parse_toml("[run]\ntime = 1.5", "x").run.steps, 0);
  EXPECT_EQ(parse_toml("[run]\ntime = 1.5\nsteps = 7", "x").run.steps, 7);
  EXPECT_EQ(parse_toml("[run]\ntime = 0", "x").run.steps, 100);
}

struct Refusal {
  const char* text;
  std::vector<const char*> parts;
};

TEST(ParseToml, RefusesWithKeyLineAndWhatIsRight) {
  const Refusal refusals[] = {
      {"[mash]\n", {"f.toml:1: mash: unknown table", "did you mean mesh?"}},
      {"\n[mesh]\nblok = 8", {"f.toml:3: mesh.blok: unknown key", "did you mean mesh.block?"}},
      {"[mesh]\nstencil = \"average7\"", {"mesh.stencil: unknown key", "did you mean run.stencil?"}},
      {"[mesh]\nqqqqqqq = 1", {"mesh.qqqqqqq: unknown key", "the keys of mesh are dim, root, block"}},
      {"variables = 4", {"variables: unknown table", "did you mean fields.variables?"}},
      {"zzzzzz = 4", {"zzzzzz: unknown table", "the tables are mesh, fields"}},
      {"mesh = 3", {"mesh: must be a table [mesh]", "got the integer 3"}},
      {"[mesh]\nblock = 8.0", {"mesh.block must be an integer or 3 integers", "got the number 8.0"}},
      {"[mesh]\nblock = \"8\"", {"mesh.block must be", "got the string \"8\""}},
      {"[mesh]\nblock = [8, 8]", {"mesh.block must be", "got an array of 2 values"}},
      {"[mesh]\nblock = [8, 8.5, 8]", {"mesh.block must be", "got an array with the number 8.5"}},
      {"[mesh]\nblock = 34", {"mesh.block must be", "from 1 to 32", "got [34, 34, 34]"}},
      {"[mesh]\nperiodic = true", {"mesh.periodic must be 3 times true or false, [x, y, z]", "got a boolean"}},
      {"[mesh]\nperiodic = [true, 1, false]", {"mesh.periodic must be 3 times true", "an array with the integer 1"}},
      {"[mesh]\nroot = 2", {"mesh.root must be 3 integers [x, y, z]", "got the integer 2"}},
      {"[mesh]\nroot = [0, 1, 1]", {"mesh.root must be", "from 1 to 1048576", "got [0, 1, 1]"}},
      {"[mesh]\nmax_level = -1", {"mesh.max_level must be an integer from 0 to 20", "got -1"}},
      {"[mesh]\nmax_level = 4294967296", {"mesh.max_level must be", "got 4294967296"}},
      {"[mesh]\nuniform = 1", {"mesh.uniform must be true or false", "got the integer 1"}},
      {"[mesh]\ndim = 4", {"mesh.dim must be an integer from 2 to 3", "got 4"}},
      {"[fields]\nvariables = 0", {"fields.variables must be an integer from 1", "got 0"}},
      {"[fields]\nseed = -1", {"fields.seed must be an integer >= 0"}},
      {"[fields]\ninitial = \"one\"", {"fields.initial must be one of \"random\", \"ones\"", "did you mean \"ones\"?"}},
      {"[fields]\ninitial = 1979-05-27", {"fields.initial must be", "got a date or time"}},
      {"[run]\nsteps = -1", {"run.steps must be an integer >= 0", "got -1"}},
      {"[run]\nsteps = true", {"run.steps must be", "got a boolean"}},
      {"[run]\ntime = nan", {"run.time must be a finite number >= 0", "got nan"}},
      {"[run]\ntime = inf", {"run.time must be a finite number >= 0", "got inf"}},
      {"[run]\ntolerance = 0", {"run.tolerance must be a number from 1e-300 to 1", "got 0.0"}},
      {"[run]\nstages_per_step = 0", {"run.stages_per_step must be an integer >= 1", "got 0"}},
      {"[run]\nstencil = \"average9\"", {"run.stencil must be one of", "did you mean \"average7\"?"}},
      {"[partition]\nmethod = \"hilbret\"", {"partition.method must be one of", "did you mean \"hilbert\"?"}},
      {"[balance]\npolicy = \"sometimes\"", {"balance.policy must be one of \"every\", ", "\"never\""}},
      {"[balance]\nthreshold = -0.5", {"balance.threshold must be a finite number >= 0", "got -0.5"}},
      {"[device]\nthreads = -2", {"device.threads must be an integer from 0", "got -2"}},
      {"[output]\nplotfile = -2", {"output.plotfile must be an integer >= 0"}},
      {"[object]\nshape = \"sphere\"", {"f.toml:1: object: must be an array of tables", "[[object]]"}},
      {"object = [1]", {"object.0: must be a table"}},
      {"[[object]]\nsize = [1, 2]", {"f.toml:2: object.0.size must be 3 finite numbers", "got an array of 2 values"}},
      {"[[object]]\n[[object]]\ncenter = [1, 2, 3, 4]", {"object.1.center must be", "got an array of 4 values"}},
      {"[[object]]\ncenter = [1, 2, inf]", {"object.0.center must be 3 finite numbers", "got [1.0, 2.0, inf]"}},
      {"[[object]]\ncenter = [1, \"2\", 3]", {"object.0.center must be", "got an array with the string \"2\""}},
      {"[[object]]\nradius = 1", {"object.0.radius: unknown key", "the keys of object.0 are shape"}},
      {"[[object]]\nshpae = \"sphere\"", {"object.0.shpae: unknown key", "did you mean object.0.shape?"}},
      {"[[object]]\nshape = \"spere\"", {"object.0.shape must be one of", "did you mean \"sphere\"?"}},
      {"[[object]]\nbounce = \"wall\"", {"object.0.bounce must be one of \"none\", \"center\", \"edge\""}},
      {"[mesh]\ndim = 3\ndim = 3", {"f.toml:3: not TOML"}},
      {"[mesh\n", {"f.toml:1: not TOML"}},
      {"a = \"\xff\"", {"f.toml:1: not TOML"}},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.text);
    const std::string message = input_error([&] { parse_toml(refusal.text, "f.toml"); });
    EXPECT_TRUE(message.starts_with("f.toml:")) << message;
    for (const char* part : refusal.parts) EXPECT_CONTAINS(message, part);
  }
}

TEST(ParseToml, RefusesLargeAndDeepText) {
  const std::string large(kMaxConfigBytes + 1, '\n');
  EXPECT_CONTAINS(input_error([&] { parse_toml(large, "big.toml"); }),
                  "big.toml: a configuration may have at most 1048576");
  EXPECT_NO_THROW(parse_toml(std::string(kMaxConfigBytes, '\n'), "big.toml"));

  std::string deep = "a";
  while (deep.size() < 900'000) deep += ".a";
  EXPECT_CONTAINS(input_error([&] { parse_toml(deep + " = 1", "deep.toml"); }), "dotted parts");
  EXPECT_CONTAINS(input_error([&] { parse_toml("[" + deep + "]", "deep.toml"); }), "dotted parts");
  EXPECT_CONTAINS(input_error([&] { parse_toml("x = {" + deep + " = 1}", "deep.toml"); }), "dotted parts");
  EXPECT_CONTAINS(input_error([&] { parse_toml("x = " + std::string(900'000, '['), "deep.toml"); }), "not TOML");
}

TEST(TomlGuard, CountsSegmentsOutsideStringsAndComments) {
  EXPECT_EQ(deepest_dotted_key(""), 1);
  EXPECT_EQ(deepest_dotted_key("a.b.c = 1"), 3);
  EXPECT_EQ(deepest_dotted_key("[a.b]\nc.d.e.f = 1.5"), 4);
  EXPECT_EQ(deepest_dotted_key("x = [1.5, 2.5, 3.5]"), 2);
  EXPECT_EQ(deepest_dotted_key("x = \"a.b.c.d\" # e.f.g.h"), 1);
  EXPECT_EQ(deepest_dotted_key("\"a#\".\"b\".c = 1"), 3);
  EXPECT_EQ(deepest_dotted_key("'a'.'b.b'.c.d = 1"), 4);
  EXPECT_EQ(deepest_dotted_key("x = '''\n a.b.c.d '\n'''\ny.z = 1"), 2);
  EXPECT_EQ(deepest_dotted_key("x = \"\\\"\"\na.b.c=1"), 3);
  EXPECT_EQ(deepest_dotted_key("x = \"open\na.b.c = 1"), 3);
}

TEST(ApplySetting, SetsKeysOfTablesAndObjects) {
  Config c;
  for (const char* setting :
       {"mesh.block=16", "mesh.root=[3, 2, 1]", "run.stencil=mixed", "run.stencil=\"average27\"", "balance.threshold=1",
        "run.name=2024", "output.dir=a b/c", "run.overlap=false", " fields.seed = 42 ", "object.0.size=[1, 2.5, 3]",
        "object.1.shape=cylinder_z", "object.0.volume=true"})
    apply_setting(c, setting);
  EXPECT_EQ(c.mesh.block, (std::array<int, 3>{16, 16, 16}));
  EXPECT_EQ(c.mesh.root, (std::array<int, 3>{3, 2, 1}));
  EXPECT_EQ(c.run.stencil, "average27");
  EXPECT_EQ(c.balance.threshold, 1.0);
  EXPECT_EQ(c.run.name, "2024");
  EXPECT_EQ(c.output.dir, "a b/c");
  EXPECT_FALSE(c.run.overlap);
  EXPECT_EQ(c.fields.seed, 42u);
  ASSERT_EQ(c.objects.size(), 2u);
  EXPECT_EQ(c.objects[0].size, (std::array<double, 3>{1, 2.5, 3}));
  EXPECT_TRUE(c.objects[0].volume);
  EXPECT_EQ(c.objects[1].shape, "cylinder_z");
}

TEST(ApplySetting, RefusesAndLeavesTheConfigurationAlone) {
  const Refusal refusals[] = {
      {"mesh.block", {"--set mesh.block: must be one line table.key=value"}},
      {"=3", {"must be one line table.key=value"}},
      {"mesh.max_level=3\nrun.steps=4", {"must be one line"}},
      {"mesh=3", {"--set mesh: a table; name a key of it"}},
      {"mish.block=3", {"--set mish.block: unknown table", "did you mean mesh?"}},
      {"mesh.blok=3", {"--set mesh.blok: unknown key", "did you mean mesh.block?"}},
      {"mesh.block.x=3", {"--set mesh.block.x: unknown key"}},
      {"mesh.block=eight", {"--set mesh.block must be an integer or", "got eight"}},
      {"mesh.block=", {"--set mesh.block must be an integer or"}},
      {"mesh.max_level=21", {"--set mesh.max_level must be an integer from 0 to 20", "got 21"}},
      {"run.time=nan", {"--set run.time must be a finite number >= 0"}},
      {"run.overlap=yes", {"--set run.overlap must be true or false"}},
      {"run.stencil=avrage7", {"--set run.stencil must be one of", "did you mean \"average7\"?"}},
      {"object.1.size=[1,1,1]", {"--set object.1.size: there are 0 tables [[object]]; object.0 would be the next"}},
      {"object.size=[1,1,1]", {"object.N.key=value"}},
      {"object.-1.size=[1,1,1]", {"object.N.key=value"}},
      {"object.0=[1,1,1]", {"object.N.key=value"}},
      {"object.0.siez=[1,1,1]", {"--set object.0.siez: unknown key", "did you mean object.0.size?"}},
      {"object.0.size=[1,1]", {"--set object.0.size must be 3 finite numbers", "an array of 2 values"}},
      {"object.0.size=[1,1,1,", {"--set object.0.size must be 3 finite numbers"}},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.text);
    Config c;
    const std::string message = input_error([&] { apply_setting(c, refusal.text); });
    for (const char* part : refusal.parts) EXPECT_CONTAINS(message, part);
    EXPECT_TRUE(c.objects.empty());
  }
}

/// Where the parser's behaviour is not defined; scripts/fuzz found them.
TEST(ParseToml, WhatTheParserMustNotSeeIsRefused) {
  for (const char* text : {"[mesh]\n\xd0\x98 = 1\n", "\n[m\xc3\xa9sh]\n", "[mesh]\nblock = \xca\x9d\n"})
    EXPECT_CONTAINS(input_error([&] { parse_toml(text, "a.toml"); }),
                    "a.toml:2: not TOML: a character that is not ASCII");
  for (const char* text : {"[", "[\n", "[[\n", "[.a]\n", "  [ [a]]\n", "[=]\n"})
    EXPECT_CONTAINS(input_error([&] { parse_toml(text, "a.toml"); }),
                    "a.toml:1: not TOML: a table header without a name");
  for (const char* text : {"[mesh]\nroot = [}\n", "[mesh]\nroot = [1, }\n", "a = [ # ]\n[{b = 1}, }"})
    EXPECT_CONTAINS(input_error([&] { parse_toml(text, "a.toml"); }),
                    "a.toml:2: not TOML: a } in an array that is not closed");
  for (const char* text :
       {"a = 1\"\xc3\xa9\"\n", "a = 1.\"b\"", "a = {b = [1'2']}", "a = [2x[\"\xc3\xa9\"]]", "a = 1=2"})
    EXPECT_CONTAINS(input_error([&] { parse_toml(text, "a.toml"); }),
                    "a.toml:1: not TOML: a value that is no number, date, string, array or table");
  for (const char* text : {"a\"b\" = 1", "a = \"b\"\"c\"", "[a'b']"})
    EXPECT_CONTAINS(input_error([&] { parse_toml(text, "a.toml"); }),
                    "a.toml:1: not TOML: a quote inside a name or a value");
  for (const char* text : {"a = 1979-05-27 7 ", "a = [0, 19_79-ab-cd 7]", "a = {b = 1979-05-27 7\n"})
    EXPECT_CONTAINS(input_error([&] { parse_toml(text, "a.toml"); }),
                    "a.toml:1: not TOML: a date with a time that is none");
  for (const char* text : {"a = \"\"\"b\\\n\n  \xc3\xa9\"\"\"", "a = \"\"\"\\\xc3\xa9\"\"\""})
    EXPECT_CONTAINS(input_error([&] { parse_toml(text, "a.toml"); }),
                    "a.toml:1: not TOML: a character that is not ASCII after a \\");
  Config config;
  EXPECT_CONTAINS(input_error([&] { apply_setting(config, "mesh.block=\xd0\x98"); }), "mesh.block must be");
  EXPECT_CONTAINS(input_error([&] { apply_setting(config, "mesh.block=1\"\xca\x9d\""); }), "mesh.block must be");
  EXPECT_CONTAINS(input_error([&] { apply_setting(config, "mesh.root=[1,}"); }), "mesh.root must be");
  const std::string fine =
      "\xef\xbb\xbf# \xc3\xbc\n[output]\ndir = \"\"\"\xc3\xbc\n[\"\"\"\"\"\n[mesh]\nroot = [\n1,\n1, 1 "
      "]\n[[\"object\"]]\ncenter = [0, 0, 0]\n";
  EXPECT_EQ(parse_toml(fine, "a.toml").output.dir, "\xc3\xbc\n[\"\"");
}

}  // namespace
}  // namespace amrbench::apps
