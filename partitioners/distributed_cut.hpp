#pragma once
// Exact cuts of nodes whose records are spread over ranks: what kd::Selector finds on one rank, found by reductions.
//
// A search keeps a window of the order (coordinate, number) that holds the record which reaches its goal: an interval
// of coordinates as ordered integers, and, once they are all equal, one of numbers. A pass divides every window by 256
// with one reduction for all searches: counts and weights of its bins. No point leaves its rank. After each pass a rank
// moves its records below the window in front of it and those above behind it, so that later passes read few, and in
// the end the node's records are parted. At most 8 passes by coordinate and 8 by number; some 5 on random coordinates.
// Only distributed_*.cpp include this.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "partitioners/kd/exec.hpp"
#include "partitioners/orb/distributed_window.hpp"
#include "partitioners/weights.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners::kd {

/// Moves records for which lower() holds to the front, by all threads where it pays.
template <class R, class Lower>
std::size_t partition_by_team(R* r, std::size_t n, Lower lower, int threads) {
  return n > Team::kChunk ? Team{threads}.partition(r, n, lower) : Single{}.partition(r, n, lower);
}

/// One cut. Of a node of mass `mass` the prefix nearest to num / den of it (the smaller of two equally near) goes
/// below, of at least `least` and at most `most` records.
struct CutSearch {
  std::size_t begin = 0, end = 0;  ///< this rank's records of the node
  int axis = 0;
  double low = 0, high = 0;  ///< the node's box along axis
  Mass mass = 0;
  std::uint64_t num = 1, den = 2;
  std::uint64_t least = 1, most = 1;

  std::size_t cut = 0;      ///< result: this rank's records [begin, cut) are below
  std::uint64_t count = 0;  ///< result: records below on all ranks
};

template <class R>
class CutSearches {
 public:
  /// numbers: points on all ranks; their numbers are below. Borrows all but `numbers` for its life.
  CutSearches(const support::Communicator& comm, std::vector<R>& records, std::uint64_t numbers, int threads)
      : comm_(comm), records_(records), numbers_(numbers), threads_(threads) {}

  /// Solves all searches; their nodes' records do not overlap. Collective.
  void run(std::vector<CutSearch>& searches) {
    std::vector<State> states;
    for (CutSearch& search : searches) states.push_back(start(search, 0));
    for (;;) {
      std::vector<State*> active;
      for (State& state : states) {
        if (!state.done) active.push_back(&state);
      }
      if (active.empty()) return;
      pass(active);
    }
  }

  [[nodiscard]] int passes() const { return passes_; }

 private:
  static constexpr std::size_t kBins = 256;
  using Window = detail::Window;

  struct State {
    CutSearch* search = nullptr;
    Window window;
    std::size_t begin = 0, end = 0;  ///< this rank's records in the window
    std::uint64_t rank = 0;          ///< > 0: exactly so many records go below, whatever their weight
    bool done = false;
  };

  static State start(CutSearch& search, std::uint64_t rank) {
    State state{&search, {}, search.begin, search.end, rank, false};
    using T = typename R::Scalar;
    state.window.low = ordered_bits(static_cast<T>(search.low));
    state.window.high = ordered_bits(static_cast<T>(search.high));
    return state;
  }

  /// What a window orders records by.
  static std::uint64_t key(const R& r, int phase, int axis) {
    return phase == 0 ? ordered_bits(r.x[axis]) : static_cast<std::uint64_t>(r.id);
  }

  void pass(const std::vector<State*>& active) {
    ++passes_;
    std::vector<std::uint64_t> sums(active.size() * 2 * kBins);
    for (std::size_t s = 0; s < active.size(); ++s) add_bins(*active[s], sums.data() + s * 2 * kBins);
    support::all_sum(comm_, std::span(sums));
    for (std::size_t s = 0; s < active.size(); ++s) narrow(*active[s], sums.data() + s * 2 * kBins);
  }

  /// Counts and weights of this rank's records by bins of the window.
  void add_bins(const State& state, std::uint64_t* sums) const {
    const R* r = records_.data();
    const Window& w = state.window;
    const int shift = detail::shift_of(w);
    const int axis = state.search->axis;
    const auto begin = static_cast<std::ptrdiff_t>(state.begin), end = static_cast<std::ptrdiff_t>(state.end);
#pragma omp parallel num_threads(threads_) if (end - begin > static_cast <std::ptrdiff_t>(Team::kChunk))
    {
      std::array<std::uint64_t, 2 * kBins> mine{};
#pragma omp for schedule(static) nowait
      for (std::ptrdiff_t i = begin; i < end; ++i) {
        const std::size_t bin = (key(r[i], w.phase, axis) - w.low) >> shift;
        ++mine[bin];
        mine[kBins + bin] += r[i].weight;
      }
#pragma omp critical(amrbench_cut_bins)
      for (std::size_t b = 0; b < 2 * kBins; ++b) sums[b] += mine[b];
    }
  }

  /// Makes the bin that reaches the goal the window, or ends the search.
  void narrow(State& state, const std::uint64_t* sums) {
    Window& w = state.window;
    const int shift = detail::shift_of(w);
    std::size_t bin = 0;
    while (bin + 1 < kBins && !reached(state, w.before + sums[bin], w.weight_before + sums[kBins + bin])) {
      w.before += sums[bin];
      w.weight_before += sums[kBins + bin];
      ++bin;
    }
    const std::uint64_t after = w.before + sums[bin];
    const std::uint64_t weight_after = w.weight_before + sums[kBins + bin];
    w.count = sums[bin];
    w.low += std::uint64_t{bin} << shift;
    w.high = std::min(w.high, w.low + ((std::uint64_t{1} << shift) - 1));
    close_in(state);
    if (exact(state, after, weight_after)) return finish(state, true, after);
    if (w.count == 1) {
      const bool with = state.rank > 0 || nearer(state, weight_after, after);
      return finish(state, with, with ? after : w.before);
    }
    if (w.low == w.high) {  // one coordinate left: by numbers
      ++w.phase;
      w.low = 0;
      w.high = numbers_ - 1;
    }
  }

  static Mass mass(std::uint64_t weight, std::uint64_t count) {
    return (static_cast<Mass>(weight) << kCountBits) + static_cast<Mass>(count);
  }
  static Mass target(const State& s) {
    return s.search->mass * static_cast<Mass>(s.search->num);
  }

  /// Does a prefix of so many records and so much weight reach the goal?
  static bool reached(const State& s, std::uint64_t count, std::uint64_t weight) {
    if (s.rank > 0) return count >= s.rank;
    return mass(weight, count) * static_cast<Mass>(s.search->den) >= target(s);
  }
  static bool exact(const State& s, std::uint64_t count, std::uint64_t weight) {
    if (s.rank > 0) return count == s.rank;
    return mass(weight, count) * static_cast<Mass>(s.search->den) == target(s);
  }
  /// Is the prefix with the window's one record nearer to the goal than that without it?
  static bool nearer(const State& s, std::uint64_t weight_after, std::uint64_t after) {
    const auto den = static_cast<Mass>(s.search->den);
    return mass(weight_after, after) * den - target(s) <
           target(s) - mass(s.window.weight_before, s.window.before) * den;
  }

  /// Parts this rank's records at the window's ends.
  void close_in(State& state) {
    R* r = records_.data();
    const Window w = state.window;
    const int axis = state.search->axis;
    state.begin += partition_by_team(
        r + state.begin, state.end - state.begin, [w, axis](const R& x) { return key(x, w.phase, axis) < w.low; },
        threads_);
    state.end = state.begin + partition_by_team(
                                  r + state.begin, state.end - state.begin,
                                  [w, axis](const R& x) { return key(x, w.phase, axis) <= w.high; }, threads_);
  }

  /// `count` records go below, with or without the window's. Another search begins if that is too few or too many.
  void finish(State& state, bool with_window, std::uint64_t count) {
    CutSearch& search = *state.search;
    const std::uint64_t allowed = std::clamp(count, search.least, search.most);
    if (allowed != count) {
      state = start(search, allowed);
      return;
    }
    search.cut = with_window ? state.end : state.begin;
    search.count = count;
    state.done = true;
  }

  const support::Communicator& comm_;
  std::vector<R>& records_;
  std::uint64_t numbers_;
  int threads_;
  int passes_ = 0;
};

}  // namespace amrbench::partitioners::kd
