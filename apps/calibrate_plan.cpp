#include "apps/calibrate_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <random>

#include "amr/objects.hpp"
#include "loadbalance/replay/trace_recorder.hpp"

namespace amrbench::apps {

namespace {

/// A sphere that drifts through a cube of 2^3 roots; levels above the deepest that is timed.
struct SphereRun {
  int above;
  double radius;
  bool volume;
  double pace;  ///< of its drift
  const char* policy;
};
constexpr SphereRun kSpheres[] = {{0, 0.25, false, 1.0, "every"},   {0, 0.15, false, 2.0, "every"},
                                  {0, 0.2, false, 1.0, "every_n"},  {0, 0.25, true, 0.5, "every"},
                                  {0, 0.2, true, 1.0, "threshold"}, {1, 0.3, false, 2.0, "every"},
                                  {1, 0.3, true, 1.0, "never"},     {1, 0.2, false, 1.0, "every"}};

/// Shapes of few and many values a block.
struct Shape {
  int block, variables;
};
constexpr Shape kShapes[] = {{4, 10}, {4, 40}, {6, 16}, {8, 10}, {8, 40}, {12, 8}, {16, 4}, {16, 16}};

constexpr const char* kCurve = "hilbert";  ///< of those

double values_of(const Config& config) {
  return static_cast<double>(config.fields.variables) * config.mesh.block[0] * config.mesh.block[1] *
         config.mesh.block[2];
}

/// Some thousand blocks on the deepest level, where a block is small: the surface of a sphere has 4^level of them.
int deepest_level(const Config& config) {
  const double values = values_of(config);
  return values <= 12'000 ? 4 : values <= 100'000 ? 3 : 2;
}

Config config_of(const Config& shape) {
  Config config;
  config.mesh.block = shape.mesh.block;
  config.fields.variables = shape.fields.variables;
  config.run.stencil = shape.run.stencil;
  config.run.overlap = shape.run.overlap;
  config.run.checksum_every = 0;
  config.partition = shape.partition;
  return config;
}

std::string name_of(const Config& config) {
  const auto& n = config.mesh.block;
  const std::string edge =
      n[0] == n[1] && n[1] == n[2] ? fmt::format("{}^3", n[0]) : fmt::format("{}", fmt::join(n, "x"));
  std::string bodies;
  for (const amr::ObjectConfig& object : config.objects)
    bodies += fmt::format("{}{}{} {:.2f}", bodies.empty() ? "" : " + ", object.volume ? "solid " : "", object.shape,
                          object.size[0]);
  return fmt::format("{} x {}, root {}, level {}, {}, {}, {}, {} steps, {} apart", edge, config.fields.variables,
                     fmt::join(config.mesh.root, "x"), config.mesh.max_level, bodies, config.partition.method,
                     config.balance.policy, config.run.steps, config.run.refine_every);
}

Config sphere_run(const Config& shape, const SphereRun& run) {
  Config config = config_of(shape);
  config.mesh.max_level = std::max(1, deepest_level(shape) - run.above);
  config.run.steps = 40 << std::min(run.above, 2);
  config.run.stages_per_step = 5;
  config.run.refine_every = 2;
  amr::ObjectConfig sphere;
  sphere.volume = run.volume;
  sphere.center = {0.35, 0.4, 0.45};
  sphere.size = {run.radius, run.radius, run.radius};
  sphere.velocity = {0.005 * run.pace, 0.0035 * run.pace, 0.002 * run.pace};
  sphere.bounce = "edge";
  config.objects = {sphere};
  config.balance.policy = run.policy;
  return config;
}

/// A number in [low, high); the same with every library.
double between(std::mt19937_64& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
}

template <std::size_t N>
const char* one_of(std::mt19937_64& random, const std::array<const char*, N>& names) {
  return names[random() % N];
}

amr::ObjectConfig random_object(std::mt19937_64& random) {
  amr::ObjectConfig object;
  object.shape = amr::shape_names()[random() % amr::shape_names().size()];
  object.volume = random() % 3 == 0;
  object.bounce = "edge";
  for (std::size_t d = 0; d < 3; ++d) {
    object.center[d] = between(random, 0.25, 0.75);
    object.velocity[d] = between(random, -0.015, 0.015);
    object.size[d] = between(random, 0.1, 0.35);
    object.growth[d] = between(random, -0.001, 0.001);
  }
  return object;
}

/// The draw with this number.
Config random_run(const std::optional<Config>& shape, std::uint64_t seed, std::uint64_t number) {
  std::seed_seq mixed{seed, seed >> 32, number};
  std::mt19937_64 random(mixed);
  Config of_shape;
  if (shape) {
    of_shape = *shape;
  } else {
    const int edge = 4 + 2 * static_cast<int>(random() % 7);
    of_shape.mesh.block = {edge, edge, edge};
    of_shape.fields.variables = 4 + static_cast<int>(random() % 37);
    of_shape.partition.method = kCurve;
  }
  Config config = config_of(of_shape);
  for (int& cells : config.mesh.root) cells = 1 + static_cast<int>(random() % 3);
  config.mesh.max_level = std::max(1, deepest_level(of_shape) - static_cast<int>(random() % 2));
  config.run.stages_per_step = 3 + static_cast<int>(random() % 8);
  config.run.refine_every = 1 + static_cast<int>(random() % 4);
  const std::size_t objects = 1 + random() % 2;
  for (std::size_t i = 0; i < objects; ++i) config.objects.push_back(random_object(random));
  // Policies that decide by seconds cut where this machine's pace of the moment says, and a replay where the model
  // does.
  config.balance.policy = one_of(random, std::array{"every", "every_n", "threshold", "never"});
  return config;
}

/// A draw that was taken.
struct Draw {
  std::uint64_t number;
  std::int64_t steps;
};

std::int64_t most_blocks(Config config, std::int64_t steps, const std::filesystem::path& file) {
  config.run.steps = steps;
  const std::int64_t blocks = loadbalance::record_mesh(config, file).blocks_max;
  std::filesystem::remove(file);
  return blocks;
}

/// The first draw from `number` whose mesh is about as large as those of the fitted runs, with steps for some seconds.
/// Local.
Draw find_draw(const std::optional<Config>& shape, std::uint64_t seed, std::uint64_t number,
               const std::filesystem::path& scratch) {
  constexpr std::int64_t kTrialSteps = 20, kFewestSteps = 20, kMostSteps = 400;
  constexpr double kUpdates = 3e9;
  for (;; ++number) {
    const Config config = random_run(shape, seed, number);
    const std::int64_t usual = most_blocks(sphere_run(config, kSpheres[0]), 0, scratch / "usual.trace");
    const std::int64_t blocks = most_blocks(config, kTrialSteps, scratch / "draw.trace");
    if (blocks < usual / 8 || blocks > 2 * usual) continue;
    const double steps = kUpdates / (static_cast<double>(blocks) * values_of(config) * config.run.stages_per_step);
    return {number, std::clamp(static_cast<std::int64_t>(steps), kFewestSteps, kMostSteps)};
  }
}

}  // namespace

CalibrationPlan plan_calibration(const support::Communicator& comm, const std::optional<Config>& shape, int checks,
                                 std::uint64_t seed, const std::filesystem::path& scratch) {
  CalibrationPlan plan;
  const auto add = [&](const Config& config) { plan.runs.push_back({name_of(config), config}); };
  if (shape) {
    for (const SphereRun& run : kSpheres) add(sphere_run(*shape, run));
  } else {
    for (std::size_t i = 0; i < std::size(kShapes); ++i) {
      Config config;
      config.partition.method = kCurve;
      config.mesh.block = {kShapes[i].block, kShapes[i].block, kShapes[i].block};
      config.fields.variables = kShapes[i].variables;
      add(sphere_run(config, kSpheres[i]));
    }
  }
  plan.fitted = plan.runs.size();
  for (std::uint64_t number = 0; plan.runs.size() < plan.fitted + static_cast<std::size_t>(checks); ++number) {
    Draw draw{};
    support::run_on_root(comm, [&] { draw = find_draw(shape, seed, number, scratch); });
    draw = support::broadcast(comm, draw);
    Config config = random_run(shape, seed, draw.number);
    config.run.steps = draw.steps;
    add(config);
    number = draw.number;
  }
  return plan;
}

}  // namespace amrbench::apps
