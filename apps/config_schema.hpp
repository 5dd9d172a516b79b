#pragma once
// The keys of a configuration as data: one list drives the TOML reader, --set, the TOML and JSON writers.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "apps/config.hpp"
#include "apps/names.hpp"

namespace amrbench::apps {

enum class Kind { boolean, integer, number, text, choice, integers3, integers3_or_one, numbers2, numbers3, booleans3 };

/// A value of any key, as read or to be written.
using Value = std::variant<bool, std::int64_t, double, std::string, std::array<std::int64_t, 3>, std::array<double, 2>,
                           std::array<double, 3>, std::array<bool, 3>>;

/// What a key accepts. Integer bounds hold for the integer kinds, number bounds for the number kinds; both inclusive.
struct KeyInfo {
  std::string_view name;
  Kind kind{};
  std::int64_t integer_min = 0, integer_max = 0;
  double number_min = 0, number_max = 0;
  std::span<const Choice> choices{};
};

/// A key of `Owner` (Config for the tables, ObjectConfig for [[object]], and so on).
template <class Owner>
struct Key {
  KeyInfo info;
  Value (*get)(const Owner&);
  void (*set)(Owner&, const Value&);
};

struct Table {
  std::string_view name;
  std::vector<Key<Config>> keys;
};

/// All tables but the arrays of tables, in the order of the documentation; static.
const std::vector<Table>& config_tables();
/// The keys of one table of each array; static.
const std::vector<Key<amr::ObjectConfig>>& object_keys();
const std::vector<Key<amr::WorkConfig>>& work_keys();
const std::vector<Key<workloads::InflowConfig>>& inflow_keys();
const std::vector<Key<workloads::GaugeConfig>>& gauge_keys();

/// Calls visit(name, keys, member of Config) for each array of tables, in the order of the documentation.
template <class Visit>
void visit_arrays(Visit&& visit) {
  visit(std::string_view("object"), object_keys(), &Config::objects);
  visit(std::string_view("work"), work_keys(), &Config::work);
  visit(std::string_view("inflow"), inflow_keys(), &Config::inflow);
  visit(std::string_view("gauge"), gauge_keys(), &Config::gauge);
}

/// What the key accepts, in words: "an integer from 2 to 32".
std::string describe(const KeyInfo& info);

/// Throws support::InputError unless `value`, which has the key's type, is in range, finite and one of the choices.
/// `name` is the key as the user wrote it, with its place: "run.toml:3: mesh.block".
void check_value(const KeyInfo& info, const Value& value, const std::string& name);

/// The value as a user would write it in TOML. Numbers keep every bit.
std::string format_value(const Value& value);

}  // namespace amrbench::apps
