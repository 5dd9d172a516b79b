#include "loadbalance/replay/trace_mesh.hpp"

#include <fmt/format.h>

#include <limits>

#include "partitioners/block_keys.hpp"
#include "partitioners/inputs/memory_check.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {

namespace {

/// Numbers of blocks come from outside: a few bytes of a trace may ask for more than there is room for.
void check_blocks(double blocks) {
  if (blocks > std::numeric_limits<std::int32_t>::max())
    throw support::InputError(fmt::format("a mesh of {:.0f} blocks; a process has at most 2^31 - 1", blocks));
  constexpr double kBlockBytes = sizeof(amr::Key) + sizeof(amr::Mesh<3>::Coord) + sizeof(amr::Mesh<3>::Links);
  constexpr double kSmall = 1 << 20;
  if (blocks > kSmall)
    partitioners::check_memory(fmt::format("a mesh of {:.0f} blocks", blocks), blocks * kBlockBytes,
                               partitioners::memory_share({}));
}

sfc::KeySpace<3> key_space(const TraceHeader& header, std::string_view curve) {
  check_blocks(static_cast<double>(header.root[0]) * header.root[1] * header.root[2]);
  sfc::Coord<3> root{};
  for (std::size_t d = 0; d < 3; ++d) root[d] = static_cast<std::uint32_t>(header.root[d]);
  return partitioners::block_keys<3>(curve, root, header.max_level);
}

/// The block called so, or Dictionary::kNone.
std::int32_t find(const amr::Mesh<3>& mesh, int level, const sfc::Coord<3>& c) {
  return mesh.space().contains(level, c) ? mesh.find_local(mesh.space().key(level, c)) : amr::Dictionary::kNone;
}

[[noreturn]] void refuse_block(int level, const sfc::Coord<3>& c) {
  throw support::InputError(
      fmt::format("there is no block ({}, {}, {}) of level {} that changes so", c[0], c[1], c[2], level));
}

}  // namespace

TraceMesh::TraceMesh(const TraceHeader& header, std::string_view curve)
    : mesh_(support::Communicator::duplicate(MPI_COMM_SELF), key_space(header, curve)) {}

std::vector<amr::Change> TraceMesh::changes(const TracePass& pass) const {
  std::vector<amr::Change> changes(static_cast<std::size_t>(mesh_.size()), amr::Change::stay);
  const auto set = [&](int level, const sfc::Coord<3>& c, amr::Change change) {
    const std::int32_t i = find(mesh_, level, c);
    if (i == amr::Dictionary::kNone || changes[static_cast<std::size_t>(i)] != amr::Change::stay)
      refuse_block(level, c);
    changes[static_cast<std::size_t>(i)] = change;
  };
  const int deepest = mesh_.space().max_level();
  double splits = 0;
  for (const auto& codes : pass.splits) splits += static_cast<double>(codes.size());
  check_blocks(mesh_.size() + 7 * splits);
  for (int level = 0; level <= deepest; ++level) {
    const auto l = static_cast<std::size_t>(level);
    for (const std::uint64_t code : pass.splits[l]) {
      const auto c = sfc::morton_decode<3>(code);
      if (level == deepest) refuse_block(level, c);
      set(level, c, amr::Change::refine);
    }
    for (const std::uint64_t code : pass.merges[l]) {
      const auto parent = sfc::morton_decode<3>(code);
      if (level == deepest || !mesh_.space().contains(level, parent)) refuse_block(level, parent);
      for (std::uint32_t child = 0; child < 8; ++child)
        set(level + 1, {2 * parent[0] + (child & 1), 2 * parent[1] + (child >> 1 & 1), 2 * parent[2] + (child >> 2)},
            amr::Change::coarsen);
    }
  }
  return changes;
}

std::span<const std::int32_t> TraceMesh::apply(std::span<const amr::Change> changes) {
  const auto& space = mesh_.space();
  std::vector<amr::Key> keys = mesh_.spare_keys();
  keys.clear();
  origin_.clear();
  for (std::int32_t i = 0; i < mesh_.size(); ++i) {
    const amr::Key key = mesh_.keys()[static_cast<std::size_t>(i)];
    const amr::Change change = changes[static_cast<std::size_t>(i)];
    if (change == amr::Change::stay) {
      keys.push_back(key);
      origin_.push_back(i);
    } else if (change == amr::Change::refine) {
      for (int child = 0; child < 8; ++child) keys.push_back(space.child(key, child));
      origin_.insert(origin_.end(), 8, i);
    } else if (space.child_index(key) == 0) {  // a family stands together, its first member first
      keys.push_back(space.parent(key));
      origin_.push_back(i);
    }
  }
  try {
    mesh_.set_blocks(std::move(keys));
  } catch (const support::RunError& error) {
    throw support::InputError(error.what());
  }
  return origin_;
}

}  // namespace amrbench::loadbalance
