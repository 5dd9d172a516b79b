#include "apps/machine_file.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <variant>

#include "apps/config_schema.hpp"
#include "apps/config_toml.hpp"
#include "apps/names.hpp"
#include "apps/text_file.hpp"
#include "apps/toml_guard.hpp"
#include "partitioners/inputs/text_file.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

namespace {

using loadbalance::Machine;
using support::InputError;

using Member = std::variant<double Machine::*, int Machine::*, bool Machine::*, std::string Machine::*>;
constexpr int kMostRanks = 1 << 20;
constexpr double kMostSeconds = 1e6;  // of anything; more sums up to infinity

struct MachineKey {
  std::string_view name;
  Member member;
  std::string_view comment;
  double most = kMostSeconds;
};

std::span<const MachineKey> machine_keys() {
  static const MachineKey keys[] = {
      {"name", &Machine::name, "in the rows of a replay"},
      {"overlap", &Machine::overlap, "communication hidden behind computation"},
      {"ranks_per_node", &Machine::ranks_per_node, "ranks 0 .. k - 1 share the first node, and so on"},
      {"update_s", &Machine::update_s, "seconds for a value of a cell, one stage, on one rank with its threads"},
      {"block_s", &Machine::block_s, "seconds for a block, one stage, besides"},
      {"cache_bytes", &Machine::cache_bytes, "of a rank's two copies of the fields, what its caches hold", 1e15},
      {"memory_update_s", &Machine::memory_update_s, "seconds for a value that they do not hold, besides"},
      {"jump_cell_s", &Machine::jump_cell_s,
       "seconds for a cell of a face that crosses a level, one stage, 8 variables at a time"},
      {"node_latency_s", &Machine::node_latency_s, "seconds for a message within a node"},
      {"node_byte_s", &Machine::node_byte_s, "and for each of its bytes"},
      {"latency_s", &Machine::latency_s, "the same between nodes"},
      {"byte_s", &Machine::byte_s, ""},
      {"face_cell_s", &Machine::face_cell_s, "seconds for a cell of a face that is sent, 8 variables at a time"},
      {"wait_fraction", &Machine::wait_fraction, "of a stage's computation, waiting for ranks that have no more to do"},
      {"migrate_byte_s", &Machine::migrate_byte_s,
       "seconds for a byte of a block that moves within a node, at either end"},
      {"migrate_block_s", &Machine::migrate_block_s, "for the block besides"},
      {"migrate_s", &Machine::migrate_s, "and each time any block moves"},
      {"collective_s", &Machine::collective_s, "seconds of a collective"},
      {"collective_latency_s", &Machine::collective_latency_s,
       "and for each doubling of ranks; not given: the latency of a message"},
      {"refine_block_s", &Machine::refine_block_s,
       "seconds for a block of the fullest rank, each pass of a refinement"},
      {"refine_pass_s", &Machine::refine_pass_s, "seconds for a pass of a refinement, besides a collective"},
      {"change_byte_s", &Machine::change_byte_s, "seconds for a byte of a block that a split or a merge makes"},
      {"cut_block_s", &Machine::cut_block_s, "the same each time blocks are placed anew"},
  };
  return keys;
}

void set(Machine& machine, const MachineKey& key, const toml::node& node, const std::string& where) {
  if (const auto* number = std::get_if<double Machine::*>(&key.member)) {
    const auto value = node.value<double>();
    if (!value || node.is_boolean() || !(*value >= 0.0 && *value <= key.most))
      throw InputError(fmt::format("{} must be a finite number from 0 to {}", where, key.most));
    machine.*(*number) = *value;
  } else if (const auto* integer = std::get_if<int Machine::*>(&key.member)) {
    const auto* value = node.as_integer();
    if (!value || value->get() < 1 || value->get() > kMostRanks)
      throw InputError(fmt::format("{} must be an integer from 1 to {}", where, kMostRanks));
    machine.*(*integer) = static_cast<int>(value->get());
  } else if (const auto* flag = std::get_if<bool Machine::*>(&key.member)) {
    if (!node.is_boolean()) throw InputError(fmt::format("{} must be true or false", where));
    machine.*(*flag) = node.as_boolean()->get();
  } else {
    if (!node.is_string()) throw InputError(fmt::format("{} must be a string", where));
    machine.*std::get<std::string Machine::*>(key.member) = node.as_string()->get();
  }
}

}  // namespace

loadbalance::Machine parse_machine(std::string_view text, const std::string& filename) {
  constexpr int kMostSegments = 16;
  if (deepest_dotted_key(text) > kMostSegments)
    throw InputError(fmt::format("{}: keys are nested too deeply", filename));
  if (const TomlHazard hazard = find_toml_hazard(text); hazard.line > 0)
    throw InputError(fmt::format("{}:{}: not TOML: {}", filename, hazard.line, hazard.what));
  toml::table root;
  try {
    root = toml::parse(text, filename);
  } catch (const toml::parse_error& error) {
    throw InputError(fmt::format("{}:{}: not TOML: {}", filename, error.source().begin.line, error.description()));
  }
  Machine machine;
  machine.name = std::filesystem::path(filename).stem().string();
  std::vector<std::string_view> names;
  for (const MachineKey& key : machine_keys()) names.push_back(key.name);
  for (const auto& [toml_name, node] : root) {
    const std::string_view name = toml_name.str();
    const auto keys = machine_keys();
    const auto key = std::find_if(keys.begin(), keys.end(), [&](const MachineKey& k) { return k.name == name; });
    if (key == keys.end()) {
      const auto near = nearest(name, names);
      throw InputError(fmt::format("{}:{}: {}: unknown key{}", filename, node.source().begin.line,
                                   partitioners::shown(name), near ? fmt::format("; did you mean {}?", *near) : ""));
    }
    set(machine, *key, node, fmt::format("{}:{}: {}", filename, node.source().begin.line, name));
  }
  return machine;
}

loadbalance::Machine read_machine(const std::string& path) {
  return parse_machine(read_text_file(path, "machine model"), path);
}

std::string write_machine(const Machine& machine) {
  std::string text;
  for (const MachineKey& key : machine_keys()) {
    const auto* number = std::get_if<double Machine::*>(&key.member);
    if (number != nullptr && machine.*(*number) < 0.0) continue;  // not set
    const std::string value = std::visit(
        [&](auto member) -> std::string {
          using T = std::decay_t<decltype(machine.*member)>;
          if constexpr (std::is_same_v<T, std::string>) return format_value(Value(machine.*member));
          if constexpr (std::is_same_v<T, bool>) return machine.*member ? "true" : "false";
          if constexpr (std::is_same_v<T, int>) return fmt::format("{}", machine.*member);
          if constexpr (std::is_same_v<T, double>) return fmt::format("{:.4e}", machine.*member);
        },
        key.member);
    text += fmt::format("{} = {}", key.name, value);
    text += key.comment.empty() ? "\n" : fmt::format("  # {}\n", key.comment);
  }
  return text;
}

}  // namespace amrbench::apps
