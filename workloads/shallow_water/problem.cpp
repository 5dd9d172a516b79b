#include "workloads/shallow_water/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/shallow_water/boundary.hpp"
#include "support/error.hpp"
#include "support/registry.hpp"
#include "workloads/shallow_water/make.hpp"
#include "workloads/shallow_water/raster_problem.hpp"
#include "workloads/shallow_water/single.hpp"

namespace amrbench::workloads::shallow_water {

namespace {

namespace water = kernels::shallow_water;

constexpr std::array kLimiters{std::pair{std::string_view("minmod"), water::Limiter::minmod},
                               std::pair{std::string_view("monotonized"), water::Limiter::monotonized},
                               std::pair{std::string_view("van_leer"), water::Limiter::van_leer}};

water::Limiter limiter_of(const std::string& name) {
  for (const auto& [known, limiter] : kLimiters)
    if (name == known) return limiter;
  throw support::InputError("shallow_water.limiter = \"" + name +
                            "\": unknown; there are minmod, monotonized, van_leer");
}

template <Axis kAxis>
std::unique_ptr<Solution> wet_dam() {
  return make_dam_break({.axis = kAxis});
}
template <Axis kAxis>
std::unique_ptr<Solution> dry_dam() {
  return make_dam_break({.right = 0.0, .axis = kAxis});
}
template <BumpFlow kFlow>
std::unique_ptr<Solution> bump() {
  return make_bump({.flow = kFlow});
}

}  // namespace

std::span<const ProblemEntry> problem_registry() {
  static constexpr std::array entries{
      ProblemEntry{"dam_break_wet", "a dam breaks, shallow water before it (Stoker)", wet_dam<Axis::x>},
      ProblemEntry{"dam_break_wet_y", "the same along the other axis", wet_dam<Axis::y>},
      ProblemEntry{"dam_break_dry", "a dam breaks, dry ground before it (Ritter)", dry_dam<Axis::x>},
      ProblemEntry{"dam_break_dry_y", "the same along the other axis", dry_dam<Axis::y>},
      ProblemEntry{"bowl_planar", "a plane surface turns in a paraboloid (Thacker)", [] { return make_planar_bowl(); }},
      ProblemEntry{"bowl_radial", "a curved surface swings in a paraboloid (Thacker)",
                   [] { return make_radial_bowl(); }},
      ProblemEntry{"vortex", "a steady smooth vortex over a flat bed", [] { return make_vortex(); }},
      ProblemEntry{"vortex_drifting", "the same, carried along",
                   [] {
                     return make_vortex({.drift = {1.0, 0.5}});
                   }},
      ProblemEntry{"bump_subcritical", "steady flow over a bump", bump<BumpFlow::subcritical>},
      ProblemEntry{"bump_transcritical", "steady flow over a bump, faster than its waves behind it",
                   bump<BumpFlow::transcritical>},
      ProblemEntry{"bump_shock", "steady flow over a bump with a hydraulic jump behind it", bump<BumpFlow::shock>},
      ProblemEntry{"channel", "steady flow with friction over a bed made for it (MacDonald)",
                   [] { return make_friction_channel(); }},
      ProblemEntry{"lake", "still water among islands", [] { return make_lake(); }},
      ProblemEntry{"lake_deep", "still water above all rocks", [] { return make_lake({.level = 4.0}); }},
      ProblemEntry{"lake_low", "still water in few hollows", [] { return make_lake({.level = -1.2}); }},
      ProblemEntry{"walled_dam_break", "a round dam breaks beside a wall that keeps half of the ground dry",
                   [] { return make_walled_dam_break(); }},
      ProblemEntry{kRasterProblem, "a bed from a raster, with water from one or from inflows", nullptr},
  };
  return entries;
}

std::unique_ptr<Solution> make_solution(const amr::MeshConfig& mesh, const ShallowWaterConfig& water) {
  const ProblemEntry& entry = support::find_entry(problem_registry(), water.problem, "shallow_water.problem");
  if (entry.make != nullptr) return entry.make();
  const auto cells = [&](std::size_t d) { return std::ldexp(double(mesh.root[d]) * mesh.block[d], mesh.max_level); };
  return make_raster_problem(water, {cells(0), cells(1)}, {mesh.periodic[0], mesh.periodic[1]});
}

Problem::Problem(const amr::Config& config, const ShallowWaterConfig& w, std::span<const InflowConfig> inflows)
    : solution_(make_solution(config.mesh, w)),
      cells_(config.mesh.block[0]),
      is_single_(w.precision == "single"),
      root_{config.mesh.root[0], config.mesh.root[1]},
      max_level_(config.mesh.max_level),
      periodic_{config.mesh.periodic[0], config.mesh.periodic[1]},
      is_mapped_(!w.resolution.empty() && config.mesh.frozen),
      side_inflows_(inflows, solution_->setup(), periodic_),
      has_inflows_(!inflows.empty()) {
  if (config.mesh.block[0] != config.mesh.block[1] || cells_ < 4)
    throw support::InputError(
        fmt::format("mesh.block = [{}, {}]: blocks of the shallow-water equations are square, 4 "
                    "cells an edge or more",
                    config.mesh.block[0], config.mesh.block[1]));
  const Setup& setup = solution_->setup();
  physics_ = {setup.gravity, w.dry_depth, limiter_of(w.limiter), setup.friction};
  for (std::size_t d = 0; d < 2; ++d) extent_[d] = setup.high[d] - setup.low[d];
  if (w.resolution.empty()) return;
  if (config.mesh.uniform)
    throw support::InputError("shallow_water.resolution: with mesh.uniform = true all blocks have one level");
  const auto coarsest = shape(0);
  map_.emplace(w.resolution, setup, std::array{coarsest.dx, coarsest.dy}, max_level_);
}

bool Problem::has_walls() const {
  const auto& sides = solution_->setup().sides;
  for (std::size_t face = 0; face < sides.size(); ++face)
    if (!periodic_[face / 2] && sides[face].kind != Side::wall) return false;
  return true;
}

bool Problem::is_known() const {
  const Setup& setup = solution_->setup();
  return setup.known && (!periodic_[0] || setup.closes[0]) && (!periodic_[1] || setup.closes[1]);
}

std::array<double, 2> Problem::image(std::array<double, 2> at, double time) const {
  if (!periodic_[0] && !periodic_[1]) return at;
  const auto middle = solution_->middle(time);
  for (std::size_t d = 0; d < 2; ++d)
    if (periodic_[d]) at[d] -= extent_[d] * std::floor((at[d] - middle[d]) / extent_[d] + 0.5);
  return at;
}

water::BlockShape<double> Problem::shape(int level) const {
  const auto size = [&](std::size_t d) {
    return extent_[d] / static_cast<double>((std::int64_t{root_[d]} << level) * cells_);
  };
  return {cells_, size(0), size(1)};
}

std::array<double, 2> Problem::centre(const amr::Mesh<2>& mesh, std::int32_t i, int x, int y) const {
  const auto cell = shape(mesh.level(i));
  const auto& c = mesh.coord(i);
  const Setup& setup = solution_->setup();
  return {setup.low[0] + (static_cast<double>(std::int64_t{c[0]} * cells_ + x) + 0.5) * cell.dx,
          setup.low[1] + (static_cast<double>(std::int64_t{c[1]} * cells_ + y) + 0.5) * cell.dy};
}

Problem::Box Problem::box(const amr::Mesh<2>& mesh, std::int32_t i) const {
  const auto cell = shape(mesh.level(i));
  const Setup& setup = solution_->setup();
  Box box;
  for (std::size_t d = 0; d < 2; ++d) {
    const double side = (d == 0 ? cell.dx : cell.dy) * cells_;
    box.low[d] = setup.low[d] + mesh.coord(i)[d] * side;
    box.high[d] = box.low[d] + side;
  }
  return box;
}

int Problem::wanted_level(const amr::Mesh<2>& mesh, std::int32_t i) const {
  const Box at = box(mesh, i);
  return solution_->wanted_level(at.low, at.high, max_level_);
}

int Problem::least_level(const amr::Mesh<2>& mesh, std::int32_t i) const {
  if (!map_) return 0;
  const Box at = box(mesh, i);
  return map_->level(at.low, at.high);
}

Problem::Sample Problem::sample(double x, double y, double dx, double dy, int levels,
                                std::optional<double> time) const {
  Sample all;
  if (levels == 0) {
    all.bed = solution_->bed(x, y);
    all.roughness = solution_->roughness(x, y);
    if (!time) return all;
    const auto place = image({x, y}, *time);
    const State state = solution_->at(place[0], place[1], *time);
    if (state.h > 0.0) all = {all.bed, all.roughness, state.h * state.u, state.h * state.v, state.h + all.bed, 1.0};
    return all;
  }
  const double qx = 0.25 * dx, qy = 0.25 * dy;
  std::array<Sample, 4> part;
  for (std::size_t k = 0; k < 4; ++k)
    part[k] = sample(x + (k & 1 ? qx : -qx), y + (k & 2 ? qy : -qy), 0.5 * dx, 0.5 * dy, levels - 1, time);
  const auto sum = [&](double Sample::*member) {
    return (part[0].*member + part[1].*member) + (part[2].*member + part[3].*member);
  };
  return {0.25 * sum(&Sample::bed), 0.25 * sum(&Sample::roughness), 0.25 * sum(&Sample::hu),
          0.25 * sum(&Sample::hv),  sum(&Sample::surface),          sum(&Sample::wet)};
}

template <class Take>
void Problem::for_cells(const amr::Mesh<2>& mesh, std::int32_t i, std::optional<double> time, Take&& take) const {
  const int level = mesh.level(i);
  const auto cell = shape(level);
  for (int y = 0; y < cells_; ++y) {
    for (int x = 0; x < cells_; ++x) {
      const auto middle = centre(mesh, i, x, y);
      take(std::size_t(y) * std::size_t(cells_) + std::size_t(x),
           sample(middle[0], middle[1], cell.dx, cell.dy, max_level_ - level, time));
    }
  }
}

void Problem::fill_initial(const amr::Mesh<2>& mesh, std::int32_t i, double* block) const {
  const std::size_t plane = std::size_t(cells_) * std::size_t(cells_);
  for_cells(mesh, i, 0.0, [&](std::size_t at, const Sample& s) {
    const auto moving = s.water();
    for (std::size_t v = 0; v < moving.size(); ++v) block[v * plane + at] = moving[v];
    block[water::kBed * plane + at] = s.bed;
    block[water::kRoughness * plane + at] = s.roughness;
  });
  if (is_single_) round_to_single({block, water::kVariables * plane});
}

std::array<double, 3> Problem::exact(const amr::Mesh<2>& mesh, std::int32_t i, int x, int y, double time) const {
  const auto cell = shape(mesh.level(i));
  const auto middle = centre(mesh, i, x, y);
  return sample(middle[0], middle[1], cell.dx, cell.dy, max_level_ - mesh.level(i), time).water();
}

void Problem::fill_bed(const amr::Mesh<2>& mesh, std::int32_t i, double* block) const {
  const std::size_t plane = std::size_t(cells_) * std::size_t(cells_);
  for_cells(mesh, i, {}, [&](std::size_t at, const Sample& s) {
    block[water::kBed * plane + at] = s.bed;
    block[water::kRoughness * plane + at] = s.roughness;
  });
  if (is_single_) round_to_single({block + water::kBed * plane, 2 * plane});
}

void Problem::fill_exact(const amr::Mesh<2>& mesh, std::int32_t i, int face, double time, double* strip) const {
  const auto cell = shape(mesh.level(i));
  const int n = cells_;
  for (int layer = 0; layer < 2; ++layer) {
    const int across = face % 2 == 0 ? -1 - layer : n + layer;
    for (int m = 0; m < n; ++m) {
      const auto middle = image(face < 2 ? centre(mesh, i, across, m) : centre(mesh, i, m, across), time);
      const CellValues values = cell_values(*solution_, middle[0], middle[1], cell.dx, cell.dy, time);
      for (int v = 0; v < water::kVariables; ++v) strip[(v * 2 + layer) * n + m] = values[std::size_t(v)];
    }
  }
  if (is_single_) round_to_single({strip, std::size_t(water::kVariables) * 2 * std::size_t(n)});
}

water::Boundary<double> Problem::side_boundary(int face) const {
  const SideCondition& side = solution_->setup().sides[std::size_t(face)];
  switch (side.kind) {
    case Side::open:
      return {water::BoundaryKind::open, side.value};
    case Side::inflow:
      return {water::BoundaryKind::inflow, side.value};
    case Side::level:
      return {water::BoundaryKind::level, side.value};
    default:
      return {water::BoundaryKind::wall, side.value};
  }
}

bool Problem::fill_boundary(const amr::Mesh<2>& mesh, std::int32_t i, int face, const Moment& moment,
                            const double* block, double* strip, double* through) const {
  if (solution_->setup().sides[std::size_t(face)].kind == Side::exact) {
    fill_exact(mesh, i, face, moment.time, strip);
    return false;
  }
  const water::Boundary<double> boundary = side_boundary(face);
  if (has_side_inflow(mesh, i, face)) {
    constexpr int kLongestEdge = 32;
    std::array<water::Inflow<double>, kLongestEdge> cells;
    find_side_inflow(mesh, i, face, moment, cells.data());
    if (!is_single_) return water::fill_inflow(cells.data(), boundary, cells_, face, physics_, block, strip, through);
    std::array<water::Inflow<float>, kLongestEdge> narrow;
    std::ranges::transform(cells, narrow.begin(), inflow_in<float>);
    return water::fill_inflow(narrow.data(), boundary_in<float>(boundary), cells_, face, physics_in<float>(physics_),
                              block, strip, through);
  }
  if (is_single_)
    water::fill_boundary(boundary_in<float>(boundary), cells_, face, physics_in<float>(physics_), block, strip);
  else
    water::fill_boundary(boundary, cells_, face, physics_, block, strip);
  return false;
}

std::array<double, 2> Problem::along_side(const amr::Mesh<2>& mesh, std::int32_t i, int face) const {
  const std::size_t along = face < 2 ? 1 : 0;
  const auto cell = shape(mesh.level(i));
  const double size = along == 0 ? cell.dx : cell.dy;
  return {solution_->setup().low[along] + static_cast<double>(std::int64_t{mesh.coord(i)[along]} * cells_) * size,
          size};
}

bool Problem::has_side_inflow(const amr::Mesh<2>& mesh, std::int32_t i, int face) const {
  if (side_inflows_.empty()) return false;
  const auto [low, size] = along_side(mesh, i, face);
  return side_inflows_.is_at(face, low, low + cells_ * size);
}

void Problem::find_side_inflow(const amr::Mesh<2>& mesh, std::int32_t i, int face, const Moment& moment,
                               water::Inflow<double>* cells) const {
  const auto [low, size] = along_side(mesh, i, face);
  side_inflows_.find(face, low, size, cells_, moment.from, moment.to, cells);
}

double Problem::stable_side_step(const amr::Mesh<2>& mesh, double t0, double longest, double cfl) const {
  if (side_inflows_.empty()) return longest;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    for (int face = 0; face < 4; ++face) {
      if (mesh.links(i).kind[std::size_t(face)] != amr::FaceKind::boundary || !has_side_inflow(mesh, i, face)) continue;
      const auto cell = shape(mesh.level(i));
      longest = std::min(
          longest, side_inflows_.stable_step(face, face < 2 ? cell.dx : cell.dy, t0, longest, cfl, physics_.gravity));
    }
  }
  return longest;
}

}  // namespace amrbench::workloads::shallow_water
