// Domains of a tree over ranks: decisions about upper nodes, planes found anew, cutting and joining of domains, and who
// keeps which of them.
#include <algorithm>
#include <bit>

#include "partitioners/bounded_exchange.hpp"
#include "partitioners/dynamic/ranks_domain.hpp"
#include "partitioners/threads.hpp"

namespace amrbench::partitioners {

using dynamic::BranchCut;
using dynamic::BranchState;
using dynamic::WordView;

/// Points of a domain when it is made.
std::uint64_t DynamicRanksTree::share() const {
  return std::max<std::uint64_t>((size_ + options_.domains - 1) / options_.domains, options_.tree.bucket);
}

/// Counts and heights of all nodes.
void DynamicRanksTree::gather_states() {
  // One word each: count, height, changed.
  std::vector<std::uint64_t> words(domains_.size());
  for (std::size_t d = first_; d < end_; ++d) {
    const BranchState state = domains_[d].tree->branch_state();
    words[d] = std::uint64_t{state.count} << 32U | std::uint64_t{state.height} << 1U | (state.changed ? 1 : 0);
  }
  support::all_sum(comm_, std::span(words));
  std::vector<BranchState> states;
  for (std::size_t d = 0; d < words.size(); ++d) {
    states.push_back({static_cast<std::uint32_t>(words[d] >> 32U), static_cast<std::uint32_t>(words[d]) >> 1U,
                      (words[d] & 1U) != 0});
    domains_[d].count = states.back().count;
  }
  top_.set_states(states);
}

/// What lies too deep now does so because of ties (tree_adjust.hpp).
void DynamicRanksTree::note_ties() {
  const auto bound = static_cast<std::uint32_t>(median_levels(size_, options_.tree.bucket)) + 2;
  const std::uint32_t height = top_.root().height;
  tied_levels_ = height > bound ? height - bound : 0;
}

/// Decides, and carries out, once. Returns what this rank counts: of upper nodes rank 0.
Adjustments DynamicRanksTree::adjust_pass(std::uint32_t deepest) {
  const auto& tree = options_.tree;
  const dynamic::TopPlan plan = top_.decide({tree.merge * static_cast<double>(tree.bucket), tree.balance, tree.bucket,
                                             deepest, tree.splitter != Splitter::midpoint});
  Adjustments done = comm_.rank() == 0 ? plan.counted : Adjustments{};
  for (const auto& [domain, level] : plan.visited) {
    if (domain < first_ || domain >= end_) continue;
    const Adjustments one = domains_[domain].tree->adjust_branch(level, deepest);
    done.splits += one.splits;
    done.merges += one.merges;
    done.lifts += one.lifts;
    done.rebuilds += one.rebuilds;
    done.rebuilt_points += one.rebuilt_points;
  }
  if (!plan.remade.empty() || !plan.lifted.empty()) {
    Words rows;
    remake(plan.remade, rows);
    for (std::size_t i = plan.lifted.size(); i-- > 0;) top_.lift(plan.lifted[i]);
    settle(rows);
  }
  gather_states();
  return done;
}

Adjustments DynamicRanksTree::adjust() {
  gather_states();
  const std::uint32_t deepest =
      static_cast<std::uint32_t>(median_levels(size_, options_.tree.bucket)) + 2 + tied_levels_;
  Adjustments done = adjust_pass(deepest);
  std::uint64_t sums[] = {done.splits, done.merges, done.lifts, done.rebuilds, done.rebuilt_points};
  // Splits may have put leaves too deep.
  if (options_.tree.splitter != Splitter::midpoint && top_.root().height > deepest) {
    done = adjust_pass(deepest);
    const std::uint64_t more[] = {done.splits, done.merges, done.lifts, done.rebuilds, done.rebuilt_points};
    for (std::size_t i = 0; i < std::size(sums); ++i) sums[i] += more[i];
  }
  note_ties();
  regroup();
  support::all_sum(comm_, std::span<std::uint64_t>(sums));
  return {sums[0], sums[1], sums[2], sums[3], sums[4]};
}

void DynamicRanksTree::rebuild() {
  Words rows;
  for (const Domain& domain : here()) domain.tree->append_rows(rows);
  build(std::move(rows));
}

/// The tree of these points of this rank and those of the others.
void DynamicRanksTree::build(Words rows) {
  size_ = support::all_sum(comm_, rows.size() / form().words());
  top_ = {};
  domains_.clear();
  domains_.emplace_back();
  first_ = end_ = 0;
  const std::uint32_t root[] = {0};
  remake(root, rows);
  settle(rows);
  gather_states();
  note_ties();
}

/// Finds planes anew below these nodes. rows: gets this rank's points below them, behind those of the first node that
/// are there.
void DynamicRanksTree::remake(std::span<const std::uint32_t> nodes, Words& rows) {
  if (nodes.empty()) return;
  std::vector<std::size_t> ends;
  for (const std::uint32_t node : nodes) {
    for (const std::uint32_t d : top_.domains_below(node)) {
      if (domains_[d].tree) domains_[d].tree->append_rows(rows);
      domains_[d].tree.reset();
    }
    ends.push_back(rows.size() / form().words());
  }
  const auto& tree = options_.tree;
  const dynamic::CutRule rule{
      {tree.splitter == Splitter::midpoint, tree.bucket, tree.balance}, share(), team_size(tree.threads)};
  const std::vector<dynamic::CutNode> cut = dynamic::cut_rows(comm_, rows, ends, form(), rule);
  top_.remake(nodes, cut, static_cast<std::uint32_t>(domains_.size()));
  for (const dynamic::CutNode& node : cut) {
    if (node.child != 0) continue;
    Domain domain;
    domain.remade = true;
    domain.begin = node.begin;
    domain.end = node.end;
    domain.count = node.count;
    domains_.push_back(std::move(domain));
  }
  remakes_ += nodes.size();
}

/// Cuts domains that have outgrown their bound at their roots, once each.
bool DynamicRanksTree::split_domains() {
  std::vector<std::uint32_t> large;
  for (std::uint32_t d = 0; d < domains_.size(); ++d)
    if (domains_[d].count > 2 * share()) large.push_back(d);
  if (large.empty()) return false;
  constexpr std::size_t kWords = 6;
  std::vector<std::uint64_t> words(kWords * large.size());
  for (std::size_t i = 0; i < large.size(); ++i) {
    const auto& tree = domains_[large[i]].tree;
    if (!tree || tree->is_leaf()) continue;
    const BranchCut cut = tree->root_cut();
    std::uint64_t* w = &words[kWords * i];
    *w++ = 1;
    *w++ = std::bit_cast<std::uint64_t>(cut.plane);
    *w++ = std::uint64_t{cut.axis} << 1U | (cut.tied ? 1 : 0);
    *w++ = std::uint64_t{cut.below[0].count} << 32U | cut.below[0].height;
    *w++ = std::uint64_t{cut.below[1].count} << 32U | cut.below[1].height;
  }
  support::all_sum(comm_, std::span(words));
  bool any = false;
  const auto state = [](std::uint64_t word) {
    return BranchState{static_cast<std::uint32_t>(word >> 32U), static_cast<std::uint32_t>(word), false};
  };
  for (std::size_t i = 0; i < large.size(); ++i) {
    const std::uint64_t* w = &words[kWords * i];
    if (w[0] == 0) continue;  // all of its points coincide
    any = true;
    const BranchCut cut{std::bit_cast<double>(w[1]),
                        static_cast<std::uint32_t>(w[2] >> 1U),
                        (w[2] & 1U) != 0,
                        {state(w[3]), state(w[4])}};
    top_.split(large[i], cut, static_cast<std::uint32_t>(domains_.size()));
    Domain upper;
    upper.owner = domains_[large[i]].owner;
    upper.count = cut.below[1].count;
    domains_[large[i]].count = cut.below[0].count;
    if (auto& tree = domains_[large[i]].tree) {
      const dynamic::PackedBranch packed = tree->pack();
      const auto [below, above] = dynamic::cut_at_root(packed.view(), form().words());
      tree = dynamic::make_branch(dim_, options_.tree);
      tree->unpack(below);
      upper.tree = dynamic::make_branch(dim_, options_.tree);
      upper.tree->unpack(above);
    }
    domains_.push_back(std::move(upper));
  }
  return any;
}

/// Makes one domain of each two that are siblings and small together, once.
bool DynamicRanksTree::join_domains() {
  const auto pairs = top_.small_siblings(share());
  if (pairs.empty()) return false;
  std::vector<int> owner;
  for (const Domain& domain : domains_) owner.push_back(domain.owner);
  for (const auto& pair : pairs) owner[pair.upper] = owner[pair.lower];
  carry(owner, {});
  for (const auto& pair : pairs) {
    Domain &lower = domains_[pair.lower], &upper = domains_[pair.upper];
    if (lower.tree) {
      const dynamic::PackedBranch below = lower.tree->pack(), above = upper.tree->pack();
      lower.tree = dynamic::make_branch(dim_, options_.tree);
      lower.tree->unpack(dynamic::join(top_.cut(pair.node), below.view(), above.view()).view());
    }
    lower.count += upper.count;
    upper.tree.reset();
    top_.join(pair.node);
  }
  return true;
}

/// Cuts and joins domains until all are within their bounds, and deals them out.
void DynamicRanksTree::regroup() {
  bool changed = false;
  while (split_domains()) changed = true;
  while (join_domains()) changed = true;
  if (changed) {
    settle({});
  } else if (const std::vector<int> owner = dealt(); !owner.empty()) {
    carry(owner, {});
    find_here();
  }
}

/// This rank's stretch of the domains.
void DynamicRanksTree::find_here() {
  const auto mine = [&](const Domain& domain) { return domain.owner == comm_.rank(); };
  const auto first = std::find_if(domains_.begin(), domains_.end(), mine);
  first_ = static_cast<std::size_t>(first - domains_.begin());
  end_ = static_cast<std::size_t>(std::find_if_not(first, domains_.end(), mine) - domains_.begin());
}

/// Owners by points: the rank in whose share a domain's middle falls. Empty: those there are do well enough.
std::vector<int> DynamicRanksTree::dealt() const {
  std::vector<int> owner;
  std::vector<std::uint64_t> now(static_cast<std::size_t>(comm_.size())), then = now;
  std::uint64_t before = 0;
  bool keep = true;
  for (std::size_t d = 0; d < domains_.size(); ++d) {
    const Domain& domain = domains_[d];
    owner.push_back(size_ == 0 ? 0 : slice_at(2 * static_cast<Mass>(before) + domain.count, size_, comm_.size()));
    before += domain.count;
    keep = keep && !domain.remade && (d == 0 || domains_[d - 1].owner <= domain.owner);
    if (domain.remade) continue;
    now[static_cast<std::size_t>(domain.owner)] += domain.count;
    then[static_cast<std::size_t>(owner[d])] += domain.count;
  }
  const auto most = [](const std::vector<std::uint64_t>& loads) {
    return *std::max_element(loads.begin(), loads.end());
  };
  if (keep && most(now) * 10 <= most(then) * 11) return {};
  return owner;
}

/// After edits of the upper nodes: numbers domains along the curve, deals them out and brings them to their ranks.
/// rows: of those that were remade.
void DynamicRanksTree::settle(const Words& rows) {
  std::vector<Domain> ordered;
  for (const dynamic::DomainPlace& place : top_.number_domains(dim_, options_.curve)) {
    ordered.push_back(std::move(domains_[place.label]));
    ordered.back().entrance = place.entrance;
  }
  domains_ = std::move(ordered);
  std::vector<int> owner = dealt();
  if (owner.empty())
    for (const Domain& domain : domains_) owner.push_back(domain.owner);
  carry(owner, rows);
  find_here();
  for (Domain& domain : here()) domain.tree->enter(domain.entrance);
}

/// Appends what goes from this rank to another: of each domain of its, in their order, the number of words and those
/// of a whole branch, or the rows of a remade one.
void DynamicRanksTree::pack_for(int rank, std::span<const int> owner, const Words& rows, Words& out) const {
  const std::size_t words = form().words();
  for (std::size_t d = 0; d < domains_.size(); ++d) {
    if (owner[d] != rank) continue;
    const Domain& domain = domains_[d];
    if (domain.remade) {
      out.push_back((domain.end - domain.begin) * words);
      out.insert(out.end(), rows.begin() + static_cast<std::ptrdiff_t>(domain.begin * words),
                 rows.begin() + static_cast<std::ptrdiff_t>(domain.end * words));
    } else if (domain.tree) {
      const dynamic::PackedBranch packed = domain.tree->pack();
      out.push_back(packed.nodes.size());
      out.push_back(packed.rows.size());
      out.insert(out.end(), packed.nodes.begin(), packed.nodes.end());
      out.insert(out.end(), packed.rows.begin(), packed.rows.end());
    }
  }
}

/// Makes the branches of this rank's domains from its own rows and from what came.
void DynamicRanksTree::take(std::span<const int> owner, const Words& rows, const Words& in,
                            std::span<const std::size_t> counts) {
  const std::size_t ranks = counts.size(), words = form().words();
  std::vector<std::size_t> at(ranks);
  for (std::size_t r = 1; r < ranks; ++r) at[r] = at[r - 1] + counts[r - 1];
  const auto next = [&](std::size_t from, std::size_t n) {
    at[from] += n;
    return WordView(in).subspan(at[from] - n, n);
  };
  for (std::size_t d = 0; d < domains_.size(); ++d) {
    Domain& domain = domains_[d];
    if (owner[d] != comm_.rank()) continue;
    if (domain.remade) {
      std::vector<WordView> pieces;
      for (std::size_t r = 0; r < ranks; ++r) {
        pieces.push_back(static_cast<int>(r) == comm_.rank()
                             ? WordView(rows).subspan(domain.begin * words, (domain.end - domain.begin) * words)
                             : next(r, next(r, 1)[0]));
      }
      domain.tree = dynamic::make_branch(dim_, options_.tree);
      domain.tree->assign(pieces);
    } else if (domain.owner != comm_.rank()) {
      const auto from = static_cast<std::size_t>(domain.owner);
      const std::size_t node_words = next(from, 1)[0], row_words = next(from, 1)[0];
      const WordView nodes = next(from, node_words);
      domain.tree = dynamic::make_branch(dim_, options_.tree);
      domain.tree->unpack({nodes, next(from, row_words)});
      domain.tree->enter(domain.entrance);
    }
  }
}

/// Brings every domain to its owner, in one exchange.
void DynamicRanksTree::carry(std::span<const int> owner, const Words& rows) {
  const auto ranks = static_cast<std::size_t>(comm_.size());
  bool moves = false;
  for (std::size_t d = 0; d < domains_.size(); ++d) {
    const bool whole = !domains_[d].remade && owner[d] != domains_[d].owner;
    moves = moves || whole || domains_[d].remade;
    moves_ += whole ? 1 : 0;
  }
  if (!moves) return;
  Words out, in;
  std::vector<std::size_t> counts(ranks), received(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::size_t before = out.size();
    if (static_cast<int>(r) != comm_.rank()) pack_for(static_cast<int>(r), owner, rows, out);
    counts[r] = out.size() - before;
  }
  if (ranks > 1) exchange_in_rounds<std::uint64_t>(comm_, out, counts, options_.message_bytes, in, received);
  take(owner, rows, in, received);
  for (std::size_t d = 0; d < domains_.size(); ++d) {
    if (owner[d] != comm_.rank()) domains_[d].tree.reset();
    domains_[d].owner = owner[d];
    domains_[d].remade = false;
  }
}

}  // namespace amrbench::partitioners
