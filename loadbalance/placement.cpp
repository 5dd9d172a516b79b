#include "loadbalance/placement.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "partitioners/distributed_tree.hpp"
#include "partitioners/kd_tree.hpp"
#include "partitioners/orb/distributed.hpp"
#include "partitioners/traversal.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {

namespace {

/// Centres of this rank's blocks, in half cells of the deepest level: whole numbers, so that planes are exact.
std::vector<double> centers(const amr::Mesh<3>& mesh) {
  std::vector<double> points;
  points.reserve(3 * std::size_t(mesh.size()));
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const std::int64_t half = std::int64_t{1} << (mesh.space().max_level() - mesh.level(i));
    for (const std::uint32_t c : mesh.coord(i)) points.push_back(static_cast<double>((2 * std::int64_t{c} + 1) * half));
  }
  return points;
}

std::vector<std::int32_t> place_by_orb(const amr::Mesh<3>& mesh, std::span<const std::int64_t> weights) {
  const std::vector<double> points = centers(mesh);
  const std::vector<double> values(weights.begin(), weights.end());
  partitioners::OrbOptions options;
  // With fewer blocks than ranks the last ranks stay empty.
  options.leaves = static_cast<std::uint32_t>(std::min<std::int64_t>(mesh.comm().size(), mesh.global_size()));
  const auto orb = partitioners::orb_distributed<double, 3>(mesh.comm(), {points, 3}, values, options);
  return {orb.labels.data(), orb.labels.data() + mesh.size()};
}

std::vector<std::int32_t> place_by_kd_parts(const amr::Mesh<3>& mesh, std::span<const std::int64_t> weights) {
  const std::vector<double> points = centers(mesh);
  const std::vector<double> values(weights.begin(), weights.end());
  partitioners::DistributedTreeOptions options;
  options.tree.parts = mesh.comm().size();
  return partitioners::distributed_tree<double>(mesh.comm(), {points, 3}, values, options).part;
}

/// Root cells of a grid along GenSFC, numbered with the first axis fastest.
std::vector<std::uint32_t> gensfc_cells(const sfc::Coord<3>& root) {
  std::vector<double> points;
  for (std::uint32_t z = 0; z < root[2]; ++z)
    for (std::uint32_t y = 0; y < root[1]; ++y)
      for (std::uint32_t x = 0; x < root[0]; ++x) points.insert(points.end(), {double(x), double(y), double(z)});
  partitioners::KdTreeOptions options;
  options.bucket = 1;
  const auto tree = partitioners::build_kd_tree<std::uint32_t>(partitioners::PointView<double>{points, 3}, {}, options);
  const auto order = partitioners::curve_order(tree, partitioners::TreeCurve::gensfc);
  return {order.data(), order.data() + order.size()};
}

}  // namespace

std::span<const PlacementEntry> placement_registry() {
  static constexpr std::array entries{
      PlacementEntry{"morton", "blocks in Morton order, cut into runs of equal weight", sfc::Curve::morton},
      PlacementEntry{"hilbert", "blocks in Hilbert order, cut into runs of equal weight", sfc::Curve::hilbert},
      PlacementEntry{"gensfc", "blocks along GenSFC over the root grid, cut into runs of equal weight",
                     sfc::Curve::gensfc},
      PlacementEntry{"orb", "orthogonal recursive bisection of the blocks by weight, a box a rank", sfc::Curve::morton,
                     place_by_orb},
      PlacementEntry{"kd_parts", "parts-aware kd-tree of the blocks by weight, a compact stretch of GenSFC a rank",
                     sfc::Curve::morton, place_by_kd_parts},
  };
  return entries;
}

const PlacementEntry& find_placement(std::string_view name) {
  std::string names;
  for (const PlacementEntry& entry : placement_registry()) {
    if (entry.name == name) return entry;
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw support::InputError("partition.method: no method is called \"" + std::string(name) + "\" (choose from " +
                            names + ")");
}

sfc::KeySpace<3> make_key_space(const amr::Config& config) {
  const PlacementEntry& method = find_placement(config.partition.method);
  sfc::Coord<3> root{};
  for (int d = 0; d < 3; ++d) root[d] = static_cast<std::uint32_t>(config.mesh.root[d]);
  if (method.keys != sfc::Curve::gensfc) return {method.keys, root, config.mesh.max_level};
  return {std::make_shared<const sfc::RootOrder<3>>(root, gensfc_cells(root)), root, config.mesh.max_level};
}

}  // namespace amrbench::loadbalance
