#pragma once
// The cells that several ranks share the leaves of, cut by multiway rounds over ranks until each belongs to one rank.
//
// A round takes all such cells up to 6 levels down: every rank samples its points of them, all ranks make the same
// guesses (round_tree.hpp) from all samples, each walks its own points down, and level by level the cuts are found from
// the points that met brackets (distributed_search.hpp). A node whose bracket misses waits for the next round; a cell's
// root then is searched among all points, so each round cuts every cell at least once. At the end of a round this
// rank's points are grouped by the cells reached.
// Collectives of a round: 2 for the samples, those of distributed_search.hpp a level.
#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "partitioners/orb/distributed_search.hpp"
#include "partitioners/orb/multiway_round_impl.hpp"
#include "partitioners/orb/point_sources.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::partitioners::detail {

/// Leaves in even stretches: rank r owns leaves * r / ranks up to, not including, leaves * (r + 1) / ranks.
struct LeafOwners {
  std::uint64_t leaves = 1;
  std::uint64_t ranks = 1;

  [[nodiscard]] std::uint32_t first_leaf(std::uint64_t rank) const {
    return static_cast<std::uint32_t>(leaves * rank / ranks);
  }
  [[nodiscard]] std::uint64_t owner(std::uint64_t leaf) const { return ((leaf + 1) * ranks - 1) / leaves; }
  /// Do several ranks own leaves of this cell?
  template <class T, int Dim>
  [[nodiscard]] bool shared(const OrbCell<T, Dim>& cell) const {
    return owner(cell.first_leaf) != owner(cell.first_leaf + std::uint64_t{cell.leaves} - 1);
  }
};

/// Exactly n elements; memory that suffices is kept, for its pages have been touched.
template <class V>
void fit(support::PageBuffer<V>& buffer, std::size_t n) {
  buffer.grow(n);
  buffer.truncate(n);
}

/// What an OrbDistributed keeps from call to call.
template <class T, int Dim>
struct DistributedMemory {
  support::PageBuffer<OrbPoint<T, Dim>> items, spare, received;
  support::PageBuffer<std::uint8_t> codes;
  support::PageBuffer<std::uint32_t> labels, labels_back;
  OrbResult<T, Dim> solved;
};

/// A cell, and where this rank's points of it stand.
struct CellRange {
  std::size_t cell = 1;
  std::uint64_t begin = 0, end = 0;
};

template <class T, int Dim>
class DistributedRounds {
 public:
  using Point = OrbPoint<T, Dim>;

  DistributedRounds(const support::Communicator& comm, const OrbOptions& options, OrbTree<T, Dim>& tree,
                    InputSource<T, Dim> input, const std::uint64_t* weights, bool weighted,
                    DistributedMemory<T, Dim>& memory)
      : comm_(comm),
        options_(options),
        tree_(tree),
        input_(input),
        weights_(weights),
        weighted_(weighted),
        owners_{tree.leaves, static_cast<std::uint64_t>(comm.size())},
        items_(memory.items),
        spare_(memory.spare),
        codes_(memory.codes) {}

  /// Cuts until no cell is shared. Collective.
  void run() {
    ranges_.assign(1, {1, 0, input_.count});
    fit(items_, input_.count);
    fit(codes_, input_.count);
    for (int rounds = 0;; ++rounds) {
      std::vector<std::size_t> active;
      for (std::size_t k = 0; k < ranges_.size(); ++k)
        if (owners_.shared(tree_.cells[ranges_[k].cell])) active.push_back(k);
      if (active.empty()) {
        for (std::uint64_t i = 0; rounds == 0 && i < input_.count; ++i) items_[i] = input_.point(i);
        return;
      }
      if (rounds == 0) {
        Round<InputSource<T, Dim>>(*this, input_).run(active);
      } else {
        Round<PointSource<T, Dim>>(*this, {items_.data(), input_.count}).run(active);
      }
    }
  }

  /// The cells reached, from left to right, the same on every rank but for places; this rank's points in that order,
  /// by number within a cell.
  [[nodiscard]] const std::vector<CellRange>& ranges() const { return ranges_; }
  [[nodiscard]] support::PageBuffer<Point>& items() { return items_; }
  [[nodiscard]] const LeafOwners& owners() const { return owners_; }
  [[nodiscard]] int passes() const { return passes_; }
  [[nodiscard]] int collectives() const { return collectives_; }

 private:
  static constexpr std::size_t kCodes = 256;
  static constexpr std::uint64_t kSamples = 1 << 18;  ///< of all cells of a round; each goes to every rank

  /// A cell in a round.
  struct Cell {
    CellRange range;
    RoundTree<T, Dim> guess;
    std::array<std::vector<std::uint32_t>, kRoundNodes / 2> met;  ///< this rank's points in each bracket: positions
    std::array<std::uint64_t, kRoundNodes> passed{};              ///< this rank's points known to be in a node's cell
    std::array<std::uint64_t, kRoundNodes> passed_weight{};
    std::array<bool, kRoundNodes> resolved{};

    [[nodiscard]] std::size_t heap(std::size_t v) const {
      const int level = std::bit_width(v) - 1;
      return (range.cell << level) + (v - (std::size_t{1} << level));
    }
    [[nodiscard]] std::size_t node_of(std::uint8_t code) const {
      return code < kStopped ? (std::size_t{1} << guess.levels()) + code : code - kStopped;
    }
    /// A point more, or (count -1) less, at a node, and so in all cells above it up to, not including, `top`.
    void pass(std::size_t node, std::size_t top, std::uint64_t count, std::uint64_t weight) {
      for (std::size_t u = node; u > top; u /= 2) {
        passed[u] += count;
        passed_weight[u] += weight;
      }
    }
  };

  template <class Source>
  class Round {
   public:
    Round(DistributedRounds& all, Source source) : all_(all), source_(source) {}

    void run(const std::vector<std::size_t>& active) {
      for (const std::size_t k : active) {
        cells_.push_back(std::make_unique<Cell>());
        cells_.back()->range = all_.ranges_[k];
      }
      sample_and_guess();
      for (const auto& cell : cells_) classify(*cell);
      CutSearcher<T, Dim, Source> searcher(all_.comm_, all_.tree_, source_, all_.weights_, all_.input_.first_id,
                                           all_.weighted_);
      for (int level = 0; level < kRoundLevels; ++level) cut_level(level, searcher);
      all_.passes_ += searcher.passes();
      all_.collectives_ += searcher.collectives();
      group(active);
    }

   private:
    struct Sampled {
      Point point;
      std::uint32_t cell;
      std::uint64_t weight;
    };

    [[nodiscard]] std::uint64_t weight(const Point& p) const {
      return all_.weights_ ? all_.weights_[p.id - all_.input_.first_id] : 1;
    }

    /// Levels below cell i until no cell is shared.
    [[nodiscard]] int levels_needed(std::size_t i) const {
      const OrbCell<T, Dim>& cell = all_.tree_.cells[i];
      return all_.owners_.shared(cell) ? 1 + std::max(levels_needed(2 * i), levels_needed(2 * i + 1)) : 0;
    }

    /// This rank's part of the sample of cell k, in proportion to its points: one at random from each of equal
    /// stretches.
    void sample(std::size_t k, std::uint64_t all_points, std::vector<Sampled>& mine) const {
      const CellRange& range = cells_[k]->range;
      const std::uint64_t count = all_.tree_.cells[range.cell].count;
      const std::uint64_t here = range.end - range.begin;
      const auto share = static_cast<std::uint64_t>(static_cast<double>(kSamples) * static_cast<double>(count) /
                                                    static_cast<double>(all_points));
      const std::uint64_t wanted = std::min<std::uint64_t>(detail::sample_size(count), share + 1);
      const std::uint64_t size = std::min(here, (wanted * here + count - 1) / count);
      for (std::uint64_t i = 0; i < size; ++i) {
        const std::uint64_t begin = here * i / size;  // both below 2^32
        const std::uint64_t end = here * (i + 1) / size;
        const Point p = source_.point(range.begin + begin + detail::scatter(range.begin + i) % (end - begin));
        mine.push_back({p, static_cast<std::uint32_t>(k), weight(p)});
      }
    }

    void sample_and_guess() {
      std::uint64_t all_points = 0;
      for (const auto& cell : cells_) all_points += all_.tree_.cells[cell->range.cell].count;
      std::vector<Sampled> mine;
      for (std::size_t k = 0; k < cells_.size(); ++k) sample(k, all_points, mine);
      const std::vector<Sampled> all = support::all_gather_v<Sampled>(all_.comm_, mine);
      all_.collectives_ += 2;
      // By cell, in the order of ranks; a point's number now is its place, for its weight.
      std::vector<std::size_t> begin(cells_.size() + 1, 0);
      for (const Sampled& s : all) ++begin[s.cell + 1];
      for (std::size_t k = 0; k < cells_.size(); ++k) begin[k + 1] += begin[k];
      std::vector<Point> points(all.size());
      std::vector<std::uint64_t> weights(all.size());
      std::vector<std::size_t> next = begin;
      for (const Sampled& s : all) {
        const std::size_t at = next[s.cell]++;
        points[at] = s.point;
        points[at].id = static_cast<std::uint32_t>(at);
        weights[at] = s.weight;
      }
      for (std::size_t k = 0; k < cells_.size(); ++k) {
        const std::size_t i = cells_[k]->range.cell;
        const OrbCell<T, Dim>& cell = all_.tree_.cells[i];
        cells_[k]->guess.guess(std::span(points).subspan(begin[k], begin[k + 1] - begin[k]),
                               all_.weighted_ ? weights.data() : nullptr, cell.leaves, cell.box,
                               all_.options_.side_tolerance, 1, levels_needed(i));
      }
    }

    /// Walks this rank's points of a cell down.
    void classify(Cell& cell) {
      constexpr std::uint64_t kBlock = RoundTree<T, Dim>::kBlock;
      alignas(64) T x[Dim * kBlock];
      std::uint8_t codes[kBlock];
      std::uint8_t stopped[kBlock];
      std::array<std::uint64_t, kCodes> counts{};
      std::array<std::uint64_t, kCodes> weights{};
      for (std::uint64_t first = cell.range.begin; first < cell.range.end; first += kBlock) {
        source_.block(first, x);
        cell.guess.classify(x, codes);
        const auto n = static_cast<std::size_t>(std::min(kBlock, cell.range.end - first));
        std::copy(codes, codes + n, all_.codes_.data() + first);
        std::size_t stops = 0;
        for (std::size_t i = 0; i < n; ++i) {
          ++counts[codes[i]];
          stopped[stops] = static_cast<std::uint8_t>(i);
          stops += codes[i] >> 7;
        }
        for (std::size_t s = 0; s < stops; ++s)
          cell.met[codes[stopped[s]] - kStopped].push_back(static_cast<std::uint32_t>(first + stopped[s]));
        for (std::size_t i = 0; all_.weighted_ && i < n; ++i) weights[codes[i]] += weight(source_.point(first + i));
      }
      for (std::size_t code = 0; code < kCodes; ++code)
        if (counts[code] > 0) cell.pass(cell.node_of(static_cast<std::uint8_t>(code)), 0, counts[code], weights[code]);
    }

    /// Cuts the shared cells of one level below the round's cells.
    void cut_level(int level, CutSearcher<T, Dim, Source>& searcher) {
      std::vector<CutSearch<T, Dim>> searches;
      std::vector<std::pair<Cell*, std::size_t>> nodes;
      const std::size_t first = std::size_t{1} << level;
      for (const auto& cell : cells_) {
        if (level >= cell->guess.levels()) continue;
        for (std::size_t v = first; v < 2 * first; ++v) {
          if (v > 1 && !cell->resolved[v / 2]) continue;
          if (!all_.owners_.shared(all_.tree_.cells[cell->heap(v)])) continue;
          if (!add_search(*cell, v, searches)) continue;
          nodes.emplace_back(cell.get(), v);
        }
      }
      if (searches.empty()) return;
      searcher.run(searches);
      for (std::size_t s = 0; s < searches.size(); ++s)
        if (searches[s].state == CutSearch<T, Dim>::State::settled)
          apply(*nodes[s].first, nodes[s].second, searches[s]);
    }

    /// False: nothing to go by; the node waits for the next round.
    bool add_search(const Cell& cell, std::size_t v, std::vector<CutSearch<T, Dim>>& searches) const {
      const std::size_t i = cell.heap(v);
      const OrbBox<T, Dim>& box = all_.tree_.cells[i].box;
      const RoundNode<T>& node = cell.guess.node(v);
      CutSearch<T, Dim> search;
      search.cell = i;
      search.axis = cut_axis(box, all_.options_.side_tolerance);
      // Without weight all places are equally good, and rule 5 then is that of unit weights.
      search.goal = goal_of(all_.tree_, i, all_.weighted_ && all_.tree_.cells[i].weight > 0);
      search.begin = cell.range.begin;
      search.end = cell.range.end;
      search.fallback = v == 1;
      if (node.inner && node.axis == search.axis) {
        const auto a = static_cast<std::size_t>(search.axis);
        search.bracket = &cell.met[v];
        search.windows.push_back({.low = ordered(std::max(node.low, box.lower[a])),
                                  .high = ordered(std::min(node.high, box.upper[a])),
                                  .before = cell.passed[2 * v],
                                  .weight_before = cell.passed_weight[2 * v]});
      } else if (v == 1) {
        search.search_all(box);
      } else {
        return false;
      }
      searches.push_back(std::move(search));
      return true;
    }

    /// Sends the points that met node v's bracket on; of a whole cell's, all to either side.
    void apply(Cell& cell, std::size_t v, const CutSearch<T, Dim>& search) {
      cell.resolved[v] = true;
      if (!search.bracket) {
        cell.guess.make_single_level();
        cell.passed.fill(0);
        for (std::uint64_t i = cell.range.begin; i < cell.range.end; ++i) {
          const std::uint8_t code = orb_before(source_.point(i), search.pivot, search.axis) ? 0 : 1;
          all_.codes_[i] = code;
          ++cell.passed[2U + code];
        }
        return;
      }
      for (const std::uint32_t position : cell.met[v]) {
        const Point p = source_.point(position);
        const std::size_t child = 2 * v + (orb_before(p, search.pivot, search.axis) ? 0 : 1);
        const std::uint8_t code = cell.guess.code_from(child, p.x);
        if (code >= kStopped) cell.met[code - kStopped].push_back(position);
        all_.codes_[position] = code;
        cell.pass(cell.node_of(code), v, 1, all_.weighted_ ? weight(p) : 0);
      }
    }

    /// Groups this rank's points by the cells reached, whose ranges replace those of the round's cells.
    void group(const std::vector<std::size_t>& active) {
      std::vector<CellRange> ranges;
      std::size_t next = 0;
      for (std::size_t k = 0; k < all_.ranges_.size(); ++k) {
        if (next < active.size() && active[next] == k) {
          group_cell(*cells_[next], ranges);
          ++next;
        } else {
          ranges.push_back(all_.ranges_[k]);
        }
      }
      all_.ranges_ = std::move(ranges);
    }

    void group_cell(const Cell& cell, std::vector<CellRange>& ranges) {
      std::array<std::uint8_t, kCodes> slot_of{};
      const std::size_t first_slot = ranges.size();
      std::uint64_t begin = cell.range.begin;
      make_slots(cell, 1, first_slot, begin, ranges, slot_of);
      std::array<std::uint64_t, kRoundNodes> to{};
      for (std::size_t s = first_slot; s < ranges.size(); ++s) to[s - first_slot] = ranges[s].begin;
      constexpr bool kMoved = std::is_same_v<Source, PointSource<T, Dim>>;
      if constexpr (kMoved) all_.spare_.grow(all_.input_.count);
      Point* out = kMoved ? all_.spare_.data() : all_.items_.data();
      for (std::uint64_t i = cell.range.begin; i < cell.range.end; ++i)
        out[to[slot_of[all_.codes_[i]]]++] = source_.point(i);
      if constexpr (kMoved)
        std::copy(out + cell.range.begin, out + cell.range.end, all_.items_.data() + cell.range.begin);
    }

    /// A slot for each cell at the end of the round, from left to right; all codes of its subtree lead to it.
    void make_slots(const Cell& cell, std::size_t v, std::size_t first_slot, std::uint64_t& begin,
                    std::vector<CellRange>& ranges, std::array<std::uint8_t, kCodes>& slot_of) const {
      const std::size_t bottom = std::size_t{1} << cell.guess.levels();
      if (v < bottom && cell.resolved[v]) {
        make_slots(cell, 2 * v, first_slot, begin, ranges, slot_of);
        make_slots(cell, 2 * v + 1, first_slot, begin, ranges, slot_of);
        return;
      }
      const auto slot = static_cast<std::uint8_t>(ranges.size() - first_slot);
      ranges.push_back({cell.heap(v), begin, begin + cell.passed[v]});
      begin += cell.passed[v];
      for (std::size_t from = v, end = v + 1; from < 2 * bottom; from *= 2, end *= 2)
        for (std::size_t u = from; u < end; ++u) slot_of[u >= bottom ? u - bottom : kStopped + u] = slot;
    }

    DistributedRounds& all_;
    Source source_;
    std::vector<std::unique_ptr<Cell>> cells_;
  };

  const support::Communicator& comm_;
  const OrbOptions& options_;
  OrbTree<T, Dim>& tree_;
  InputSource<T, Dim> input_;
  const std::uint64_t* weights_;  ///< of this rank's points by number; nullptr: none
  bool weighted_;
  LeafOwners owners_;
  support::PageBuffer<Point>& items_;
  support::PageBuffer<Point>& spare_;
  support::PageBuffer<std::uint8_t>& codes_;
  std::vector<CellRange> ranges_;
  int passes_ = 0;
  int collectives_ = 0;
};

}  // namespace amrbench::partitioners::detail
