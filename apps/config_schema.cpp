#include "apps/config_schema.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "support/error.hpp"

namespace amrbench::apps {

namespace {

using amr::DeviceConfig;
using amr::FieldsConfig;
using amr::MeshConfig;
using amr::ObjectConfig;
using amr::OutputConfig;
using amr::RunConfig;
using amr::WorkConfig;
using loadbalance::BalanceConfig;
using loadbalance::PartitionConfig;
using workloads::AdvectionConfig;
using workloads::GaugeConfig;
using workloads::InflowConfig;
using workloads::ShallowWaterConfig;

constexpr std::int64_t kIntMax = std::numeric_limits<int>::max();
constexpr std::int64_t kLongMax = std::numeric_limits<std::int64_t>::max();
constexpr double kNumberMax = std::numeric_limits<double>::max();

template <class T>
Value to_value(const T& member) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, double> || std::is_same_v<T, std::string> ||
                std::is_same_v<T, std::array<double, 2>> || std::is_same_v<T, std::array<double, 3>> ||
                std::is_same_v<T, std::array<bool, 3>>) {
    return member;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(member);
  } else {
    return std::array<std::int64_t, 3>{member[0], member[1], member[2]};
  }
}

template <class T>
void from_value(const Value& value, T& member) {
  if constexpr (std::is_same_v<T, std::array<int, 3>>) {
    const auto& three = std::get<std::array<std::int64_t, 3>>(value);
    for (std::size_t d = 0; d < 3; ++d) member[d] = static_cast<int>(three[d]);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    member = static_cast<T>(std::get<std::int64_t>(value));
  } else {
    member = std::get<T>(value);
  }
}

template <auto TableMember, auto Member>
Key<Config> key(KeyInfo info) {
  return {info, [](const Config& c) { return to_value((c.*TableMember).*Member); },
          [](Config& c, const Value& v) { from_value(v, (c.*TableMember).*Member); }};
}

template <class Owner, auto Member>
Key<Owner> item_key(KeyInfo info) {
  return {info, [](const Owner& o) { return to_value(o.*Member); },
          [](Owner& o, const Value& v) { from_value(v, o.*Member); }};
}
template <auto Member>
Key<ObjectConfig> object_key(KeyInfo info) {
  return item_key<ObjectConfig, Member>(info);
}

KeyInfo boolean(std::string_view name) {
  return {.name = name, .kind = Kind::boolean};
}
KeyInfo booleans3(std::string_view name) {
  return {.name = name, .kind = Kind::booleans3};
}
KeyInfo text(std::string_view name) {
  return {.name = name, .kind = Kind::text};
}
KeyInfo choice(std::string_view name, std::span<const Choice> choices) {
  return {.name = name, .kind = Kind::choice, .choices = choices};
}
KeyInfo integer(std::string_view name, std::int64_t min, std::int64_t max, Kind kind = Kind::integer) {
  return {.name = name, .kind = kind, .integer_min = min, .integer_max = max};
}
KeyInfo number(std::string_view name, double min, double max) {
  return {.name = name, .kind = Kind::number, .number_min = min, .number_max = max};
}
KeyInfo numbers2(std::string_view name) {
  return {.name = name, .kind = Kind::numbers2, .number_min = -kNumberMax, .number_max = kNumberMax};
}
KeyInfo numbers3(std::string_view name) {
  return {.name = name, .kind = Kind::numbers3, .number_min = -kNumberMax, .number_max = kNumberMax};
}

std::vector<Table> make_tables() {
  using C = Config;
  return {
      {"mesh",
       {key<&C::mesh, &MeshConfig::dim>(integer("dim", 2, 3)),
        key<&C::mesh, &MeshConfig::root>(integer("root", 1, 1 << 20, Kind::integers3)),
        key<&C::mesh, &MeshConfig::block>(integer("block", 1, 32, Kind::integers3_or_one)),
        key<&C::mesh, &MeshConfig::periodic>(booleans3("periodic")),
        key<&C::mesh, &MeshConfig::max_level>(integer("max_level", 0, 20)),
        key<&C::mesh, &MeshConfig::block_change>(integer("block_change", 0, 20)),
        key<&C::mesh, &MeshConfig::uniform>(boolean("uniform")), key<&C::mesh, &MeshConfig::frozen>(boolean("frozen")),
        key<&C::mesh, &MeshConfig::refine_ghost>(boolean("refine_ghost"))}},
      {"fields",
       {key<&C::fields, &FieldsConfig::variables>(integer("variables", 1, 65536)),
        key<&C::fields, &FieldsConfig::initial>(choice("initial", initial_fields())),
        key<&C::fields, &FieldsConfig::seed>(integer("seed", 0, kLongMax))}},
      {"run",
       {key<&C::run, &RunConfig::name>(text("name")), key<&C::run, &RunConfig::steps>(integer("steps", 0, kLongMax)),
        key<&C::run, &RunConfig::time>(number("time", 0.0, kNumberMax)),
        key<&C::run, &RunConfig::stages_per_step>(integer("stages_per_step", 1, kIntMax)),
        key<&C::run, &RunConfig::refine_every>(integer("refine_every", 0, kIntMax)),
        key<&C::run, &RunConfig::checksum_every>(integer("checksum_every", 0, kIntMax)),
        key<&C::run, &RunConfig::tolerance>(number("tolerance", 1e-300, 1.0)),
        key<&C::run, &RunConfig::workload>(choice("workload", workload_names())),
        key<&C::run, &RunConfig::stencil>(choice("stencil", stencils())),
        key<&C::run, &RunConfig::overlap>(boolean("overlap")),
        key<&C::run, &RunConfig::hang_after>(number("hang_after", 0.0, 1e9))}},
      {"shallow_water",
       {key<&C::shallow_water, &ShallowWaterConfig::problem>(choice("problem", shallow_water_problems())),
        key<&C::shallow_water, &ShallowWaterConfig::cfl>(number("cfl", 1e-3, 0.5)),
        key<&C::shallow_water, &ShallowWaterConfig::limiter>(choice("limiter", shallow_water_limiters())),
        key<&C::shallow_water, &ShallowWaterConfig::precision>(choice("precision", precisions())),
        key<&C::shallow_water, &ShallowWaterConfig::dry_depth>(number("dry_depth", 1e-12, 1.0)),
        key<&C::shallow_water, &ShallowWaterConfig::refine_above>(number("refine_above", 0.0, kNumberMax)),
        key<&C::shallow_water, &ShallowWaterConfig::coarsen_below>(number("coarsen_below", 0.0, kNumberMax)),
        key<&C::shallow_water, &ShallowWaterConfig::refine_front>(boolean("refine_front")),
        key<&C::shallow_water, &ShallowWaterConfig::resolution>(text("resolution")),
        key<&C::shallow_water, &ShallowWaterConfig::bed_file>(text("bed_file")),
        key<&C::shallow_water, &ShallowWaterConfig::depth_file>(text("depth_file")),
        key<&C::shallow_water, &ShallowWaterConfig::level>(number("level", -20000.0, 20000.0)),
        key<&C::shallow_water, &ShallowWaterConfig::roughness_file>(text("roughness_file")),
        key<&C::shallow_water, &ShallowWaterConfig::roughness>(number("roughness", 0.0, 1.0)),
        key<&C::shallow_water, &ShallowWaterConfig::west>(choice("west", water_sides())),
        key<&C::shallow_water, &ShallowWaterConfig::east>(choice("east", water_sides())),
        key<&C::shallow_water, &ShallowWaterConfig::south>(choice("south", water_sides())),
        key<&C::shallow_water, &ShallowWaterConfig::north>(choice("north", water_sides())),
        key<&C::shallow_water, &ShallowWaterConfig::gauge_interval>(number("gauge_interval", 1e-9, 1e12)),
        key<&C::shallow_water, &ShallowWaterConfig::maps>(boolean("maps")),
        key<&C::shallow_water, &ShallowWaterConfig::arrival_depth>(number("arrival_depth", 1e-12, 1e3))}},
      {"advection",
       {key<&C::advection, &AdvectionConfig::velocity>(numbers3("velocity")),
        key<&C::advection, &AdvectionConfig::width>(number("width", 1e-3, 1.0)),
        key<&C::advection, &AdvectionConfig::cfl>(number("cfl", 1e-3, 0.5)),
        key<&C::advection, &AdvectionConfig::refine_above>(number("refine_above", 0.0, kNumberMax)),
        key<&C::advection, &AdvectionConfig::coarsen_below>(number("coarsen_below", 0.0, kNumberMax))}},
      {"partition",
       {key<&C::partition, &PartitionConfig::method>(choice("method", partition_methods())),
        key<&C::partition, &PartitionConfig::splitter>(text("splitter")),
        key<&C::partition, &PartitionConfig::bucket>(integer("bucket", 1, kIntMax)),
        key<&C::partition, &PartitionConfig::slices>(choice("slices", slice_rules())),
        key<&C::partition, &PartitionConfig::side_tolerance>(number("side_tolerance", 0.0, 0.99)),
        key<&C::partition, &PartitionConfig::rename>(boolean("rename")),
        key<&C::partition, &PartitionConfig::group_blocks>(boolean("group_blocks")),
        key<&C::partition, &PartitionConfig::nodes>(integer("nodes", loadbalance::kNodesOfRun, kIntMax))}},
      {"balance",
       {key<&C::balance, &BalanceConfig::policy>(choice("policy", balance_policies())),
        key<&C::balance, &BalanceConfig::threshold>(number("threshold", 0.0, kNumberMax)),
        key<&C::balance, &BalanceConfig::every>(integer("every", 1, kIntMax)),
        key<&C::balance, &BalanceConfig::limit_move>(number("limit_move", 0.0, 100.0)),
        key<&C::balance, &BalanceConfig::sensitivity>(number("sensitivity", 1e-6, 1.0)),
        key<&C::balance, &BalanceConfig::weights>(choice("weights", balance_weights()))}},
      {"device",
       {key<&C::device, &DeviceConfig::backend>(choice("backend", backends())),
        key<&C::device, &DeviceConfig::threads>(integer("threads", 0, 4096)),
        key<&C::device, &DeviceConfig::stores>(choice("stores", store_kinds())),
        key<&C::device, &DeviceConfig::transport>(choice("transport", transports())),
        key<&C::device, &DeviceConfig::preallocated_blocks>(integer("preallocated_blocks", 0, kIntMax))}},
      {"output",
       {key<&C::output, &OutputConfig::dir>(text("dir")),
        key<&C::output, &OutputConfig::plotfile>(integer("plotfile", 0, kIntMax)),
        key<&C::output, &OutputConfig::checkpoint>(integer("checkpoint", 0, kIntMax)),
        key<&C::output, &OutputConfig::checkpoint_minutes>(number("checkpoint_minutes", 0.0, 1e9)),
        key<&C::output, &OutputConfig::checkpoint_group>(integer("checkpoint_group", 0, kIntMax)),
        key<&C::output, &OutputConfig::trace>(text("trace"))}},
  };
}

std::vector<Key<ObjectConfig>> make_object_keys() {
  using O = ObjectConfig;
  return {object_key<&O::shape>(choice("shape", object_shapes())),
          object_key<&O::volume>(boolean("volume")),
          object_key<&O::center>(numbers3("center")),
          object_key<&O::velocity>(numbers3("velocity")),
          object_key<&O::size>(numbers3("size")),
          object_key<&O::growth>(numbers3("growth")),
          object_key<&O::bounce>(choice("bounce", bounce_modes()))};
}

std::vector<Key<WorkConfig>> make_work_keys() {
  using W = WorkConfig;
  return {item_key<W, &W::factor>(integer("factor", 1, 1000)), item_key<W, &W::lo>(numbers3("lo")),
          item_key<W, &W::hi>(numbers3("hi")), item_key<W, &W::rank>(integer("rank", -1, kIntMax))};
}

std::vector<Key<InflowConfig>> make_inflow_keys() {
  using I = InflowConfig;
  return {item_key<I, &I::from>(numbers2("from")), item_key<I, &I::to>(numbers2("to")),
          item_key<I, &I::series>(text("series")), item_key<I, &I::side>(text("side")),
          item_key<I, &I::depths>(text("depths"))};
}

std::vector<Key<GaugeConfig>> make_gauge_keys() {
  using G = GaugeConfig;
  return {item_key<G, &G::name>(text("name")), item_key<G, &G::at>(numbers2("at"))};
}

std::string describe_integers(const KeyInfo& info) {
  if (info.integer_max >= kIntMax) return fmt::format(">= {}", info.integer_min);
  return fmt::format("from {} to {}", info.integer_min, info.integer_max);
}

std::string describe_numbers(const KeyInfo& info) {
  if (info.number_max < kNumberMax) return fmt::format("a number from {} to {}", info.number_min, info.number_max);
  if (info.number_min > -kNumberMax) return fmt::format("a finite number >= {}", info.number_min);
  return "a finite number";
}

std::string format_number(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";  // TOML tells 1 from 1.0, and -0 has no sign
  return text;
}

/// A TOML basic string.
std::string format_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

bool in_range(const KeyInfo& info, const Value& value) {
  const auto integer_fits = [&](std::int64_t v) { return v >= info.integer_min && v <= info.integer_max; };
  const auto number_fits = [&](double v) { return std::isfinite(v) && v >= info.number_min && v <= info.number_max; };
  if (const auto* one = std::get_if<std::int64_t>(&value)) return integer_fits(*one);
  if (const auto* one = std::get_if<double>(&value)) return number_fits(*one);
  if (const auto* three = std::get_if<std::array<std::int64_t, 3>>(&value))
    return integer_fits((*three)[0]) && integer_fits((*three)[1]) && integer_fits((*three)[2]);
  if (const auto* two = std::get_if<std::array<double, 2>>(&value))
    return number_fits((*two)[0]) && number_fits((*two)[1]);
  if (const auto* three = std::get_if<std::array<double, 3>>(&value))
    return number_fits((*three)[0]) && number_fits((*three)[1]) && number_fits((*three)[2]);
  return true;
}

}  // namespace

const std::vector<Table>& config_tables() {
  static const std::vector<Table> tables = make_tables();
  return tables;
}

const std::vector<Key<ObjectConfig>>& object_keys() {
  static const std::vector<Key<ObjectConfig>> keys = make_object_keys();
  return keys;
}

const std::vector<Key<WorkConfig>>& work_keys() {
  static const std::vector<Key<WorkConfig>> keys = make_work_keys();
  return keys;
}

const std::vector<Key<InflowConfig>>& inflow_keys() {
  static const std::vector<Key<InflowConfig>> keys = make_inflow_keys();
  return keys;
}

const std::vector<Key<GaugeConfig>>& gauge_keys() {
  static const std::vector<Key<GaugeConfig>> keys = make_gauge_keys();
  return keys;
}

std::string describe(const KeyInfo& info) {
  switch (info.kind) {
    case Kind::boolean:
      return "true or false";
    case Kind::integer:
      return "an integer " + describe_integers(info);
    case Kind::number:
      return describe_numbers(info);
    case Kind::text:
      return "a string";
    case Kind::choice:
      return "one of " + quoted_list(info.choices);
    case Kind::integers3:
      return "3 integers [x, y, z], each " + describe_integers(info);
    case Kind::integers3_or_one:
      return "an integer or 3 integers [x, y, z], each " + describe_integers(info);
    case Kind::numbers2:
      return "2 finite numbers [x, y]";
    case Kind::numbers3:
      return "3 finite numbers [x, y, z]";
    case Kind::booleans3:
      return "3 times true or false, [x, y, z]";
  }
  return {};
}

void check_value(const KeyInfo& info, const Value& value, const std::string& name) {
  if (!in_range(info, value))
    throw support::InputError(fmt::format("{} must be {}; got {}", name, describe(info), format_value(value)));
  if (info.kind != Kind::choice) return;
  const std::string& word = std::get<std::string>(value);
  const std::vector<std::string_view> names = names_of(info.choices);
  for (const std::string_view choice : names)
    if (word == choice) return;
  std::string message = fmt::format("{} must be {}; got {}", name, describe(info), format_value(value));
  if (const auto near = nearest(word, names)) message += fmt::format("; did you mean \"{}\"?", *near);
  throw support::InputError(message);
}

std::string format_value(const Value& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) return v ? "true" : "false";
        if constexpr (std::is_same_v<T, std::int64_t>) return fmt::format("{}", v);
        if constexpr (std::is_same_v<T, double>) return format_number(v);
        if constexpr (std::is_same_v<T, std::string>) return format_text(v);
        if constexpr (std::is_same_v<T, std::array<std::int64_t, 3>>)
          return fmt::format("[{}, {}, {}]", v[0], v[1], v[2]);
        if constexpr (std::is_same_v<T, std::array<double, 2>>)
          return fmt::format("[{}, {}]", format_number(v[0]), format_number(v[1]));
        if constexpr (std::is_same_v<T, std::array<double, 3>>)
          return fmt::format("[{}, {}, {}]", format_number(v[0]), format_number(v[1]), format_number(v[2]));
        if constexpr (std::is_same_v<T, std::array<bool, 3>>) return fmt::format("[{}, {}, {}]", v[0], v[1], v[2]);
      },
      value);
}

}  // namespace amrbench::apps
