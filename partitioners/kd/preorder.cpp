#include "partitioners/kd/preorder.hpp"

#include <limits>
#include <string>

#include "support/error.hpp"

namespace amrbench::partitioners::kd {
namespace {

/// Places one piece's nodes; next[l] is the number of the piece's next node on level piece.level + l.
template <class Index>
void place(const Piece<Index>& piece, std::vector<std::size_t> next, KdTree<Index>& tree) {
  std::size_t first = piece.first;
  std::size_t level = 0;
  std::vector<std::size_t> waiting;  // levels of upper children still to come
  const auto& nodes = piece.nodes.nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& node = nodes[i];
    const std::size_t number = next[level]++;
    const bool leaf = node.axis == kLeaf;
    // Whatever stands to the left on this level has placed its children already.
    tree.nodes[number] = {static_cast<Index>(first), node.count, leaf ? Index{0} : static_cast<Index>(next[level + 1]),
                          leaf ? 0 : node.axis};
    tree.split[number] = leaf ? 0 : node.split;
    if (!leaf) {
      waiting.push_back(++level);
      continue;
    }
    first += node.count;
    if (waiting.empty()) break;
    level = waiting.back();
    waiting.pop_back();
  }
}

}  // namespace

template <class Index>
void assemble(std::vector<Piece<Index>> pieces, int threads, KdTree<Index>& tree) {
  // Numbers within each level, then levels behind one another.
  std::vector<std::size_t> counts;
  std::vector<std::vector<std::size_t>> next(pieces.size());
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const auto& per_level = pieces[p].nodes.per_level;
    const auto base = static_cast<std::size_t>(pieces[p].level);
    // One level more: children of a single top node start another piece.
    if (counts.size() < base + per_level.size() + 1) counts.resize(base + per_level.size() + 1);
    next[p].assign(counts.begin() + static_cast<std::ptrdiff_t>(base),
                   counts.begin() + static_cast<std::ptrdiff_t>(base + per_level.size() + 1));
    for (std::size_t l = 0; l < per_level.size(); ++l) counts[base + l] += per_level[l];
  }
  tree.level.assign(1, 0);
  for (const std::size_t c : counts) {
    if (c > 0) tree.level.push_back(tree.level.back() + c);
  }
  const std::size_t total = tree.level.back();
  if (total > std::numeric_limits<Index>::max()) {
    throw support::InputError("the kd-tree would have " + std::to_string(total) +
                              " nodes, too many for 32-bit indices: use a larger bucket");
  }
  tree.nodes.resize_discard(total);
  tree.split.resize_discard(total);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    for (std::size_t l = 0; l < next[p].size(); ++l) {
      const std::size_t level = static_cast<std::size_t>(pieces[p].level) + l;
      if (level < tree.level.size()) next[p][l] += tree.level[level];
    }
    place(pieces[p], std::move(next[p]), tree);
    pieces[p].nodes = {};
  }
}

template void assemble(std::vector<Piece<std::uint32_t>>, int, KdTree<std::uint32_t>&);
template void assemble(std::vector<Piece<std::uint64_t>>, int, KdTree<std::uint64_t>&);

}  // namespace amrbench::partitioners::kd
