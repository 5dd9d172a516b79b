#include "apps/partition/study_tree.hpp"

#include "partitioners/even_shares.hpp"

namespace amrbench::apps {

using partitioners::PointBatch;
using partitioners::PointView;

StudyTree::StudyTree(const support::Communicator& comm, int dim, const partitioners::DynamicTreeOptions& options,
                     partitioners::TreeCurve curve)
    : comm_(comm), bucket_(options.bucket), curve_(curve) {
  if (comm.size() == 1) {
    alone_ = partitioners::make_dynamic_tree(dim, options);
    return;
  }
  partitioners::check_curve(dim, curve);
  partitioners::RanksTreeOptions spread;
  spread.tree = options;
  spread.curve = curve;
  // Some domains a rank, so that stretches of them come out even.
  while (spread.domains < 16 * static_cast<std::size_t>(comm.size())) spread.domains *= 2;
  spread_ = std::make_unique<partitioners::DynamicRanksTree>(comm, dim, spread);
}

/// This rank's stretch of a batch.
PointBatch StudyTree::share(const PointBatch& batch) const {
  const std::size_t n = batch.ids.size(), d = static_cast<std::size_t>(batch.points.dim);
  const auto begin = static_cast<std::size_t>(partitioners::share_of(n, comm_.rank(), comm_.size()));
  const auto count = static_cast<std::size_t>(partitioners::share_of(n, comm_.rank() + 1, comm_.size())) - begin;
  return {batch.ids.subspan(begin, count), {batch.points.data.subspan(begin * d, count * d), batch.points.dim}};
}

void StudyTree::insert(const PointBatch& batch) {
  if (alone_) return alone_->insert(batch);
  spread_->insert(share(batch));
}

std::size_t StudyTree::erase(const PointBatch& batch) {
  return alone_ ? alone_->erase(batch) : spread_->erase(share(batch));
}

std::size_t StudyTree::move(const PointBatch& batch, PointView<double> to) {
  return alone_ ? alone_->move(batch, to) : spread_->move(share(batch), share({batch.ids, to}).points);
}

partitioners::Adjustments StudyTree::adjust() {
  return alone_ ? alone_->adjust() : spread_->adjust();
}

void StudyTree::rebuild() {
  if (alone_) return alone_->rebuild();
  spread_->rebuild();
}

std::vector<std::int64_t> StudyTree::part_cuts(int parts, partitioners::SliceRule rule) {
  return alone_ ? alone_->part_cuts(curve_, parts, rule) : spread_->part_cuts(parts, rule);
}

void StudyTree::write_parts(std::span<const std::int64_t> cuts, std::span<std::int32_t> part) {
  if (alone_) return alone_->write_parts(curve_, cuts, part);
  const partitioners::RankParts here = spread_->parts_here(cuts);
  const auto ids = support::all_gather_v<std::uint64_t>(comm_, here.ids);
  const auto parts = support::all_gather_v<std::int32_t>(comm_, here.part);
  for (std::size_t i = 0; i < ids.size(); ++i) part[ids[i]] = parts[i];
}

std::size_t StudyTree::size() const {
  return alone_ ? alone_->size() : spread_->size();
}

std::size_t StudyTree::leaf_count() const {
  return alone_ ? alone_->leaf_count() : spread_->leaf_count();
}

int StudyTree::depth() const {
  return alone_ ? alone_->depth() : spread_->depth();
}

int StudyTree::depth_bound() const {
  return partitioners::median_levels(size(), bucket_) + 2;
}

std::size_t StudyTree::memory_bytes() const {
  return support::all_max(comm_, alone_ ? alone_->memory_bytes() : spread_->memory_bytes());
}

}  // namespace amrbench::apps
