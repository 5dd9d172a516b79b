#include "partitioners/dynamic/ranks_tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "partitioners/bounded_exchange.hpp"
#include "partitioners/check_together.hpp"
#include "partitioners/dynamic/ranks_domain.hpp"
#include "partitioners/threads.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

/// Points that came to this rank, by domain: those of its k-th domain are [start[k], start[k + 1]).
struct DynamicRanksTree::Rows {
  std::vector<std::size_t> start;
  std::vector<std::uint64_t> ids;
  std::vector<std::uint64_t> weights;  ///< empty in trees without
  std::vector<double> x, to;           ///< dim a point; to: of moves

  [[nodiscard]] std::size_t count(std::size_t k) const { return start[k + 1] - start[k]; }
  [[nodiscard]] PointBatch batch(std::size_t k, int dim) const {
    return {std::span(ids).subspan(start[k], count(k)), view(x, k, dim),
            weights.empty() ? std::span<const std::uint64_t>{} : std::span(weights).subspan(start[k], count(k))};
  }
  [[nodiscard]] PointView<double> view(const std::vector<double>& from, std::size_t k, int dim) const {
    const auto d = static_cast<std::size_t>(dim);
    return {std::span(from).subspan(start[k] * d, count(k) * d), dim};
  }
};

DynamicRanksTree::DynamicRanksTree(const support::Communicator& comm, int dim, const RanksTreeOptions& options)
    : comm_(comm), dim_(dim), options_(options) {
  using support::InputError;
  if (options.domains < 1 || options.domains > std::size_t{1} << 20 || !std::has_single_bit(options.domains))
    throw InputError("domains is " + std::to_string(options.domains) + ": must be a power of two from 1 to 2^20");
  if (options.message_bytes < 1) throw InputError("message_bytes is 0: must be at least 1");
  auto first = dynamic::make_branch(dim, options.tree);  // on every rank, for its checks
  if (dim > 3) options_.curve = TreeCurve::morton;
  domains_.emplace_back();
  end_ = comm.rank() == 0 ? 1 : 0;
  if (comm.rank() == 0) domains_[0].tree = std::move(first);
}

DynamicRanksTree::~DynamicRanksTree() = default;

auto DynamicRanksTree::here() -> std::span<Domain> {
  return std::span(domains_).subspan(first_, end_ - first_);
}
auto DynamicRanksTree::here() const -> std::span<const Domain> {
  return std::span(domains_).subspan(first_, end_ - first_);
}

void DynamicRanksTree::check(const PointBatch& batch, PointView<double> to, Change change, std::size_t more) const {
  using support::InputError;
  const bool moves = change == Change::move;
  check_together(comm_, [&] {
    const auto d = static_cast<std::size_t>(dim_);
    for (const PointView<double>& points : {batch.points, moves ? to : batch.points}) {
      if (points.dim != dim_)
        throw InputError("a batch has points of " + std::to_string(points.dim) + " dimensions, the tree of " +
                         std::to_string(dim_));
      if (points.data.size() != batch.ids.size() * d)
        throw InputError("a batch has " + std::to_string(batch.ids.size()) + " identities and " +
                         std::to_string(points.data.size()) + " coordinates: give " + std::to_string(dim_) +
                         " a point");
    }
    if (change == Change::insert && batch.weights.size() != (options_.tree.weighted ? batch.ids.size() : 0))
      throw InputError("a batch of " + std::to_string(batch.ids.size()) + " points has " +
                       std::to_string(batch.weights.size()) + " weights: give " +
                       (options_.tree.weighted ? "one a point" : "none to a tree without"));
    if (size_ + more >= std::numeric_limits<std::uint32_t>::max() / 2)
      throw InputError(std::to_string(size_ + more) + " points are too many: a dynamic tree holds fewer than 2^31 - 1");
    const std::span<const double> put = moves ? to.data : batch.points.data;
    if (change != Change::erase && !std::all_of(put.begin(), put.end(), [](double v) { return std::isfinite(v); }))
      throw InputError("a batch has a coordinate that is not finite");
  });
}

/// Sends the entries of a batch to the ranks of their points' domains. to: of moves, else empty.
auto DynamicRanksTree::send(const PointBatch& batch, PointView<double> to) -> Rows {
  const auto d = static_cast<std::size_t>(dim_);
  const auto ranks = static_cast<std::size_t>(comm_.size());
  const std::size_t at_x = form().head, at_to = at_x + d, words = at_to + (to.data.empty() ? 0 : d);
  std::vector<int> target(batch.ids.size());
  std::vector<std::size_t> counts(ranks), at(ranks);
#pragma omp parallel for num_threads(team_size(options_.tree.threads)) schedule(static) if (target.size() >= 4096)
  for (std::size_t i = 0; i < target.size(); ++i) target[i] = domains_[top_.domain_of(batch.points[i])].owner;
  for (const int rank : target) counts[static_cast<std::size_t>(rank)] += words;
  for (std::size_t r = 1; r < ranks; ++r) at[r] = at[r - 1] + counts[r - 1];
  Words out(at[ranks - 1] + counts[ranks - 1]), in;
  for (std::size_t i = 0; i < target.size(); ++i) {
    std::uint64_t* row = out.data() + at[static_cast<std::size_t>(target[i])];
    at[static_cast<std::size_t>(target[i])] += words;
    row[0] = batch.ids[i];
    if (options_.tree.weighted) row[1] = batch.weights.empty() ? 0 : batch.weights[i];
    for (std::size_t k = 0; k < d; ++k) row[at_x + k] = std::bit_cast<std::uint64_t>(batch.points[i][k]);
    for (std::size_t k = at_to; k < words; ++k) row[k] = std::bit_cast<std::uint64_t>(to[i][k - at_to]);
  }
  // A rank without entries does not know whether the others' are moves: rows say it by their length.
  const std::size_t width = support::all_max(comm_, out.empty() ? std::size_t{0} : words);
  if (comm_.size() == 1) {
    in = std::move(out);
  } else {
    std::vector<std::size_t> received;
    exchange_in_rounds<std::uint64_t>(comm_, out, counts, options_.message_bytes, in, received);
  }
  return by_domain(in, width);
}

/// Entries of `width` words by domain, those of one in the order of ranks and of their batches.
auto DynamicRanksTree::by_domain(const Words& in, std::size_t width) const -> Rows {
  const auto d = static_cast<std::size_t>(dim_);
  const std::size_t n = width == 0 ? 0 : in.size() / width;
  const std::size_t at_x = form().head, at_to = at_x + d;
  const bool moves = width > at_to;
  Rows rows;
  const std::size_t trees = end_ - first_;
  rows.start.assign(trees + 1, 0);
  std::vector<std::uint32_t> place(n);
  std::vector<double> x(d);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < d; ++k) x[k] = std::bit_cast<double>(in[i * width + at_x + k]);
    place[i] = static_cast<std::uint32_t>(top_.domain_of(x.data()) - first_);
    ++rows.start[place[i] + 1];
  }
  for (std::size_t k = 0; k < trees; ++k) rows.start[k + 1] += rows.start[k];
  std::vector<std::size_t> next = rows.start;
  rows.ids.resize(n);
  rows.weights.resize(options_.tree.weighted ? n : 0);
  rows.x.resize(n * d);
  rows.to.resize(moves ? n * d : 0);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t j = next[place[i]]++;
    rows.ids[j] = in[i * width];
    if (options_.tree.weighted) rows.weights[j] = in[i * width + 1];
    for (std::size_t k = 0; k < d; ++k) rows.x[j * d + k] = std::bit_cast<double>(in[i * width + at_x + k]);
    for (std::size_t k = 0; moves && k < d; ++k) rows.to[j * d + k] = std::bit_cast<double>(in[i * width + at_to + k]);
  }
  return rows;
}

void DynamicRanksTree::insert_rows(const Rows& rows) {
  const std::span<Domain> mine = here();
  for (std::size_t k = 0; k < mine.size(); ++k)
    if (rows.count(k) > 0) mine[k].tree->insert(rows.batch(k, dim_));
}

auto DynamicRanksTree::rows_of(const PointBatch& batch) const -> Words {
  Words rows;
  rows.reserve(batch.ids.size() * form().words());
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    rows.push_back(batch.ids[i]);
    if (options_.tree.weighted) rows.push_back(batch.weights[i]);
    for (std::size_t k = 0; k < form().dim; ++k) rows.push_back(std::bit_cast<std::uint64_t>(batch.points[i][k]));
  }
  return rows;
}

void DynamicRanksTree::insert(const PointBatch& batch) {
  const std::size_t more = support::all_sum(comm_, batch.ids.size());
  check(batch, batch.points, Change::insert, more);
  if (size_ == 0) {
    build(rows_of(batch));
  } else {
    insert_rows(send(batch, {{}, dim_}));
    size_ += more;
  }
}

std::size_t DynamicRanksTree::erase(const PointBatch& batch) {
  check(batch, batch.points, Change::erase, 0);
  const Rows rows = send(batch, {{}, dim_});
  std::size_t taken = 0;
  const std::span<Domain> mine = here();
  for (std::size_t k = 0; k < mine.size(); ++k)
    if (rows.count(k) > 0) taken += mine[k].tree->erase(rows.batch(k, dim_));
  taken = support::all_sum(comm_, taken);
  size_ -= taken;
  return taken;
}

std::size_t DynamicRanksTree::move(const PointBatch& batch, PointView<double> to) {
  check(batch, to, Change::move, 0);
  const Rows rows = send(batch, to);
  const auto d = static_cast<std::size_t>(dim_);
  std::vector<std::uint64_t> left, left_weights;
  std::vector<double> left_to;
  std::size_t moved = 0;
  const std::span<Domain> mine = here();
  for (std::size_t k = 0; k < mine.size(); ++k) {
    std::vector<std::uint64_t> ids[2];  // of those that stay, and of those that leave
    std::vector<double> from[2], towards[2];
    for (std::size_t i = rows.start[k]; i < rows.start[k + 1]; ++i) {
      const double* x = rows.to.data() + i * d;
      const int leaves = top_.domain_of(x) == first_ + k ? 0 : 1;
      ids[leaves].push_back(rows.ids[i]);
      from[leaves].insert(from[leaves].end(), rows.x.begin() + static_cast<std::ptrdiff_t>(i * d),
                          rows.x.begin() + static_cast<std::ptrdiff_t>((i + 1) * d));
      towards[leaves].insert(towards[leaves].end(), x, x + d);
    }
    std::vector<std::uint8_t> found(ids[1].size());
    std::vector<std::uint64_t> weights(options_.tree.weighted ? ids[1].size() : 0);
    moved += mine[k].tree->erase({ids[1], {from[1], dim_}}, found, weights);
    moved += mine[k].tree->move({ids[0], {from[0], dim_}}, {towards[0], dim_});
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] == 0) continue;
      left.push_back(ids[1][i]);
      if (options_.tree.weighted) left_weights.push_back(weights[i]);
      left_to.insert(left_to.end(), towards[1].begin() + static_cast<std::ptrdiff_t>(i * d),
                     towards[1].begin() + static_cast<std::ptrdiff_t>((i + 1) * d));
    }
  }
  insert_rows(send({left, {left_to, dim_}, left_weights}, {{}, dim_}));
  return support::all_sum(comm_, moved);
}

std::vector<std::int64_t> DynamicRanksTree::part_cuts(int parts, SliceRule rule) {
  std::vector<std::uint64_t> loads;
  for (const Domain& domain : here()) {
    const std::vector<std::uint64_t> more = domain.tree->leaf_loads(options_.curve);
    loads.insert(loads.end(), more.begin(), more.end());
  }
  return slice_on_ranks(comm_, loads, loads.size(), parts, rule);
}

RankParts DynamicRanksTree::parts_here(std::span<const std::int64_t> cuts) {
  std::size_t leaves = 0;
  for (const Domain& domain : here()) leaves += domain.tree->leaf_count();
  auto leaf = static_cast<std::int64_t>(support::exclusive_sum(comm_, leaves));
  RankParts result;
  std::size_t part = 0;
  for (const Domain& domain : here()) {
    for (const std::uint32_t number : domain.tree->leaves(options_.curve)) {
      while (part + 2 < cuts.size() && leaf >= cuts[part + 1]) ++part;
      domain.tree->append_ids(number, result.ids);
      result.part.resize(result.ids.size(), static_cast<std::int32_t>(part));
      ++leaf;
    }
  }
  return result;
}

std::size_t DynamicRanksTree::domains() const {
  return domains_.size();
}

std::size_t DynamicRanksTree::points_here() const {
  std::size_t points = 0;
  for (const Domain& domain : here()) points += domain.tree->size();
  return points;
}

std::size_t DynamicRanksTree::memory_bytes() const {
  std::size_t bytes = domains_.size() * (sizeof(Domain) + 2 * sizeof(dynamic::TopNode));
  for (const Domain& domain : here()) bytes += domain.tree->memory_bytes();
  return bytes;
}

std::size_t DynamicRanksTree::leaf_count() const {
  std::size_t leaves = 0;
  for (const Domain& domain : here()) leaves += domain.tree->leaf_count();
  return support::all_sum(comm_, leaves);
}

}  // namespace amrbench::partitioners
