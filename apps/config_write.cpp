#include "apps/config_write.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/config_schema.hpp"

namespace amrbench::apps {

namespace {

template <class Owner>
std::string write_keys(const std::vector<Key<Owner>>& keys, const Owner& owner) {
  std::string text;
  for (const Key<Owner>& key : keys) text += fmt::format("{} = {}\n", key.info.name, format_value(key.get(owner)));
  return text;
}

template <class Owner>
nlohmann::ordered_json keys_to_json(const std::vector<Key<Owner>>& keys, const Owner& owner) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Key<Owner>& key : keys)
    json[std::string(key.info.name)] =
        std::visit([](const auto& v) { return nlohmann::ordered_json(v); }, key.get(owner));
  return json;
}

}  // namespace

std::string write_toml(const Config& config) {
  std::string text;
  for (const Table& table : config_tables())
    text += fmt::format("{}[{}]\n{}", text.empty() ? "" : "\n", table.name, write_keys(table.keys, config));
  visit_arrays([&](std::string_view name, const auto& keys, auto member) {
    for (const auto& item : config.*member) text += fmt::format("\n[[{}]]\n{}", name, write_keys(keys, item));
  });
  return text;
}

nlohmann::ordered_json config_to_json(const Config& config) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Table& table : config_tables()) json[std::string(table.name)] = keys_to_json(table.keys, config);
  visit_arrays([&](std::string_view name, const auto& keys, auto member) {
    nlohmann::ordered_json& array = json[std::string(name)] = nlohmann::ordered_json::array();
    for (const auto& item : config.*member) array.push_back(keys_to_json(keys, item));
  });
  return json;
}

std::string write_json(const Config& config) {
  return config_to_json(config).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace amrbench::apps
