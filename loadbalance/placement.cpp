#include "loadbalance/placement.hpp"

#include <string>

#include "loadbalance/block_graph.hpp"
#include "partitioners/block_keys.hpp"
#include "partitioners/slices.hpp"
#include "partitioners/splitter.hpp"
#include "partitioners/weights.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {

namespace {

constexpr std::string_view kOctree = "octree";

bool is_curve(std::string_view method) {
  return method == "morton" || method == "hilbert" || method == "gensfc";
}

partitioners::PartitionOptions options_of(const PartitionConfig& config) {
  try {
    if (config.splitter != kOctree) static_cast<void>(partitioners::split_rule_from_name(config.splitter));
  } catch (const support::InputError& error) {
    throw support::InputError(std::string("partition.splitter: ") + error.what() + ", or octree");
  }
  partitioners::PartitionOptions options;
  options.splitter = config.splitter;
  options.bucket = static_cast<std::size_t>(config.bucket);
  options.side_tolerance = config.side_tolerance;
  options.order = false;
  return options;
}

}  // namespace

Placement::Placement(const PartitionConfig& config)
    : options_(options_of(config)),
      partitioner_(partitioners::make_partitioner(config.method)),
      follows_keys_(config.splitter == kOctree && is_curve(config.method)) {}

Destinations Placement::place(const amr::Mesh<3>& mesh, BlockTable& table, double heaviest) const {
  if (follows_keys_) return slice(mesh, table, heaviest);
  fill_centres(mesh, table);
  const std::vector<double> loads = table.loads();
  partitioners::BlockGrid grid{3, {}, mesh.space().max_level()};
  for (int d = 0; d < 3; ++d) grid.root[d] = mesh.space().root()[d];
  partitioners::Problem problem{{table.centre, 3}, loads, nullptr, &grid};
  partitioners::Graph graph;
  if (partitioner_->needs_graph()) {
    graph = gather_block_graph(mesh);
    if (mesh.comm().is_root()) problem.graph = &graph;
  }
  partitioners::PartitionOptions options = options_;
  options.parts = mesh.comm().size();
  return {{}, partitioners::assign(mesh.comm(), *partitioner_, problem, options).part};
}

Destinations Placement::slice(const amr::Mesh<3>& mesh, const BlockTable& table, double heaviest) {
  const int shift = partitioners::fixed_point_shift(static_cast<std::size_t>(mesh.global_size()), heaviest);
  const std::vector<std::uint64_t> weights = partitioners::to_fixed_point(table.loads(), shift);
  return {partitioners::slice_on_ranks(mesh.comm(), weights, weights.size(), mesh.comm().size()), {}};
}

Destinations Placement::slice_evenly(const amr::Mesh<3>& mesh) {
  // Position i has its middle at (2 i + 1) / 2: part p begins at the first with (2 i + 1) * parts >= 2 * blocks * p.
  const auto blocks = static_cast<support::int128>(mesh.global_size());
  const int parts = mesh.comm().size();
  Destinations to;
  for (int p = 0; p <= parts; ++p) {
    const support::int128 least = (2 * blocks * p + parts - 1) / parts;
    to.cuts.push_back(static_cast<std::int64_t>(least / 2));
  }
  return to;
}

sfc::KeySpace<3> make_key_space(const amr::MeshConfig& mesh, const PartitionConfig& partition) {
  sfc::Coord<3> root{};
  for (int d = 0; d < 3; ++d) root[d] = static_cast<std::uint32_t>(mesh.root[d]);
  const bool follows = Placement(partition).follows_keys() || partition.method == "hilbert";
  return partitioners::block_keys<3>(follows ? partition.method : "morton", root, mesh.max_level);
}

}  // namespace amrbench::loadbalance
