#include "amr/checkpoint/run_state.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "support/fixed_point_sum.hpp"

namespace amrbench::amr {

namespace {

using Json = nlohmann::ordered_json;

Json numbers(std::span<const double> values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(exact_number(value));
  return list;
}

std::vector<double> numbers_from(const Json& list) {
  std::vector<double> values;
  for (const Json& value : list) values.push_back(exact_number_from_json(value));
  return values;
}

std::array<double, 3> three_from(const Json& list) {
  const std::vector<double> values = numbers_from(list);
  if (values.size() != 3) throw std::runtime_error("three numbers expected");
  return {values[0], values[1], values[2]};
}

std::int64_t count_from(const Json& json, const char* name) {
  return whole_number(json.at(name));
}

Json totals_to_json(const RunTotals& t) {
  return {{"steps", t.steps},
          {"stages", t.stages},
          {"cell_updates", t.cell_updates},
          {"block_stages", t.block_stages},
          {"blocks", t.blocks},
          {"blocks_max", t.blocks_max},
          {"blocks_by_level", t.blocks_by_level},
          {"blocks_split", t.blocks_split},
          {"blocks_merged", t.blocks_merged},
          {"refine_steps", t.refine_steps},
          {"consensus_rounds", t.consensus_rounds}};
}

RunTotals totals_from(const Json& json) {
  RunTotals t;
  t.steps = count_from(json, "steps");
  t.stages = count_from(json, "stages");
  t.cell_updates = count_from(json, "cell_updates");
  t.block_stages = count_from(json, "block_stages");
  t.blocks = count_from(json, "blocks");
  t.blocks_max = count_from(json, "blocks_max");
  for (const Json& count : json.at("blocks_by_level")) t.blocks_by_level.push_back(whole_number(count));
  t.blocks_split = count_from(json, "blocks_split");
  t.blocks_merged = count_from(json, "blocks_merged");
  t.refine_steps = count_from(json, "refine_steps");
  t.consensus_rounds = count_from(json, "consensus_rounds");
  return t;
}

Json object_to_json(const Object& o) {
  return {{"type", static_cast<int>(o.type)}, {"bounce", o.bounce},      {"center", numbers(o.center)},
          {"velocity", numbers(o.velocity)},  {"size", numbers(o.size)}, {"growth", numbers(o.growth)}};
}

Object object_from(const Json& json) {
  Object o;
  const std::int64_t type = whole_number(json.at("type"), 0, 25);
  if (type > 15 && type < 20) throw std::runtime_error("no such type of object");
  o.type = static_cast<ObjectType>(type);
  o.bounce = static_cast<int>(whole_number(json.at("bounce"), 0, 2));
  o.center = three_from(json.at("center"));
  o.velocity = three_from(json.at("velocity"));
  o.size = three_from(json.at("size"));
  o.growth = three_from(json.at("growth"));
  return o;
}

CheckState check_from(const Json& json) {
  CheckState c;
  c.baseline = numbers_from(json.at("baseline"));
  c.conserved = static_cast<int>(whole_number(json.at("conserved"), 0, std::ssize(c.baseline)));
  c.scale_exponent = static_cast<int>(whole_number(json.at("scale_exponent"), support::FixedPointScale::kMinExponent,
                                                   support::FixedPointScale::kMaxExponent));
  c.worst_drift = exact_number_from_json(json.at("worst_drift"));
  c.checks = count_from(json, "checks");
  return c;
}

}  // namespace

std::int64_t whole_number(const Json& json, std::int64_t least, std::int64_t most) {
  if (!json.is_number_integer()) throw std::runtime_error("a whole number expected");
  // One that only an unsigned number holds is beyond every `most`.
  const bool fits = !json.is_number_unsigned() || json.get<std::uint64_t>() <= std::uint64_t{INT64_MAX};
  const std::int64_t value = fits ? json.get<std::int64_t>() : most;
  if (!fits || value < least || value > most) throw std::runtime_error("a whole number out of range");
  return value;
}

Json exact_number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double exact_number_from_json(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const auto text = json.get<std::string>();
  if (text != "nan" && text != "inf" && text != "-inf") throw std::runtime_error("a number expected");
  return std::strtod(text.c_str(), nullptr);
}

Json to_json(const RunState& state) {
  Json objects = Json::array();
  for (const Object& object : state.objects) objects.push_back(object_to_json(object));
  const CheckState& c = state.check;
  return {{"time", exact_number(state.time)},
          {"totals", totals_to_json(state.totals)},
          {"objects", objects},
          {"check",
           {{"baseline", numbers(c.baseline)},
            {"conserved", c.conserved},
            {"scale_exponent", c.scale_exponent},
            {"worst_drift", exact_number(c.worst_drift)},
            {"checks", c.checks}}},
          {"workload", numbers(state.workload)}};
}

RunState run_state_from_json(const Json& json) {
  RunState state;
  state.time = exact_number_from_json(json.at("time"));
  state.totals = totals_from(json.at("totals"));
  for (const Json& object : json.at("objects")) state.objects.push_back(object_from(object));
  state.check = check_from(json.at("check"));
  if (json.contains("workload")) state.workload = numbers_from(json.at("workload"));  // not in older checkpoints
  return state;
}

}  // namespace amrbench::amr
