#include "apps/config_toml.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "apps/config_schema.hpp"
#include "apps/toml_guard.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

namespace {

using support::InputError;

constexpr int kMaxKeyDepth = 16;

std::string describe_type(const toml::node& node) {
  if (const auto* array = node.as_array()) return fmt::format("an array of {} values", array->size());
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::string:
      return "the string " + format_value(Value(node.ref<std::string>()));
    case toml::node_type::integer:
      return "the integer " + format_value(Value(node.ref<std::int64_t>()));
    case toml::node_type::floating_point:
      return "the number " + format_value(Value(node.ref<double>()));
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

/// The node as a number; integers are numbers as well.
std::optional<double> as_number(const toml::node& node) {
  if (const auto* v = node.as_floating_point()) return v->get();
  if (const auto* v = node.as_integer()) return static_cast<double>(v->get());
  return std::nullopt;
}

template <class Number, std::size_t kCount, class Read>
std::optional<Value> as_several(const toml::node& node, Read&& read) {
  const auto* array = node.as_array();
  if (!array || array->size() != kCount) return std::nullopt;
  std::array<Number, kCount> several{};
  for (std::size_t d = 0; d < kCount; ++d) {
    const std::optional<Number> one = read((*array)[d]);
    if (!one) return std::nullopt;
    several[d] = *one;
  }
  return several;
}

std::optional<Value> read_node(const KeyInfo& info, const toml::node& node) {
  const auto read_integer = [](const toml::node& n) -> std::optional<std::int64_t> {
    if (const auto* v = n.as_integer()) return v->get();
    return std::nullopt;
  };
  switch (info.kind) {
    case Kind::boolean:
      if (const auto* v = node.as_boolean()) return v->get();
      return std::nullopt;
    case Kind::integer:
      if (const auto v = read_integer(node)) return *v;
      return std::nullopt;
    case Kind::number:
      if (const auto v = as_number(node)) return *v;
      return std::nullopt;
    case Kind::text:
    case Kind::choice:
      if (const auto* v = node.as_string()) return v->get();
      return std::nullopt;
    case Kind::integers3_or_one:
      if (const auto v = read_integer(node)) return std::array<std::int64_t, 3>{*v, *v, *v};
      [[fallthrough]];
    case Kind::integers3:
      return as_several<std::int64_t, 3>(node, read_integer);
    case Kind::numbers2:
      return as_several<double, 2>(node, as_number);
    case Kind::numbers3:
      return as_several<double, 3>(node, as_number);
    case Kind::booleans3:
      return as_several<bool, 3>(node, [](const toml::node& n) -> std::optional<bool> {
        if (const auto* v = n.as_boolean()) return v->get();
        return std::nullopt;
      });
  }
  return std::nullopt;
}

/// The node as a value of the key, type and range checked.
Value convert(const KeyInfo& info, const toml::node& node, const std::string& name) {
  const std::optional<Value> value = read_node(info, node);
  if (!value) {
    // An array of the right length holds the wrong thing inside: name the first element that is none of the key's.
    const auto* array = node.as_array();
    std::string got = describe_type(node);
    if (array && array->size() == (info.kind == Kind::numbers2 ? 2 : 3)) {
      const bool numbers = info.kind == Kind::numbers2 || info.kind == Kind::numbers3;
      const auto fits = [&](const toml::node& element) {
        if (info.kind == Kind::booleans3) return element.is_boolean();
        return numbers ? element.is_number() : element.is_integer();
      };
      for (const toml::node& element : *array)
        if (!fits(element)) {
          got = "an array with " + describe_type(element);
          break;
        }
    }
    throw InputError(fmt::format("{} must be {}; got {}", name, describe(info), got));
  }
  check_value(info, *value, name);
  return *value;
}

template <class Owner>
const Key<Owner>* find_key(const std::vector<Key<Owner>>& keys, std::string_view name) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const Key<Owner>& k) { return k.info.name == name; });
  return found == keys.end() ? nullptr : &*found;
}

const Table* find_table(std::string_view name) {
  const auto& tables = config_tables();
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const Table& t) { return t.name == name; });
  return found == tables.end() ? nullptr : &*found;
}

/// "; did you mean X?" or the list of what there is. A key that stands in another table is found there.
template <class Owner>
std::string key_hint(const std::vector<Key<Owner>>& keys, std::string_view table, std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& key : keys) names.push_back(key.info.name);
  if (const auto near = nearest(name, names)) return fmt::format("; did you mean {}.{}?", table, *near);
  for (const Table& other : config_tables())
    if (find_key(other.keys, name)) return fmt::format("; did you mean {}.{}?", other.name, name);
  return fmt::format("; the keys of {} are {}", table, fmt::join(names, ", "));
}

std::string table_hint(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Table& table : config_tables()) names.push_back(table.name);
  visit_arrays([&](std::string_view array, const auto& /*keys*/, auto /*member*/) { names.push_back(array); });
  if (const auto near = nearest(name, names)) return fmt::format("; did you mean {}?", *near);
  for (const Table& table : config_tables())
    if (find_key(table.keys, name)) return fmt::format("; did you mean {}.{}?", table.name, name);
  return fmt::format("; the tables are {}", fmt::join(names, ", "));
}

/// User text in a message: one short line, whatever it holds.
std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string line(text.substr(0, kLongest));
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  if (text.size() > kLongest) line += "...";
  return line;
}

/// Reads a parsed file into a configuration.
class TableReader {
 public:
  explicit TableReader(std::string filename) : filename_(std::move(filename)) {}

  Config read(const toml::table& root) {
    Config config;
    for (auto&& [name, node] : root) {
      if (read_array(name.str(), node, config)) continue;
      if (const Table* table = find_table(name.str()))
        read_table(*table, node, config);
      else
        fail(name.source(), fmt::format("{}: unknown table{}", shown(name.str()), table_hint(name.str())));
    }
    return config;
  }

 private:
  [[noreturn]] void fail(const toml::source_region& source, const std::string& message) const {
    throw InputError(place(source) + message);
  }

  [[nodiscard]] std::string place(const toml::source_region& source) const {
    return fmt::format("{}:{}: ", filename_, source.begin.line);
  }

  void read_table(const Table& table, const toml::node& node, Config& config) const {
    const auto* entries = node.as_table();
    if (!entries)
      fail(node.source(), fmt::format("{0}: must be a table [{0}]; got {1}", table.name, describe_type(node)));
    read_keys(table.keys, *entries, std::string(table.name), config);
  }

  /// False where no array of tables is called so.
  bool read_array(std::string_view wanted, const toml::node& node, Config& config) const {
    bool found = false;
    visit_arrays([&](std::string_view name, const auto& keys, auto member) {
      if (name != wanted) return;
      found = true;
      const auto* array = node.as_array();
      if (!array) fail(node.source(), fmt::format("{0}: must be an array of tables; write each as [[{0}]]", name));
      for (std::size_t i = 0; i < array->size(); ++i) {
        const std::string item = fmt::format("{}.{}", name, i);
        const auto* entries = (*array)[i].as_table();
        if (!entries) fail((*array)[i].source(), fmt::format("{}: must be a table; write each as [[{}]]", item, name));
        read_keys(keys, *entries, item, (config.*member).emplace_back());
      }
    });
    return found;
  }

  template <class Owner>
  void read_keys(const std::vector<Key<Owner>>& keys, const toml::table& entries, const std::string& table,
                 Owner& owner) const {
    for (auto&& [name, node] : entries) {
      const Key<Owner>* key = find_key(keys, name.str());
      if (!key)
        fail(name.source(),
             fmt::format("{}.{}: unknown key{}", table, shown(name.str()), key_hint(keys, table, name.str())));
      key->set(owner, convert(key->info, node, fmt::format("{}{}.{}", place(name.source()), table, name.str())));
    }
  }

  std::string filename_;
};

/// The file's name without folder and ending, reduced to what run.name may hold.
std::string run_name(const std::string& filename) {
  std::string name = std::filesystem::path(filename).stem().string().substr(0, 100);
  for (char& c : name)
    if (!(std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.')) c = '-';
  if (name.empty() || name.front() == '.' || name.front() == '-') name = "run" + name;
  return name;
}

void guard(std::string_view text, const std::string& filename) {
  if (text.size() > kMaxConfigBytes)
    throw InputError(fmt::format("{}: a configuration may have at most {} bytes; this one has {}", filename,
                                 kMaxConfigBytes, text.size()));
  const int depth = deepest_dotted_key(text);
  if (depth > kMaxKeyDepth)
    throw InputError(fmt::format("{}: a key with {} dotted parts; keys have two, as in mesh.block", filename, depth));
  if (const TomlHazard hazard = find_toml_hazard(text); hazard.line > 0)
    throw InputError(fmt::format("{}:{}: not TOML: {}", filename, hazard.line, hazard.what));
}

/// The node that --set's value stands for; nullptr when it is not TOML. `holder` keeps it.
const toml::node* parse_setting_value(const std::string& value, toml::table& holder) {
  if (deepest_dotted_key(value) > kMaxKeyDepth || find_toml_hazard("value = " + value).line > 0) return nullptr;
  try {
    holder = toml::parse("value = " + value);
  } catch (const toml::parse_error&) {
    return nullptr;
  }
  return holder.size() == 1 ? holder.get("value") : nullptr;
}

Value setting_value(const KeyInfo& info, const std::string& value, const std::string& name) {
  const bool quoted = !value.empty() && (value.front() == '"' || value.front() == '\'');
  if ((info.kind == Kind::text || info.kind == Kind::choice) && !quoted) {
    check_value(info, Value(value), name);
    return value;
  }
  toml::table holder;
  const toml::node* node = parse_setting_value(value, holder);
  if (!node) throw InputError(fmt::format("{} must be {}; got {}", name, describe(info), shown(value)));
  return convert(info, *node, name);
}

/// --set object.N.key=value, N at most the number of items there are.
template <class Item>
void apply_array_setting(std::string_view array, const std::vector<Key<Item>>& keys, std::vector<Item>& items,
                         const std::string& path, const std::string& value) {
  const std::string rest = path.substr(array.size() + 1);
  const std::size_t dot = rest.find('.');
  std::size_t index = 0;
  const std::string number = rest.substr(0, dot);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
  if (dot == std::string::npos || error != std::errc{} || end != number.data() + number.size())
    throw InputError(
        fmt::format("--set {0}: tables [[{1}]] are set as {1}.N.key=value, N counted from 0", shown(path), array));
  if (index > items.size())
    throw InputError(fmt::format("--set {0}: there are {1} tables [[{2}]]; {2}.{1} would be the next", shown(path),
                                 items.size(), array));
  const std::string name = rest.substr(dot + 1);
  const auto* key = find_key(keys, name);
  const std::string table = fmt::format("{}.{}", array, index);
  if (!key)
    throw InputError(fmt::format("--set {}.{}: unknown key{}", table, shown(name), key_hint(keys, table, name)));
  const Value converted = setting_value(key->info, value, "--set " + path);
  if (index == items.size()) items.emplace_back();
  key->set(items[index], converted);
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

Config parse_toml(std::string_view text, const std::string& filename) {
  guard(text, filename);
  toml::table root;
  try {
    root = toml::parse(text, filename);
  } catch (const toml::parse_error& error) {
    throw InputError(
        fmt::format("{}:{}: not TOML: {}", filename, error.source().begin.line, shown(error.description())));
  }
  Config config = TableReader(filename).read(root);
  if (!root.at_path("run.name")) config.run.name = run_name(filename);
  // A simulated time alone leaves the number of steps to the objects' speed.
  if (config.run.time > 0.0 && !root.at_path("run.steps")) config.run.steps = 0;
  return config;
}

void place_files(Config& config, const std::filesystem::path& folder) {
  for (std::string* const file : input_files(config)) {
    const std::filesystem::path path = *file;
    if (!file->empty() && path.is_relative()) *file = (folder / path).lexically_normal().string();
  }
}

void apply_setting(Config& config, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  constexpr std::size_t kLongest = 4096;
  const bool one_line = setting.find_first_of("\n\r") == std::string::npos && setting.find('\0') == std::string::npos;
  if (equals == std::string::npos || equals == 0 || setting.size() > kLongest || !one_line)
    throw InputError(
        fmt::format("--set {}: must be one line table.key=value, as in --set mesh.block=8", shown(setting)));
  const std::string path = trimmed(setting.substr(0, equals));
  const std::string value = trimmed(setting.substr(equals + 1));
  bool is_item = false;
  visit_arrays([&](std::string_view array, const auto& keys, auto member) {
    if (!path.starts_with(std::string(array) + ".")) return;
    is_item = true;
    apply_array_setting(array, keys, config.*member, path, value);
  });
  if (is_item) return;

  const std::size_t dot = path.find('.');
  const std::string table_name = path.substr(0, dot);
  const Table* table = find_table(table_name);
  if (!table) throw InputError(fmt::format("--set {}: unknown table{}", shown(path), table_hint(table_name)));
  if (dot == std::string::npos)
    throw InputError(
        fmt::format("--set {0}: a table; name a key of it, as in {0}.{1}", path, table->keys[0].info.name));
  const std::string name = path.substr(dot + 1);
  const auto* key = find_key(table->keys, name);
  if (!key)
    throw InputError(fmt::format("--set {}: unknown key{}", shown(path), key_hint(table->keys, table_name, name)));
  key->set(config, setting_value(key->info, value, "--set " + path));
}

}  // namespace amrbench::apps
