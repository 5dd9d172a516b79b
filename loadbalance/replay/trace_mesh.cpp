#include "loadbalance/replay/trace_mesh.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "partitioners/block_keys.hpp"
#include "partitioners/inputs/memory_check.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {

namespace {

/// Numbers of blocks come from outside: a few bytes of a trace may ask for more than there is room for.
template <int Dim>
void check_blocks(double blocks) {
  if (blocks > std::numeric_limits<std::int32_t>::max())
    throw support::InputError(fmt::format("a mesh of {:.0f} blocks; a process has at most 2^31 - 1", blocks));
  constexpr double kBlockBytes = sizeof(amr::Key) + sizeof(double) + sizeof(typename amr::Mesh<Dim>::Coord) +
                                 sizeof(amr::NearLinks<Dim>) + sizeof(amr::FarLinks<Dim>);
  constexpr double kSmall = 1 << 20;
  if (blocks > kSmall)
    partitioners::check_memory(fmt::format("a mesh of {:.0f} blocks", blocks), blocks * kBlockBytes,
                               partitioners::memory_share({}));
}

template <int Dim>
sfc::KeySpace<Dim> key_space(const TraceHeader& header, std::string_view curve) {
  check_blocks<Dim>(static_cast<double>(header.root[0]) * header.root[1] * header.root[2]);
  sfc::Coord<Dim> root{};
  for (std::size_t d = 0; d < Dim; ++d) root[d] = static_cast<std::uint32_t>(header.root[d]);
  auto space = partitioners::block_keys<Dim>(curve, root, header.max_level);
  std::array<bool, Dim> periodic{};
  for (std::size_t d = 0; d < Dim; ++d) periodic[d] = header.periodic[d];
  space.set_periodic(periodic);
  return space;
}

/// The block called so, or Dictionary::kNone.
template <int Dim>
std::int32_t find(const amr::Mesh<Dim>& mesh, int level, const sfc::Coord<Dim>& c) {
  return mesh.space().contains(level, c) ? mesh.find_local(mesh.space().key(level, c)) : amr::Dictionary::kNone;
}

template <std::size_t Dim>
[[noreturn]] void refuse_block(int level, const std::array<std::uint32_t, Dim>& c) {
  throw support::InputError(
      fmt::format("there is no block ({}) of level {} that changes so", fmt::join(c, ", "), level));
}

[[noreturn]] void refuse_costs(std::size_t blocks) {
  throw support::InputError(fmt::format("costs of another number of blocks than the {} of the mesh", blocks));
}

}  // namespace

template <int Dim>
TraceMesh<Dim>::TraceMesh(const TraceHeader& header, std::string_view curve)
    : mesh_(support::Communicator::duplicate(MPI_COMM_SELF), key_space<Dim>(header, curve)) {}

template <int Dim>
std::vector<amr::Change> TraceMesh<Dim>::changes(const TracePass& pass) const {
  std::vector<amr::Change> changes(static_cast<std::size_t>(mesh_.size()), amr::Change::stay);
  const auto set = [&](int level, const sfc::Coord<Dim>& c, amr::Change change) {
    const std::int32_t i = find<Dim>(mesh_, level, c);
    if (i == amr::Dictionary::kNone || changes[static_cast<std::size_t>(i)] != amr::Change::stay)
      refuse_block(level, c);
    changes[static_cast<std::size_t>(i)] = change;
  };
  const int deepest = mesh_.space().max_level();
  constexpr unsigned kFamily = 1U << Dim;
  double splits = 0;
  for (const auto& codes : pass.splits) splits += static_cast<double>(codes.size());
  check_blocks<Dim>(mesh_.size() + (kFamily - 1) * splits);
  for (int level = 0; level <= deepest; ++level) {
    const auto l = static_cast<std::size_t>(level);
    for (const std::uint64_t code : pass.splits[l]) {
      const auto c = sfc::morton_decode<Dim>(code);
      if (level == deepest) refuse_block(level, c);
      set(level, c, amr::Change::refine);
    }
    for (const std::uint64_t code : pass.merges[l]) {
      const auto parent = sfc::morton_decode<Dim>(code);
      if (level == deepest || !mesh_.space().contains(level, parent)) refuse_block(level, parent);
      for (std::uint32_t child = 0; child < kFamily; ++child) {
        sfc::Coord<Dim> c{};
        for (std::size_t d = 0; d < Dim; ++d) c[d] = 2 * parent[d] + (child >> d & 1);
        set(level + 1, c, amr::Change::coarsen);
      }
    }
  }
  return changes;
}

template <int Dim>
std::span<const std::int32_t> TraceMesh<Dim>::apply(std::span<const amr::Change> changes) {
  constexpr int kFamily = 1 << Dim;
  const auto& space = mesh_.space();
  const auto before = mesh_.weights();
  std::vector<amr::Key> keys = mesh_.spare_keys();
  std::vector<double> weights = mesh_.spare_weights();
  keys.clear();
  weights.clear();
  origin_.clear();
  for (std::int32_t i = 0; i < mesh_.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const amr::Key key = mesh_.keys()[at];
    if (changes[at] == amr::Change::stay) {
      keys.push_back(key);
      weights.push_back(before[at]);
      origin_.push_back(i);
    } else if (changes[at] == amr::Change::refine) {
      for (int child = 0; child < kFamily; ++child) keys.push_back(space.child(key, child));
      weights.insert(weights.end(), kFamily, before[at]);
      origin_.insert(origin_.end(), kFamily, i);
    } else if (space.child_index(key) == 0) {  // a family stands together, its first member first
      keys.push_back(space.parent(key));
      double weight = 0.0;  // in the order of amr/adapt.cpp; a family that is not whole is refused below
      for (const double w : before.subspan(at, std::min<std::size_t>(kFamily, before.size() - at)))
        weight += w / kFamily;
      weights.push_back(weight);
      origin_.push_back(i);
    }
  }
  try {
    mesh_.set_blocks(std::move(keys), std::move(weights));
  } catch (const support::RunError& error) {
    throw support::InputError(error.what());
  }
  return origin_;
}

template <int Dim>
std::vector<double> TraceMesh<Dim>::costs(const CostRuns& runs) const {
  const auto n = static_cast<std::size_t>(mesh_.size());
  std::vector<double> costs(n, 1.0);
  if (runs.empty()) return costs;
  struct Name {
    int level;
    std::uint64_t code;
    std::size_t block;
  };
  std::vector<Name> names(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto block = static_cast<std::int32_t>(i);
    names[i] = {mesh_.level(block), sfc::morton_encode<Dim>(mesh_.coord(block)), i};
  }
  std::ranges::sort(names, {}, [](const Name& name) { return std::pair(name.level, name.code); });
  std::size_t at = 0;
  for (const auto& [blocks, cost] : runs) {
    if (blocks > n - at) refuse_costs(n);
    for (const std::size_t end = at + blocks; at < end; ++at) costs[names[at].block] = cost;
  }
  if (at != n) refuse_costs(n);
  return costs;
}

template class TraceMesh<2>;
template class TraceMesh<3>;

}  // namespace amrbench::loadbalance
