// Configurations: TOML files, values of --set, lines of miniAMR. What is accepted can be written and read back.
#include <nlohmann/json.hpp>

#include "apps/config_check.hpp"
#include "apps/config_toml.hpp"
#include "apps/config_write.hpp"
#include "apps/memory_estimate.hpp"
#include "apps/miniamr_options.hpp"
#include "tests/fuzz/targets.hpp"

namespace amrbench::fuzz {

namespace {

void hold_promises(const apps::Config& config) {
  if (!accepts([&] { static_cast<void>(apps::check_config(config)); })) return;
  const std::string text = apps::write_toml(config);
  const apps::Config again = apps::parse_toml(text, "written.toml");
  promise(apps::write_toml(again) == text, "a configuration changes when it is written and read");
  promise(!apps::write_json(config).empty() && !apps::describe_memory(config, 3, "# ").empty(), "nothing is written");
}

}  // namespace

void toml(std::string_view bytes) {
  apps::Config config;
  if (accepts([&] { config = apps::parse_toml(bytes, "fuzz.toml"); })) hold_promises(config);
}

/// A line a setting.
void setting(std::string_view bytes) {
  apps::Config config;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string line(bytes.substr(0, end));
    if (!accepts([&] { apps::apply_setting(config, line); })) return;
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  }
  hold_promises(config);
}

void miniamr(std::string_view bytes) {
  apps::MiniamrInput input;
  if (accepts([&] { input = apps::parse_miniamr(bytes); })) hold_promises(input.config);
}

}  // namespace amrbench::fuzz
