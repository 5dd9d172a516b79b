#pragma once
// Names for the parts of a new partition, so that little moves.
//
// A partition says which points belong together; which rank takes which part is free. A part that mostly lies on a rank
// already should bear that rank's number. The best naming is an assignment problem; greedy naming, the largest overlap
// first, keeps at least half of what the best one keeps (Avis, Networks 13 (1983)), and is what partitioners that care
// do (Oliker and Biswas, JPDC 52 (1998)).
#include <cstdint>
#include <span>
#include <vector>

namespace amrbench::partitioners {

/// How much of a part lies on a rank now; pairs that are left out overlap by nothing.
struct Overlap {
  std::int32_t part = 0;
  std::int32_t rank = 0;
  std::int64_t weight = 0;  ///< >= 0
  bool operator==(const Overlap&) const = default;
};

/// Entries of one pair as one, by part, then rank. O(n log n). Local.
void add_up(std::vector<Overlap>& overlaps);

/// For each of `parts` parts the rank that takes it, each rank one: greedily by `overlaps`, ties by part, then rank;
/// parts that overlap with no free rank keep their number where it is free. Never keeps less than the numbers as they
/// are. Entries of one pair add up. O(n log n). Local.
std::vector<std::int32_t> rename_parts(std::vector<Overlap> overlaps, int parts);

/// The same where nodes have `tasks` ranks each, and so many parts that follow one another belong together: a node
/// takes all parts of another one, by rename_parts() of nodes, then its ranks take those, by rename_parts() in each
/// node. Never keeps less on the ranks than the numbers as they are. O(n log n). Local.
std::vector<std::int32_t> rename_in_nodes(std::vector<Overlap> overlaps, int parts, int tasks);

/// What stays where it is under these names.
std::int64_t kept_weight(std::span<const Overlap> overlaps, std::span<const std::int32_t> names);

}  // namespace amrbench::partitioners
