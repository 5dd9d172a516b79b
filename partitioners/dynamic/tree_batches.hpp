#pragma once
// Batches of a dynamic tree: points are led to their leaves by planes, sorted by leaf, and each leaf is written by one
// thread, in the order of the batch.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "partitioners/dynamic/tree_impl.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners::dynamic {

template <class R>
void Tree<R>::check_batch(const PointBatch& batch, bool weights) const {
  using support::InputError;
  if (batch.points.dim != dim_)
    throw InputError("a batch has points of " + std::to_string(batch.points.dim) + " dimensions, the tree of " +
                     std::to_string(dim_));
  if (batch.points.data.size() != batch.ids.size() * static_cast<std::size_t>(dim_))
    throw InputError("a batch has " + std::to_string(batch.ids.size()) + " identities and " +
                     std::to_string(batch.points.data.size()) + " coordinates: give " + std::to_string(dim_) +
                     " a point");
  if (weights && batch.weights.size() != (options_.weighted ? batch.ids.size() : 0))
    throw InputError("a batch of " + std::to_string(batch.ids.size()) + " points has " +
                     std::to_string(batch.weights.size()) + " weights: give " +
                     (options_.weighted ? "one a point" : "none to a tree without"));
  if (batch.ids.size() + (weights ? size_ : 0) >= std::numeric_limits<std::uint32_t>::max() / 2)
    throw InputError(std::to_string(batch.ids.size()) + " points and " + std::to_string(size_) +
                     " there are too many: a dynamic tree holds fewer than 2^31 - 1");
}

template <class R>
void Tree<R>::check_finite(PointView<double> points) const {
  bool finite = true;
#pragma omp parallel for num_threads(team(points.size())) schedule(static) reduction(&& : finite)
  for (std::size_t i = 0; i < points.data.size(); ++i) finite = finite && std::isfinite(points.data[i]);
  if (!finite) kd::refuse_first(points);
}

/// leaf_of[i * stride]: the leaf of point i. Several points go down at once, so that their cache misses overlap.
template <class R>
void Tree<R>::route(PointView<double> points, std::uint32_t* leaf_of, std::size_t stride) {
  constexpr std::size_t kTogether = 16;
  const std::size_t n = points.size();
  const auto dim = static_cast<std::size_t>(dim_);
  const Node* nodes = pool_.nodes.data();
#pragma omp parallel for num_threads(team(n)) schedule(static)
  for (std::size_t first = 0; first < n; first += kTogether) {
    const std::size_t count = std::min(kTogether, n - first);
    const double* x = points.data.data() + first * dim;
    std::uint32_t at[kTogether] = {};
    for (bool below = true; below;) {
      below = false;
      for (std::size_t j = 0; j < count; ++j) {
        const Node& node = nodes[at[j]];
        const std::uint32_t next = node.child + (x[j * dim + node.axis] > node.plane ? 1 : 0);
        below = below || !node.leaf();
        at[j] = node.leaf() ? at[j] : next;
      }
    }
    for (std::size_t j = 0; j < count; ++j) leaf_of[(first + j) * stride] = nodes[at[j]].leaf_number();
  }
}

/// entries_ by leaf, those of a leaf in the order of the batch.
template <class R>
void Tree<R>::sort_by_leaf(PointView<double> points) {
  entry_count_ = points.size();
  if (entries_.capacity() > 8 * entry_count_ + 4096) {  // room of a much larger batch
    entries_.clear();
    spare_.clear();
  }
  entries_.truncate(0);
  spare_.truncate(0);
  entries_.grow(entry_count_);
  spare_.grow(entry_count_);
  if (entry_count_ == 0) return;
  route(points, &entries_[0].key, sizeof(Entry) / sizeof(std::uint32_t));
#pragma omp parallel for num_threads(team(entry_count_)) schedule(static)
  for (std::size_t i = 0; i < entry_count_; ++i) entries_[i].value = static_cast<std::uint32_t>(i);
  radix_sort(entries_, spare_, team(entry_count_));
}

/// Calls work(leaf, first entry, last entry) for each leaf of n sorted entries and notes which leaves changed. whole:
/// work reads all of a leaf's points, else it writes behind them.
template <class R>
template <class Work>
void Tree<R>::for_leaves(const support::PageBuffer<Entry>& entries, std::size_t n, bool whole, Work work) {
  constexpr std::size_t kAhead = 8, kFarAhead = 16;
  const Entry* all = entries.data();
  const std::size_t chunks = std::min<std::size_t>(n / 256 + 1, 256);
  std::vector<std::vector<std::uint32_t>> changed(chunks);
#pragma omp parallel for num_threads(team(n)) schedule(dynamic)
  for (std::size_t c = 0; c < chunks; ++c) {
    const auto group_start = [&](std::size_t i) {
      while (i > 0 && i < n && all[i].key == all[i - 1].key) ++i;
      return i;
    };
    const std::size_t end = group_start(n * (c + 1) / chunks);
    for (std::size_t i = group_start(n * c / chunks); i < end;) {
      if (i + kFarAhead < end) __builtin_prefetch(&leaves_[all[i + kFarAhead].key]);
      if (i + kAhead < end) {  // leaves of this thread
        const Leaf<R>& coming = leaves_[all[i + kAhead].key];
        const R* from = coming.run.slots;  // null: it has never had a point
        const int lines = from == nullptr ? 0 : whole ? 4 : 1;
        if (from != nullptr && !whole) from += coming.count;
        for (int line = 0; line < lines; ++line)
          __builtin_prefetch(reinterpret_cast<const char*>(from) + std::size_t{64} * line);
      }
      std::size_t next = i + 1;
      while (next < n && all[next].key == all[i].key) ++next;
      Leaf<R>& leaf = leaves_[all[i].key];
      work(leaf, all + i, all + next);
      if (!leaf.changed) {
        leaf.changed = true;
        changed[c].push_back(all[i].key);
      }
      i = next;
    }
  }
  for (const auto& part : changed) changed_.insert(changed_.end(), part.begin(), part.end());
}

template <class R>
R Tree<R>::record(const PointBatch& batch, std::size_t i) {
  R r{};
  const double* x = batch.points[i];
  for (int d = 0; d < batch.points.dim; ++d) r.x[d] = x[d];
  r.id = batch.ids[i];
  if constexpr (R::kWeighted) r.weight = batch.weights.empty() ? 0 : batch.weights[i];
  return r;
}

/// Writes record_of(0 .. more - 1) behind a leaf's points.
template <class R>
void Tree<R>::append(Leaf<R>& leaf, std::size_t more, const auto& record_of) {
  if (leaf.count + more > leaf.run.capacity) {
    // Some room more, so that single points do not move the leaf each time.
    Run<R> wider = memory_.take(leaf.count + more + std::min<std::size_t>((leaf.count + more) / 8, 32));
    std::copy_n(leaf.run.slots, leaf.count, wider.slots);
    memory_.give(leaf.run);
    leaf.run = wider;
  }
  for (std::size_t k = 0; k < more; ++k) {
    const R r = record_of(k);
    if constexpr (R::kWeighted) leaf.weight += r.weight;
    leaf.run.slots[leaf.count++] = r;
  }
}

template <class R>
void Tree<R>::insert(const PointBatch& batch) {
  check_batch(batch, true);
  check_finite(batch.points);
  sort_by_leaf(batch.points);
  for_leaves(entries_, entry_count_, false, [&](Leaf<R>& leaf, const Entry* first, const Entry* last) {
    append(leaf, static_cast<std::size_t>(last - first), [&](std::size_t k) { return record(batch, first[k].value); });
  });
  size_ += batch.ids.size();
}

template <class R>
bool Tree<R>::same(const R& r, std::uint64_t id, const double* x, int dim) {
  if (r.id != id) return false;
  for (int d = 0; d < dim; ++d) {
    if (r.x[d] != x[d]) return false;
  }
  return true;
}

/// Takes a leaf's points that entries name; taken(entry, record) says whether the record is to go, and may change it.
template <class R>
template <class Taken>
void Tree<R>::take_away(Leaf<R>& leaf, const Entry* first, const Entry* last, const PointBatch& batch, Taken taken) {
  constexpr std::ptrdiff_t kFew = 16;
  if (last - first > kFew && leaf.count > 256) return take_many(leaf, first, last, batch, taken);
  for (const Entry* e = first; e < last; ++e) {
    R* const points = leaf.run.slots;
    const std::uint64_t id = batch.ids[e->value];
    const double* x = batch.points[e->value];
    std::uint32_t i = 0;
    while (i < leaf.count && !same(points[i], id, x, dim_)) ++i;
    if (i == leaf.count || !taken(*e, points[i])) continue;
    if constexpr (R::kWeighted) leaf.weight -= points[i].weight;
    points[i] = points[--leaf.count];
  }
}

/// The same where searching for each would cost too much: points are sorted by identity once. Those that stay keep
/// their order.
template <class R>
template <class Taken>
void Tree<R>::take_many(Leaf<R>& leaf, const Entry* first, const Entry* last, const PointBatch& batch, Taken taken) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_id(leaf.count);
  for (std::uint32_t i = 0; i < leaf.count; ++i) by_id[i] = {leaf.run.slots[i].id, i};
  std::sort(by_id.begin(), by_id.end());
  std::vector<std::uint8_t> used(leaf.count), gone(leaf.count);
  std::vector<std::uint32_t> skip(leaf.count);  // of the first with an identity: how many behind it are used
  for (const Entry* e = first; e < last; ++e) {
    const std::uint64_t id = batch.ids[e->value];
    const auto run = std::lower_bound(by_id.begin(), by_id.end(), std::pair{id, std::uint32_t{0}});
    if (run == by_id.end() || run->first != id) continue;
    std::uint32_t& used_up = skip[static_cast<std::size_t>(run - by_id.begin())];
    auto at = run + used_up;
    for (; at != by_id.end() && at->first == id; ++at) {
      if (used[at->second] == 0) {
        if (same(leaf.run.slots[at->second], id, batch.points[e->value], dim_)) break;
      } else if (at == run + used_up) {
        ++used_up;
      }
    }
    if (at == by_id.end() || at->first != id) continue;
    R& r = leaf.run.slots[at->second];
    used[at->second] = 1;
    gone[at->second] = taken(*e, r) ? 1 : 0;
  }
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < leaf.count; ++i) {
    if (gone[i] != 0) {
      if constexpr (R::kWeighted) leaf.weight -= leaf.run.slots[i].weight;
    } else {
      leaf.run.slots[kept++] = leaf.run.slots[i];
    }
  }
  leaf.count = kept;
}

/// Gives a run back that is mostly empty.
template <class R>
void Tree<R>::shrink(Leaf<R>& leaf) {
  if (leaf.count == 0) return memory_.give(leaf.run);
  if (leaf.run.capacity <= 8 || std::size_t{leaf.count} * 4 > leaf.run.capacity) return;
  Run<R> smaller = memory_.take(leaf.count + leaf.count / 4);
  std::copy_n(leaf.run.slots, leaf.count, smaller.slots);
  memory_.give(leaf.run);
  leaf.run = smaller;
}

template <class R>
std::size_t Tree<R>::erase(const PointBatch& batch, std::span<std::uint8_t> found, std::span<std::uint64_t> weights) {
  check_batch(batch, false);
  sort_by_leaf(batch.points);
  std::fill(found.begin(), found.end(), std::uint8_t{0});
  std::fill(weights.begin(), weights.end(), std::uint64_t{0});
  std::size_t taken = 0;
  for_leaves(entries_, entry_count_, true, [&](Leaf<R>& leaf, const Entry* first, const Entry* last) {
    const std::uint32_t there = leaf.count;
    take_away(leaf, first, last, batch, [&](const Entry& e, [[maybe_unused]] const R& r) {
      if (!found.empty()) found[e.value] = 1;
      if constexpr (R::kWeighted) {
        if (!weights.empty()) weights[e.value] = r.weight;
      }
      return true;
    });
#pragma omp atomic
    taken += there - leaf.count;
    shrink(leaf);
  });
  size_ -= taken;
  return taken;
}

template <class R>
std::size_t Tree<R>::move(const PointBatch& batch, PointView<double> to, std::span<std::uint8_t> found) {
  check_batch(batch, false);
  check_batch({batch.ids, to}, false);
  check_finite(to);
  const std::size_t n = batch.ids.size();
  std::vector<std::uint32_t> target(n);
  route(to, target.data(), 1);
  std::vector<std::uint8_t> own;
  if (found.empty()) {
    own.resize(n);
    found = own;
  }
  constexpr std::uint8_t kStayed = 1, kLeft = 2;
  std::fill(found.begin(), found.end(), std::uint8_t{0});
  std::vector<std::uint64_t> weight(R::kWeighted ? n : 0);
  sort_by_leaf(batch.points);
  std::size_t left = 0, stayed = 0;
  for_leaves(entries_, entry_count_, true, [&](Leaf<R>& leaf, const Entry* first, const Entry* last) {
    const auto here = first->key;
    std::size_t in_place = 0;
    const std::uint32_t there = leaf.count;
    take_away(leaf, first, last, batch, [&](const Entry& e, R& r) {
      const bool leaves_it = target[e.value] != here;
      found[e.value] = leaves_it ? kLeft : kStayed;
      if constexpr (R::kWeighted) weight[e.value] = r.weight;
      if (leaves_it) return true;
      // No other entry may find it at its new place: it gets that when all have looked.
      r.x[0] = std::numeric_limits<double>::quiet_NaN();
      r.x[1] = static_cast<double>(e.value);
      ++in_place;
      return false;
    });
    for (std::uint32_t i = 0, missing = static_cast<std::uint32_t>(in_place); missing > 0; ++i) {
      if (!std::isnan(leaf.run.slots[i].x[0])) continue;
      const double* x = to[static_cast<std::size_t>(leaf.run.slots[i].x[1])];
      std::copy_n(x, dim_, leaf.run.slots[i].x);
      --missing;
    }
    const std::size_t gone = there - leaf.count;
#pragma omp atomic
    left += gone;
#pragma omp atomic
    stayed += in_place;
    shrink(leaf);
  });
  put_down(batch, to, target, weight, found, left);
  std::replace(found.begin(), found.end(), kLeft, kStayed);
  return left + stayed;
}

/// Appends the points of a move that left their leaves (found: 2) to those they go to.
template <class R>
void Tree<R>::put_down(const PointBatch& batch, PointView<double> to, std::span<const std::uint32_t> target,
                       std::span<const std::uint64_t> weight, std::span<const std::uint8_t> found, std::size_t left) {
  entry_count_ = left;
  entries_.truncate(left);
  spare_.truncate(left);
  if (left == 0) return;
  std::size_t at = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == 2) entries_[at++] = {target[i], static_cast<std::uint32_t>(i)};
  }
  radix_sort(entries_, spare_, team(entry_count_));
  const PointBatch moved{batch.ids, to, weight};
  for_leaves(entries_, entry_count_, false, [&](Leaf<R>& leaf, const Entry* first, const Entry* last) {
    append(leaf, static_cast<std::size_t>(last - first), [&](std::size_t k) { return record(moved, first[k].value); });
  });
}

}  // namespace amrbench::partitioners::dynamic
