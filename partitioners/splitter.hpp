#pragma once
// How a kd-tree's nodes are split.
//
// Every splitter cuts across the longest side of the node's tight box (the first of equal ones) and leaves points on
// both sides. Points are ordered by (coordinate along that axis, index), so no two are equal.
// - midpoint: coordinates up to the middle of the box go below. A box of no extent is split as by `selection`.
// - median: the prefix whose weight comes closest to half of the node's, its count breaking ties; found in lists of all
//   points presorted along every axis, which are partitioned from level to level.
// - selection: the same split, and so the same tree, found by selection without any sort.
// - sampled_median: the median of a sample of the node's points, so about half.
// Source: document 001, section 2.3.1.
#include <cstdint>
#include <string>
#include <string_view>

namespace amrbench::partitioners {

enum class Splitter : std::uint8_t { midpoint, median, sampled_median, selection };

/// Throws support::InputError that lists the names when there is none called `name`.
Splitter splitter_from_name(std::string_view name);
std::string_view splitter_name(Splitter splitter);

/// Which splitter applies on which levels: `top` on levels 0 .. top_levels - 1, `below` from there on.
struct SplitRule {
  Splitter top = Splitter::midpoint;
  int top_levels = 0;
  Splitter below = Splitter::midpoint;

  [[nodiscard]] Splitter at(int level) const { return level < top_levels ? top : below; }
  friend bool operator==(const SplitRule&, const SplitRule&) = default;
};

/// "midpoint": one splitter everywhere; "selection:6:midpoint": the first on the 6 top levels, the second below.
/// Throws support::InputError for anything else.
SplitRule split_rule_from_name(std::string_view text);
/// PartitionOptions::splitter for the tree that the points' mesh has already; no rule for kd-trees.
inline constexpr std::string_view kOctree = "octree";
/// Likewise, for the parts-aware tree of the parts that are asked for, in halves and compact (parts/parts_curve.hpp).
inline constexpr std::string_view kPartsSplitter = "parts";
inline constexpr std::string_view kCompactPartsSplitter = "compact_parts";
[[nodiscard]] constexpr bool splits_by_parts(std::string_view text) {
  return text == kPartsSplitter || text == kCompactPartsSplitter;
}
/// Throws support::InputError unless `text` is one of these or a rule.
void check_splitter(std::string_view text);
std::string split_rule_name(const SplitRule& rule);

}  // namespace amrbench::partitioners
