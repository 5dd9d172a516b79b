#include "partitioners/dynamic/branch.hpp"

#include <bit>

#include "partitioners/dynamic/packed_nodes.hpp"

namespace amrbench::partitioners::dynamic {

std::pair<PackedView, PackedView> cut_at_root(const PackedView& packed, std::size_t row_words) {
  // The lower branch ends where as many leaves have come as inner nodes, and one more.
  std::size_t at = kNodeWords, points = 0;
  for (std::size_t open = 1; open > 0; at += kNodeWords) {
    const kd::PreNode<std::uint32_t> node = packed_node(packed.nodes, at);
    if (node.axis != kd::kLeaf) {
      ++open;
    } else {
      --open;
      points += node.count;
    }
  }
  const std::size_t rows = points * row_words;
  return {{packed.nodes.subspan(kNodeWords, at - kNodeWords), packed.rows.first(rows)},
          {packed.nodes.subspan(at), packed.rows.subspan(rows)}};
}

PackedBranch join(const BranchCut& cut, const PackedView& lower, const PackedView& upper) {
  PackedBranch whole;
  pack_node({cut.plane, cut.below[0].count + cut.below[1].count, cut.axis | (cut.tied ? kTied : 0)}, whole.nodes);
  for (const PackedView& part : {lower, upper}) {
    whole.nodes.insert(whole.nodes.end(), part.nodes.begin(), part.nodes.end());
    whole.rows.insert(whole.rows.end(), part.rows.begin(), part.rows.end());
  }
  return whole;
}

}  // namespace amrbench::partitioners::dynamic
