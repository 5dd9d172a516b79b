#include "apps/config_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "amr/checkpoint/part.hpp"
#include "loadbalance/placement.hpp"
#include "support/error.hpp"
#include "support/registry.hpp"
#include "workloads/registry.hpp"
#include "workloads/shallow_water/maps.hpp"
#include "workloads/shallow_water/problem.hpp"

namespace amrbench::apps {

namespace {

using support::InputError;

constexpr int kPositionBits = 20;  // sfc/key.hpp
constexpr std::int64_t kMaxRootBlocks = std::int64_t{1} << 31;

/// Steps and stages are counted in 63 bits, and time must be able to go on by one step.
void check_length(const Config& config) {
  constexpr double kMostStages = 0x1p62, kMostSteps = 0x1p52;
  if (static_cast<double>(config.run.steps) * config.run.stages_per_step > kMostStages)
    throw InputError(fmt::format("run.steps = {}: with run.stages_per_step = {} more than 2^62 stages",
                                 config.run.steps, config.run.stages_per_step));
  if (config.run.time == 0.0) return;
  double cells = 0.0;  // as amr::time_step()
  for (const amr::ObjectConfig& object : config.objects)
    for (std::size_t a = 0; a < 3; ++a)
      cells = std::max(cells, (std::abs(object.velocity[a]) + std::abs(object.growth[a])) *
                                  std::ldexp(config.mesh.root[a] * config.mesh.block[a], config.mesh.max_level));
  if (config.run.steps == 0 && !(config.run.time * (cells > 0.0 ? cells : 1.0) <= kMostSteps))
    throw InputError(fmt::format("run.time = {}: more than 2^52 steps, as fast as the objects are; set run.steps too",
                                 config.run.time));
}

void check_mesh(const amr::MeshConfig& mesh) {
  for (std::size_t d = 0; d < static_cast<std::size_t>(mesh.dim); ++d)
    if (mesh.block[d] % 2 != 0)
      throw InputError(
          fmt::format("mesh.block = [{}]: must be even in every direction, from 2 to 32", fmt::join(mesh.block, ", ")));
  if (mesh.dim == 2 && (mesh.block[2] != 1 || mesh.root[2] != 1))
    throw InputError("mesh.dim = 2: the third numbers of mesh.root and mesh.block are 1");
  if (mesh.dim == 2 && mesh.periodic[2]) throw InputError("mesh.dim = 2: the third of mesh.periodic is false");
  const auto widest = static_cast<unsigned>(*std::max_element(mesh.root.begin(), mesh.root.end()));
  const int bits = static_cast<int>(std::bit_width(widest - 1));
  if (bits + mesh.max_level > kPositionBits)
    throw InputError(fmt::format(
        "mesh.root = [{}] needs {} bits of position and mesh.max_level = {} as many more: {} together, at "
        "most {} fit; take a max_level of {} or a smaller root",
        fmt::join(mesh.root, ", "), bits, mesh.max_level, bits + mesh.max_level, kPositionBits, kPositionBits - bits));
  std::int64_t blocks = 1;  // no overflow: each extent is at most 2^20
  for (const int extent : mesh.root) blocks *= extent;
  if (blocks > kMaxRootBlocks)
    throw InputError(fmt::format("mesh.root = [{}]: {} root blocks; at most {} are possible",
                                 fmt::join(mesh.root, ", "), blocks, kMaxRootBlocks));
}

void check_work(const std::vector<amr::WorkConfig>& work) {
  for (std::size_t i = 0; i < work.size(); ++i)
    for (std::size_t d = 0; d < 3; ++d)
      if (work[i].lo[d] >= work[i].hi[d])
        throw InputError(fmt::format("work.{}.lo = [{}]: must be below work.{}.hi = [{}] in every direction", i,
                                     fmt::join(work[i].lo, ", "), i, fmt::join(work[i].hi, ", ")));
}

void check_run(const Config& config) {
  if (config.run.stencil == "mixed" && config.fields.variables < 8)
    throw InputError(fmt::format("fields.variables = {}: run.stencil = \"mixed\" needs 8 variables or more",
                                 config.fields.variables));
#if !defined(AMRBENCH_CUDA)
  if (config.device.backend != "cpu")
    throw InputError(
        fmt::format("device.backend = \"{}\": this build has no such back end; set device.backend = \"cpu\"",
                    config.device.backend));
#endif
  const std::string& name = config.run.name;
  const auto legal = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '-' || c == '_'; };
  if (name.empty() || name.size() > 128 || name.front() == '.' || name.front() == '-' ||
      !std::all_of(name.begin(), name.end(), legal))
    throw InputError(
        "run.name: must be 1 to 128 letters, digits, '.', '-' or '_', the first a letter, digit or '_' (it names the "
        "result folder)");
  check_length(config);
}

}  // namespace

bool is_plain_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x20 || lead == 0x7f) return false;
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xc2 && lead < 0xe0 ? 2
                               : lead >= 0xe0 && lead < 0xf0 ? 3
                               : lead >= 0xf0 && lead < 0xf5 ? 4
                                                             : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    // Overlong forms, surrogates and what lies above U+10FFFF.
    const auto second = length > 1 ? static_cast<unsigned char>(text[i + 1]) : 0;
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) || (lead == 0xf0 && second < 0x90) ||
        (lead == 0xf4 && second > 0x8f))
      return false;
    i += length;
  }
  return true;
}

void complete_config(Config& config) {
  if (config.mesh.dim == 2) config.mesh.root[2] = config.mesh.block[2] = 1;
  if (config.run.workload == "advection") {
    config.fields.variables = 1;
    config.run.stages_per_step = 2;
    if (config.run.time == 0.0) config.run.time = 0.25;
  }
  if (config.run.workload != "shallow_water") return;
  config.fields.variables =
      config.shallow_water.maps ? workloads::shallow_water::kVariablesWithMaps : kernels::shallow_water::kVariables;
  config.run.stages_per_step = 2;
  const auto& problem = support::find_entry(workloads::shallow_water::problem_registry(), config.shallow_water.problem,
                                            "shallow_water.problem");
  if (config.run.time == 0.0 && problem.make != nullptr) config.run.time = problem.make()->setup().end_time;
}

/// Which workload runs in which dimensions its registry knows.
void check_workload(const Config& config) {
  const auto& entry = support::find_entry(workloads::workload_registry(), config.run.workload, "run.workload");
  const bool fits = config.mesh.dim == 2 ? entry.make_2d != nullptr : entry.make_3d != nullptr;
  if (!fits)
    throw InputError(fmt::format("mesh.dim = {}: run.workload = \"{}\" needs mesh.dim = {}", config.mesh.dim,
                                 config.run.workload, config.mesh.dim == 2 ? 3 : 2));
  const bool is_water = config.run.workload == "shallow_water";
  if (!is_water && !(config.inflow.empty() && config.gauge.empty()))
    throw InputError(fmt::format("[[{}]]: for run.workload = \"shallow_water\", not \"{}\"",
                                 config.inflow.empty() ? "gauge" : "inflow", config.run.workload));
  if (config.run.workload != "averages" && !config.work.empty())
    throw InputError(
        fmt::format("[[work]]: artificial work is for run.workload = \"averages\", not \"{}\"", config.run.workload));
}

void check_inputs(const Config& config) {
  if (config.mesh.dim == 2)
    static_cast<void>(workloads::make_workload<2>(config.run.workload, config, config));
  else
    static_cast<void>(workloads::make_workload<3>(config.run.workload, config, config));
}

std::vector<std::string> check_config(const Config& config) {
  check_workload(config);
  Config copy = config;
  for (const std::string* const file : input_files(copy))
    if (!is_plain_utf8(*file))
      throw InputError(
          "shallow_water.*_file, shallow_water.resolution, inflow.series and depths: must be paths in UTF-8 without "
          "control characters");
  const bool saves = config.output.checkpoint > 0 || config.output.checkpoint_minutes > 0.0;
  if (saves && !amr::has_checkpoints())
    throw InputError(fmt::format(
        "output.checkpoint{}: this build has no checkpoints; install libhdf5-dev and libxxhash-dev (scripts/"
        "install-packages optional) and configure again, or leave it out",
        config.output.checkpoint > 0 ? "" : "_minutes"));
  check_mesh(config.mesh);
  check_run(config);
  check_work(config.work);
  if (!is_plain_utf8(config.output.dir))
    throw InputError("output.dir (--out): must be a path in UTF-8 without control characters");
  if (!is_plain_utf8(config.output.trace))
    throw InputError("output.trace (--trace): must be a path in UTF-8 without control characters");

  std::vector<std::string> notes;
  const bool adaptive = config.mesh.max_level > 0 && !config.mesh.uniform && !config.objects.empty();
  if (config.run.stencil == "average27" && adaptive)
    notes.emplace_back(
        "run.stencil = \"average27\" conserves totals on uniform meshes only; elsewhere values are only checked to "
        "stay finite");
  const bool follows_objects = config.run.workload == "averages";
  if (follows_objects && config.mesh.max_level > 0 && !config.mesh.uniform && config.objects.empty())
    notes.emplace_back("no [[object]]: nothing will ask for refinement");
  if (!follows_objects && !config.objects.empty())
    notes.push_back(fmt::format("[[object]] has no effect: run.workload is \"{}\"", config.run.workload));
  if (config.mesh.uniform && !config.objects.empty())
    notes.emplace_back("mesh.uniform = true: the objects have no effect");
  const loadbalance::Placement placement(config.partition);
  if (config.partition.nodes != 0 && placement.follows_keys())
    notes.push_back(
        fmt::format("partition.nodes = {}: parts are slices of the keys, and the slices of a node's ranks follow one "
                    "another anyway; "
                    "blocks are placed as with 0",
                    config.partition.nodes));
  if (placement.gathers())
    notes.push_back(fmt::format("partition.method {}: gathered on one rank, all blocks whenever they are placed",
                                config.partition.method));
  if (config.balance.weights == "region" && config.work.empty())
    notes.emplace_back("balance.weights = \"region\" without [[work]]: every block weighs 1");
  if (config.device.backend == "cpu" && config.device.transport != "auto")
    notes.emplace_back("device.transport has no effect: device.backend is \"cpu\"");
  if (config.run.steps == 0 && config.run.time == 0.0)
    notes.emplace_back("run.steps = 0 and run.time = 0: only the first mesh is made, no step is run");
  return notes;
}

}  // namespace amrbench::apps
