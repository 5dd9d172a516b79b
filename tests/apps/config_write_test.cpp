#include "apps/config_write.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <nlohmann/json.hpp>

#include "apps/config_schema.hpp"
#include "apps/config_toml.hpp"
#include "tests/apps/random_config.hpp"

namespace amrbench::apps {
namespace {

/// Equal to the last bit: 0.0 is not -0.0.
bool same_bits(const Value& a, const Value& b) {
  if (const auto* x = std::get_if<double>(&a))
    return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(std::get<double>(b));
  if (const auto* x = std::get_if<std::array<double, 3>>(&a)) {
    const auto& y = std::get<std::array<double, 3>>(b);
    for (std::size_t d = 0; d < 3; ++d)
      if (!same_bits((*x)[d], y[d])) return false;
    return true;
  }
  return a == b;
}

void expect_same(const amr::Config& a, const amr::Config& b) {
  for (const Table& table : config_tables())
    for (const auto& key : table.keys)
      EXPECT_TRUE(same_bits(key.get(a), key.get(b))) << table.name << '.' << key.info.name << ": "
                                                     << format_value(key.get(a)) << " / " << format_value(key.get(b));
  ASSERT_EQ(a.objects.size(), b.objects.size());
  for (std::size_t i = 0; i < a.objects.size(); ++i)
    for (const auto& key : object_keys())
      EXPECT_TRUE(same_bits(key.get(a.objects[i]), key.get(b.objects[i]))) << "object." << i << '.' << key.info.name;
}

TEST(WriteToml, ReadsBackTheSame) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const amr::Config config = RandomConfig(seed).make();
    const std::string text = write_toml(config);
    SCOPED_TRACE(text);
    expect_same(parse_toml(text, "written.toml"), config);
    if (HasFailure()) return;
  }
}

TEST(WriteToml, SettingsReadBackTheSame) {
  // Every key by --set, the value written as TOML, gives the configuration as well.
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const amr::Config config = RandomConfig(seed).make();
    amr::Config built;
    for (const Table& table : config_tables())
      for (const auto& key : table.keys)
        apply_setting(built, fmt::format("{}.{}={}", table.name, key.info.name, format_value(key.get(config))));
    for (std::size_t i = 0; i < config.objects.size(); ++i)
      for (const auto& key : object_keys())
        apply_setting(built,
                      fmt::format("object.{}.{}={}", i, key.info.name, format_value(key.get(config.objects[i]))));
    expect_same(built, config);
    if (HasFailure()) return;
  }
}

TEST(ConfigToJson, HoldsEveryKeyWithItsValue) {
  amr::Config config;
  config.mesh.root = {1, 2, 3};
  config.fields.seed = 9223372036854775807u;
  config.run.tolerance = 0.1;
  config.objects.resize(2);
  config.objects[1].size = {0.5, 1.0, -2.0};
  const nlohmann::ordered_json json = config_to_json(config);
  std::size_t keys = 0;
  for (const Table& table : config_tables())
    for (const auto& key : table.keys) {
      EXPECT_TRUE(json.at(std::string(table.name)).contains(key.info.name)) << table.name << '.' << key.info.name;
      ++keys;
    }
  EXPECT_GE(keys, 25u);
  EXPECT_EQ(json["mesh"]["root"], nlohmann::ordered_json({1, 2, 3}));
  EXPECT_EQ(json["fields"]["seed"], 9223372036854775807u);
  EXPECT_EQ(json["run"]["tolerance"], 0.1);
  EXPECT_EQ(json["run"]["overlap"], true);
  EXPECT_EQ(json["run"]["stencil"], "average7");
  ASSERT_EQ(json["object"].size(), 2u);
  EXPECT_EQ(json["object"][1]["size"], nlohmann::ordered_json({0.5, 1.0, -2.0}));
  EXPECT_EQ(json["object"][0]["bounce"], "none");
  EXPECT_NE(json.dump().find("\"seed\":9223372036854775807"), std::string::npos);
}

TEST(ConfigToJson, AgreesWithTheTomlValues) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const amr::Config config = RandomConfig(seed).make();
    const auto json = nlohmann::json::parse(config_to_json(config).dump());
    EXPECT_EQ(json["mesh"]["max_level"], config.mesh.max_level);
    EXPECT_EQ(json["run"]["tolerance"].get<double>(), config.run.tolerance);
    EXPECT_EQ(json["run"]["name"], config.run.name);
    EXPECT_EQ(json["balance"]["threshold"].get<double>(), config.balance.threshold);
    for (std::size_t i = 0; i < config.objects.size(); ++i)
      EXPECT_EQ((json["object"][i]["center"].get<std::array<double, 3>>()), config.objects[i].center);
  }
}

}  // namespace
}  // namespace amrbench::apps
