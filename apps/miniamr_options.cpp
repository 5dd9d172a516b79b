#include "apps/miniamr_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "amr/objects.hpp"
#include "apps/names.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

namespace {

using amr::ObjectConfig;
using support::InputError;

constexpr int kLargestInt = std::numeric_limits<int>::max();

/// miniAMR's settings that mean something here, at miniAMR's defaults.
struct Settings {
  int num_refine = 5, block_change = 0, uniform_refine = 0;
  int nx = 10, ny = 10, nz = 10;
  int init_x = 1, init_y = 1, init_z = 1;
  int npx = 1, npy = 1, npz = 1;
  int num_vars = 40, num_tsteps = 20, stages_per_ts = 20;
  int refine_freq = 5, checksum_freq = 5, plot_freq = 0, error_tol = 8;
  int inbalance = 0, limit_move = 0, lb_opt = 1, stencil = 7, num_objects = 0;
  double time = 0.0;
  bool steps_given = false;
  bool refine_ghost = false;
  bool group_blocks = false;
  std::string_view curve;  ///< the option that chose the partition; empty = none did
};

/// An option with one integer.
struct IntegerOption {
  std::string_view name;
  int Settings::*member;
  int min, max;
};

constexpr IntegerOption kIntegers[] = {
    {"--num_refine", &Settings::num_refine, 0, 20},
    {"--block_change", &Settings::block_change, 0, kLargestInt},
    {"--uniform_refine", &Settings::uniform_refine, 0, kLargestInt},
    {"--nx", &Settings::nx, 2, 32},
    {"--ny", &Settings::ny, 2, 32},
    {"--nz", &Settings::nz, 2, 32},
    {"--init_x", &Settings::init_x, 1, 1 << 20},
    {"--init_y", &Settings::init_y, 1, 1 << 20},
    {"--init_z", &Settings::init_z, 1, 1 << 20},
    {"--npx", &Settings::npx, 1, 1 << 20},
    {"--npy", &Settings::npy, 1, 1 << 20},
    {"--npz", &Settings::npz, 1, 1 << 20},
    {"--num_vars", &Settings::num_vars, 1, 65536},
    {"--num_tsteps", &Settings::num_tsteps, 1, kLargestInt},
    {"--stages_per_ts", &Settings::stages_per_ts, 1, kLargestInt},
    {"--refine_freq", &Settings::refine_freq, 0, kLargestInt},
    {"--checksum_freq", &Settings::checksum_freq, 0, kLargestInt},
    {"--plot_freq", &Settings::plot_freq, 0, kLargestInt},
    {"--error_tol", &Settings::error_tol, 0, 300},
    {"--inbalance", &Settings::inbalance, 0, kLargestInt},
    {"--limit_move", &Settings::limit_move, 0, 100},
    {"--lb_opt", &Settings::lb_opt, 0, 2},
    {"--stencil", &Settings::stencil, 0, 27},
    {"--num_objects", &Settings::num_objects, 0, kLargestInt},
};

/// An option that has no effect here, and why. max < min: it takes no value.
struct SilentOption {
  std::string_view name;
  int min, max;
  std::string_view reason;
};

constexpr std::string_view kRcb = "it tunes miniAMR's own partitioners";
constexpr SilentOption kSilent[] = {
    {"--max_blocks", 0, kLargestInt, "memory comes with the blocks; device.preallocated_blocks asks for some ahead"},
    {"--comm_vars", 0, kLargestInt, "all variables travel in one message a neighbour rank"},
    {"--permute", 0, -1, "faces of all directions travel together"},
    {"--blocking_send", 0, -1, "faces travel by neighbour collectives"},
    {"--code", 0, 2, "there are no ghost cells to send"},
    {"--send_faces", 0, -1, "faces for one rank travel in one message"},
    {"--reorder", -1, 1, "blocks start in the order of the curve"},
    {"--change_dir", 0, -1, kRcb},
    {"--break_ties", 0, -1, kRcb},
    {"--report_diffusion", 0, -1, "every check's sums are exact and go to run.json"},
    {"--report_perf", 0, 15, "results always go to run.json and run.csv"},
};

constexpr std::string_view kCurves[] = {"--rcb", "--morton", "--hilbert", "--trunc_hilbert"};
constexpr std::string_view kOthers[] = {"--time", "--object", "--group_blocks", "--refine_ghost", "--refine_ghosts"};

template <class Options>
auto find_option(const Options& options, std::string_view name) {
  const auto found =
      std::find_if(std::begin(options), std::end(options), [&](const auto& o) { return o.name == name; });
  return found == std::end(options) ? nullptr : &*found;
}

[[noreturn]] void fail_unknown(std::string_view word) {
  std::vector<std::string_view> names(std::begin(kCurves), std::end(kCurves));
  for (const auto& option : kIntegers) names.push_back(option.name);
  for (const auto& option : kSilent) names.push_back(option.name);
  names.insert(names.end(), std::begin(kOthers), std::end(kOthers));
  std::string message = fmt::format("--miniamr: {} is no option of miniAMR", word);
  if (const auto near = nearest(word, names))
    message += fmt::format("; did you mean {}?", *near);
  else
    message += "; docs/miniamr.md lists them all";
  throw InputError(message);
}

std::string range_text(int min, int max) {
  return max == kLargestInt ? fmt::format(">= {}", min) : fmt::format("from {} to {}", min, max);
}

std::optional<int> to_integer(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<double> to_number(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// Reads the words in order.
class LineReader {
 public:
  explicit LineReader(std::vector<std::string> words) : words_(std::move(words)) {}

  void read() {
    while (at_ < words_.size()) read_option(words_[at_++]);
    if (settings_.num_objects != static_cast<int>(objects_.size()))
      throw InputError(fmt::format("--miniamr: --num_objects {} but {} --object; the two must agree",
                                   settings_.num_objects, objects_.size()));
  }

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const std::vector<ObjectConfig>& objects() const { return objects_; }
  [[nodiscard]] std::vector<std::string>& notes() { return notes_; }

 private:
  void read_option(const std::string& name) {
    if (const auto* option = find_option(kIntegers, name)) {
      settings_.*option->member = integer(name, option->min, option->max);
      if (name == "--num_tsteps") settings_.steps_given = true;
    } else if (const auto* silent = find_option(kSilent, name)) {
      if (silent->max >= silent->min) (void)integer(name, silent->min, silent->max);
      add_note(fmt::format("{} has no effect here: {}", name, silent->reason));
    } else if (std::find(std::begin(kCurves), std::end(kCurves), name) != std::end(kCurves)) {
      settings_.curve = *std::find(std::begin(kCurves), std::end(kCurves), name);
    } else if (name == "--time") {
      settings_.time = number(name, "a number > 0");
      if (settings_.time <= 0.0) throw InputError("--miniamr: --time must be a number > 0; got " + words_[at_ - 1]);
    } else if (name == "--refine_ghost" || name == "--refine_ghosts") {
      settings_.refine_ghost = true;
    } else if (name == "--group_blocks") {
      settings_.group_blocks = true;
    } else if (name == "--object") {
      read_object();
    } else {
      fail_unknown(name);
    }
  }

  /// A note is given once, however often the option stands there.
  void add_note(std::string note) {
    if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(std::move(note));
  }

  const std::string& value(std::string_view option, std::string_view right) {
    if (at_ == words_.size() || words_[at_].starts_with("--"))
      throw InputError(fmt::format("--miniamr: {} lacks its value; it must be {}", option, right));
    return words_[at_++];
  }

  int integer(std::string_view option, int min, int max) {
    const std::string right = "an integer " + range_text(min, max);
    const std::string& word = value(option, right);
    const auto number = to_integer(word);
    if (!number || *number < min || *number > max)
      throw InputError(fmt::format("--miniamr: {} must be {}; got {}", option, right, word));
    return *number;
  }

  double number(std::string_view option, std::string_view right) {
    const std::string& word = value(option, right);
    const auto number = to_number(word);
    if (!number) throw InputError(fmt::format("--miniamr: {} must be {}; got {}", option, right, word));
    return *number;
  }

  void read_object() {
    constexpr std::size_t kValues = 14;
    const std::string option = fmt::format("--object (number {})", objects_.size() + 1);
    std::size_t count = 0;
    while (at_ + count < words_.size() && !words_[at_ + count].starts_with("--")) ++count;
    if (count != kValues)
      throw InputError(
          fmt::format("--miniamr: {} must have 14 numbers, type bounce and x y z of center, movement, "
                      "size, growth; got {}",
                      option, count));
    const int type = integer(option + " type", 0, 25);
    const auto shape = shape_of_miniamr_type(type);
    if (!shape) throw InputError(fmt::format("--miniamr: {} type must be 0 to 15 or 20 to 25; got {}", option, type));
    ObjectConfig object;
    object.shape = std::string(*shape);
    object.volume = type % 2 == 1;
    object.bounce = amr::bounce_of_option(integer(option + " bounce", 0, 2));
    for (auto* group : {&object.center, &object.velocity, &object.size, &object.growth})
      for (double& one : *group) one = number(option, "14 finite numbers");
    objects_.push_back(object);
  }

  std::vector<std::string> words_;
  std::size_t at_ = 0;
  Settings settings_;
  std::vector<ObjectConfig> objects_;
  std::vector<std::string> notes_;
};

int root_extent(int ranks, int blocks, char axis) {
  const long extent = static_cast<long>(ranks) * blocks;
  if (extent > (1 << 20))
    throw InputError(
        fmt::format("--miniamr: --np{0} times --init_{0} is {1} blocks; at most {2} fit", axis, extent, 1 << 20));
  return static_cast<int>(extent);
}

void map_mesh(const Settings& s, amr::MeshConfig& mesh) {
  mesh.root = {root_extent(s.npx, s.init_x, 'x'), root_extent(s.npy, s.init_y, 'y'), root_extent(s.npz, s.init_z, 'z')};
  mesh.block = {s.nx, s.ny, s.nz};
  const std::array<char, 3> axes{'x', 'y', 'z'};
  for (std::size_t d = 0; d < 3; ++d)
    if (mesh.block[d] % 2 != 0)
      throw InputError(fmt::format("--miniamr: --n{} must be even, from 2 to 32; got {}", axes[d], mesh.block[d]));
  mesh.max_level = s.num_refine;
  mesh.block_change = std::min(s.block_change, s.num_refine);  // further rounds of miniAMR find nothing to do
  mesh.uniform = s.uniform_refine != 0;
  mesh.refine_ghost = s.refine_ghost;
}

void map_run(const Settings& s, amr::RunConfig& run, std::vector<std::string>& notes) {
  run.name = "miniamr";
  run.time = s.time;
  // With --time alone the objects' speed sets the step length; with --num_tsteps too, that many equal steps are made.
  run.steps = s.time > 0.0 && !s.steps_given ? 0 : s.num_tsteps;
  run.stages_per_step = s.stages_per_ts;
  run.refine_every = s.refine_freq;
  // miniAMR counts stages anew in each time step and always checks the first.
  run.checksum_every = std::min(s.checksum_freq, s.stages_per_ts);
  if (run.checksum_every > 0 && s.stages_per_ts % run.checksum_every != 0)
    notes.push_back(
        fmt::format("--checksum_freq {} does not divide --stages_per_ts {}: sums are checked every {} stages of the "
                    "whole run, where "
                    "miniAMR counts anew in each time step",
                    s.checksum_freq, s.stages_per_ts, s.checksum_freq));
  // The literal's value, not a power's rounding: 1e-8 is written and read back as 1e-08.
  run.tolerance = *to_number(fmt::format("1e-{}", s.error_tol));
  if (s.stencil != 0 && s.stencil != 7 && s.stencil != 27)
    throw InputError(fmt::format("--miniamr: --stencil must be 0, 7 or 27; got {}", s.stencil));
  run.stencil = s.stencil == 0 ? "mixed" : s.stencil == 7 ? "average7" : "average27";
  if (s.stencil == 0 && s.num_vars < 8)
    throw InputError(fmt::format("--miniamr: --stencil 0 needs --num_vars 8 or more; got {}", s.num_vars));
}

void map_balance(const Settings& s, Config& config, std::vector<std::string>& notes) {
  const bool hilbert = s.curve == "--hilbert" || s.curve == "--trunc_hilbert";
  config.partition.method = hilbert ? "hilbert" : s.curve == "--rcb" ? "orb" : "morton";
  if (s.curve.empty())
    notes.emplace_back(
        "the Morton curve is taken, not miniAMR's default, --rcb, which is orb here (same mesh and fields)");
  if (s.curve == "--trunc_hilbert") notes.emplace_back("--trunc_hilbert: the Hilbert curve is used, for any root grid");
  if (s.lb_opt == 2)
    notes.emplace_back(
        "--lb_opt 2 is taken as 1: blocks move ahead of each pass of changes where these would leave ranks apart");
  config.balance.policy = s.lb_opt == 0 ? "never" : s.inbalance == 0 ? "every" : "threshold";
  if (s.inbalance > 0) config.balance.threshold = s.inbalance / 100.0;
  config.balance.limit_move = s.limit_move;
  config.partition.group_blocks = s.group_blocks && config.partition.method != "orb";
  if (s.group_blocks && !config.partition.group_blocks)
    notes.emplace_back("--group_blocks has no effect here: it keeps families together along a curve, not with --rcb");
  if (s.npx * static_cast<long>(s.npy) * s.npz > 1)
    notes.emplace_back("--npx, --npy, --npz only multiply the root grid; the number of ranks is free");
}

}  // namespace

MiniamrInput parse_miniamr(std::string_view line) {
  LineReader reader(split_words(line));
  reader.read();
  const Settings& settings = reader.settings();
  MiniamrInput input;
  input.notes = std::move(reader.notes());
  map_mesh(settings, input.config.mesh);
  input.config.fields.variables = settings.num_vars;
  input.config.fields.initial = "random";
  map_run(settings, input.config.run, input.notes);
  map_balance(settings, input.config, input.notes);
  input.config.output.plotfile = settings.plot_freq;
  input.config.objects = reader.objects();
  return input;
}

}  // namespace amrbench::apps
