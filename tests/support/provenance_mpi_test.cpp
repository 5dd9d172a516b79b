// support/provenance.hpp
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

#include "support/mpi.hpp"
#include "support/provenance.hpp"

namespace amrbench::support {
namespace {

TEST(Provenance, IsFilledAndAlikeOnEveryRank) {
  const Communicator world = Communicator::world();
  const std::vector<std::string> arguments{"amrbench", "run", world.is_root() ? "a b.toml" : "other"};
  const Provenance p = collect_provenance(world, arguments);
  const std::string text = to_json(p).dump();
  EXPECT_EQ(text, broadcast_string(world, text));
  EXPECT_EQ(p.version, build_info().version);
  EXPECT_NE(p.version.find('.'), std::string::npos);
  const bool hash = p.commit.size() == 40 && std::all_of(p.commit.begin(), p.commit.end(),
                                                         [](unsigned char c) { return std::isxdigit(c) != 0; });
  EXPECT_TRUE(hash || p.commit == "unknown") << p.commit;
  EXPECT_NE(p.flags.find("-ffp-contract=off"), std::string::npos) << p.flags;
  EXPECT_EQ(p.flags.find("$<"), std::string::npos) << p.flags;
  EXPECT_NE(p.compiler.find(std::to_string(__GNUC__)), std::string::npos) << p.compiler;
  EXPECT_FALSE(p.build_type.empty());
  EXPECT_FALSE(p.mpi.empty());
  EXPECT_EQ(p.mpi.find('\n'), std::string::npos);
  EXPECT_GE(p.cores_node, 1);
  EXPECT_GT(p.memory_node_bytes, 1 << 24);
  EXPECT_EQ(p.nodes, 1);
  EXPECT_EQ(p.ranks, world.size());
  EXPECT_GE(p.threads, 1);
  EXPECT_EQ(p.ranks_node, world.size());
  EXPECT_TRUE(p.cores_rank >= 1 && p.cores_rank <= p.cores_node) << p.cores_rank;
  EXPECT_TRUE(p.binding == "none" || p.binding == "exclusive" || p.binding == "shared") << p.binding;
  EXPECT_EQ(p.launch, "amrbench run 'a b.toml'");
  const std::int64_t now = std::time(nullptr);
  EXPECT_GE(p.time_utc, format_utc(now - 3600));
  EXPECT_LE(p.time_utc, format_utc(now));
}

TEST(Provenance, NamesTheHostOnlyWhenAsked) {
  const Communicator world = Communicator::world();
  std::array<char, 256> host{};
  ASSERT_EQ(gethostname(host.data(), host.size() - 1), 0);
  const Json without = to_json(collect_provenance(world, {"amrbench"}));
  EXPECT_FALSE(without.contains("host"));
  const Json with = to_json(collect_provenance(world, {"amrbench"}, true));
  EXPECT_EQ(with.at("host"), std::string(host.data()));
}

TEST(Provenance, FormatsTimeAndLaunch) {
  EXPECT_EQ(format_utc(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_utc(951782400), "2000-02-29T00:00:00Z");
  EXPECT_EQ(shell_line({"a", "--set", "x=1", "", "it's", "$HOME"}), R"(a --set x=1 '' 'it'\''s' '$HOME')");
}

}  // namespace
}  // namespace amrbench::support
