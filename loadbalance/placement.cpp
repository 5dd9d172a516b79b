#include "loadbalance/placement.hpp"

#include <string>
#include <utility>

#include "loadbalance/gentle_cuts.hpp"
#include "partitioners/block_keys.hpp"
#include "partitioners/rename_parts.hpp"
#include "partitioners/slices.hpp"
#include "partitioners/splitter.hpp"
#include "partitioners/two_level.hpp"
#include "partitioners/weights.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {

namespace {

bool is_curve(std::string_view method) {
  return method == "morton" || method == "hilbert" || method == "gensfc";
}

partitioners::PartitionOptions options_of(const PartitionConfig& config) {
  try {
    partitioners::check_splitter(config.splitter);
  } catch (const support::InputError& error) {
    throw support::InputError(std::string("partition.splitter: ") + error.what());
  }
  partitioners::PartitionOptions options;
  options.splitter = config.splitter;
  options.bucket = static_cast<std::size_t>(config.bucket);
  options.slices = partitioners::slice_rule_from_name(config.slices, "partition.slices");
  options.side_tolerance = config.side_tolerance;
  options.order = false;
  return options;
}

/// Parts under the numbers of the ranks where most of their blocks are: of nodes of `tasks` ranks first, then in each
/// node of its ranks. Collective.
void rename(const support::Communicator& comm, std::span<const std::int32_t> owners, int parts, int tasks,
            std::vector<std::int32_t>& part) {
  std::vector<partitioners::Overlap> overlaps(part.size());
  for (std::size_t i = 0; i < part.size(); ++i) overlaps[i] = {part[i], owners[i], 1};
  partitioners::add_up(overlaps);
  if (comm && comm.size() > 1) overlaps = support::all_gather_v<partitioners::Overlap>(comm, overlaps);
  const std::vector<std::int32_t> names = partitioners::rename_in_nodes(std::move(overlaps), parts, tasks);
  for (std::int32_t& p : part) p = names[static_cast<std::size_t>(p)];
}

}  // namespace

Placement::Placement(const PartitionConfig& config)
    : options_(options_of(config)),
      partitioner_(partitioners::make_partitioner(config.method)),
      follows_keys_(config.splitter == partitioners::kOctree && is_curve(config.method)),
      renames_(config.rename),
      groups_(config.group_blocks),
      nodes_(config.nodes) {
  if (groups_ && !follows_keys_)
    throw support::InputError(
        "partition.group_blocks: keeps families together where parts are slices of the keys: partition.method morton, "
        "hilbert or gensfc with partition.splitter octree");
}

Destinations Placement::place(const support::Communicator& comm, const BlockTable& table, int parts, double heaviest,
                              std::span<const std::int32_t> owners, const partitioners::Graph* graph) const {
  if (follows_keys_) return slice(comm, table, parts, heaviest);
  const std::vector<double> loads = table.loads();
  const partitioners::Problem problem{
      {table.centre, table.grid.dim}, loads, comm.is_root() ? graph : nullptr, &table.grid};
  Destinations to{{}, assign(comm, problem, parts)};
  if (renames_) rename(comm, owners, parts, in_levels() ? parts / nodes_ : 1, to.ranks);
  return to;
}

std::vector<std::int32_t> Placement::assign(const support::Communicator& comm, const partitioners::Problem& problem,
                                            int parts) const {
  partitioners::PartitionOptions options = options_;
  options.parts = parts;
  if (!in_levels()) return partitioners::assign(comm, *partitioner_, problem, options).part;
  partitioners::TwoLevelPartitioner two_level(*partitioner_, nodes_);
  return partitioners::assign(comm, two_level, problem, options).part;
}

Destinations Placement::slice(const support::Communicator& comm, const BlockTable& table, int parts, double heaviest,
                              std::span<const double> shares) const {
  const int shift = partitioners::fixed_point_shift(static_cast<std::uint64_t>(table.blocks), heaviest);
  std::vector<std::uint64_t> weights(table.size());
  partitioners::to_fixed_point(table.loads(), shift, weights);
  Destinations to{partitioners::slice_on_ranks(comm, weights, weights.size(), parts, options_.slices, shares), {}};
  if (groups_) keep_families(comm, table.key, to.cuts);
  return to;
}

Destinations Placement::slice_evenly(const support::Communicator& comm, std::int64_t blocks,
                                     std::span<const amr::Key> keys, int parts, std::span<const double> shares) const {
  Destinations to{partitioners::even_cuts(blocks, parts, shares), {}};
  if (groups_) keep_families(comm, keys, to.cuts);
  return to;
}

std::string key_curve(const PartitionConfig& partition) {
  const bool follows = Placement(partition).follows_keys() || partition.method == "hilbert";
  return follows ? partition.method : "morton";
}

template <int Dim>
sfc::KeySpace<Dim> make_key_space(const amr::MeshConfig& mesh, const PartitionConfig& partition) {
  sfc::Coord<Dim> root{};
  for (int d = 0; d < Dim; ++d) root[d] = static_cast<std::uint32_t>(mesh.root[d]);
  auto space = partitioners::block_keys<Dim>(key_curve(partition), root, mesh.max_level);
  std::array<bool, Dim> periodic{};
  for (int d = 0; d < Dim; ++d) periodic[d] = mesh.periodic[d];
  space.set_periodic(periodic);
  return space;
}

template sfc::KeySpace<2> make_key_space<2>(const amr::MeshConfig&, const PartitionConfig&);
template sfc::KeySpace<3> make_key_space<3>(const amr::MeshConfig&, const PartitionConfig&);

}  // namespace amrbench::loadbalance
