#pragma once
// The tree of `amrbench partition --dynamic`: a DynamicTree on one rank, a DynamicRanksTree on several. Every rank has
// all points of the study, passes its share of each batch to the tree, and gets the parts of all points.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "partitioners/dynamic/ranks_tree.hpp"

namespace amrbench::apps {

/// Batches are whole, the same on every rank; all is collective, and results are those of all ranks. comm must outlive
/// it.
class StudyTree {
 public:
  StudyTree(const support::Communicator& comm, int dim, const partitioners::DynamicTreeOptions& options,
            partitioners::TreeCurve curve);

  void insert(const partitioners::PointBatch& batch);
  std::size_t erase(const partitioners::PointBatch& batch);
  std::size_t move(const partitioners::PointBatch& batch, partitioners::PointView<double> to);
  partitioners::Adjustments adjust();
  void rebuild();
  std::vector<std::int64_t> part_cuts(int parts, partitioners::SliceRule rule);
  /// part[its identity] of every point.
  void write_parts(std::span<const std::int64_t> cuts, std::span<std::int32_t> part);

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t leaf_count() const;
  [[nodiscard]] int depth() const;
  /// Levels that it promises at most, for median splitters.
  [[nodiscard]] int depth_bound() const;
  /// Of the rank that holds most.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  [[nodiscard]] partitioners::PointBatch share(const partitioners::PointBatch& batch) const;

  const support::Communicator& comm_;
  std::size_t bucket_;
  partitioners::TreeCurve curve_;
  std::unique_ptr<partitioners::DynamicTree> alone_;  ///< one of the two
  std::unique_ptr<partitioners::DynamicRanksTree> spread_;
};

}  // namespace amrbench::apps
