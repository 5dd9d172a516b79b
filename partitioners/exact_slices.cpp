#include "partitioners/exact_slices.hpp"

#include <mpi.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "partitioners/slices.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {
namespace {

using support::Communicator;

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

/// Parts filled from the first place on, each as far as `limit` goes: how far that has come.
struct Fill {
  std::uint64_t limit;
  std::int64_t closed = 0;      ///< parts
  std::uint64_t begin = 0;      ///< weight before the open part
  std::uint64_t heaviest = 0;   ///< of the closed parts
  std::uint64_t least = kNone;  ///< the least limit with which a closed part would reach further
};

/// A rank's places: the weight before each, counted over all ranks, and the walks through them.
class Stretch {
 public:
  Stretch(std::span<const std::uint64_t> weights, std::uint64_t before, std::int64_t first)
      : before_(weights.size() + 1), first_(first) {
    before_[0] = before;
    for (std::size_t i = 0; i < weights.size(); ++i) before_[i + 1] = before_[i] + weights[i];
  }

  /// Goes on with a fill; it ends where `parts` are closed, which is one too many where places are left.
  void fill(Fill& state, int parts) const {
    std::size_t at = 0, stride = 1;
    while (state.closed < parts && before_.back() > state.begin + state.limit) {
      const std::size_t end = reach(at, stride, state.begin + state.limit);
      state.least = std::min(state.least, before_[end + 1] - state.begin);
      state.heaviest = std::max(state.heaviest, before_[end] - state.begin);
      state.begin = before_[end];
      ++state.closed;
      stride = end - at;
      at = end;
    }
  }

  /// The places before which parts p, p - 1, ... 1 cannot begin if all that follow are to weigh `limit` at most; `end`
  /// is the weight before part p + 1. Stops at the first place, which the rank before may undercut.
  void fill_back(std::uint64_t limit, int& p, std::uint64_t& end, std::span<std::int64_t> earliest) const {
    auto at = before_.end();
    while (p >= 1 && end > before_.front() + limit) {
      at = std::lower_bound(before_.begin(), at, end - limit);
      earliest[static_cast<std::size_t>(p--)] = first_ + (at - before_.begin());
      end = *at;
    }
  }

  /// Cuts p, p + 1, ... as near to the even marks as `limit` and `earliest` let them; `begin` is the weight before cut
  /// p - 1. Stops at a cut that lies behind this rank's places.
  void settle(std::uint64_t limit, int& p, std::uint64_t& begin, std::span<const std::int64_t> earliest,
              std::span<const std::int64_t> even, std::span<std::int64_t> cuts) const {
    const std::int64_t last = first_ + static_cast<std::int64_t>(before_.size()) - 1;
    std::size_t at = 0, stride = 1;
    for (const int parts = static_cast<int>(cuts.size()) - 1; p < parts; ++p) {
      const auto k = static_cast<std::size_t>(p);
      std::int64_t cut = even[k];
      if (before_.back() > begin + limit) {
        cut = std::min(cut, first_ + static_cast<std::int64_t>(reach(at, stride, begin + limit)));
      }
      cut = std::max(cut, earliest[k]);
      if (cut > last) return;
      const auto next = static_cast<std::size_t>(cut - first_);
      stride = next - at;
      at = next;
      begin = before_[at];
      cuts[k] = cut;
    }
  }

 private:
  /// Last place, from `at` on, before which there is no more than `target`; looked for around at + stride.
  [[nodiscard]] std::size_t reach(std::size_t at, std::size_t stride, std::uint64_t target) const {
    std::size_t low = at, high = before_.size() - 1;  // before_[low] <= target < before_[high]
    std::size_t step = 1;
    for (std::size_t guess = std::min(at + std::max<std::size_t>(stride, 1), high); low < guess && guess < high;
         step *= 2) {
      if (before_[guess] <= target) {
        low = guess;
        guess += step;
      } else {
        high = guess;
        guess = guess - low > step ? guess - step : low;
      }
    }
    const auto begin = before_.begin();
    return static_cast<std::size_t>(std::upper_bound(begin + static_cast<std::ptrdiff_t>(low),
                                                     begin + static_cast<std::ptrdiff_t>(high), target) -
                                    begin) -
           1;
  }

  std::vector<std::uint64_t> before_;
  std::int64_t first_;
};

/// Takes `state` from the rank before and hands it to the one behind once `walk` has gone on with it; `step` = 1, or -1
/// for the other way. With one rank nothing is sent.
template <class State, class Walk>
void pass_along(const Communicator& comm, int step, State& state, Walk&& walk) {
  constexpr int kTag = 117;
  const int from = comm.rank() - step, to = comm.rank() + step;
  if (from >= 0 && from < comm.size())
    support::mpi_check(MPI_Recv(&state, sizeof state, MPI_BYTE, from, kTag, comm.get(), MPI_STATUS_IGNORE));
  walk(state);
  if (to >= 0 && to < comm.size()) support::mpi_check(MPI_Send(&state, sizeof state, MPI_BYTE, to, kTag, comm.get()));
}

struct Sums {
  std::uint64_t items, weight, heaviest;
};

/// The least weight that the heaviest part can have.
std::uint64_t least_limit(const Communicator& comm, const Stretch& mine, const Sums& all, int parts) {
  // On ranks several limits are tried at once, for then the ranks work on one each.
  const std::uint64_t tries = comm.size() == 1 ? 1 : 8;
  const std::uint64_t mean = (all.weight + static_cast<std::uint64_t>(parts) - 1) / static_cast<std::uint64_t>(parts);
  std::uint64_t low = std::max(mean, all.heaviest), high = mean + all.heaviest;
  std::vector<Fill> fills;
  for (bool first = true; low < high; first = false) {
    fills.clear();
    const std::uint64_t width = high - low, count = std::min(tries, width);
    // The first try is the bound itself: light points reach it.
    for (std::uint64_t k = 0; k < count; ++k)
      fills.push_back({low + (count == 1 ? (first ? 0 : width / 2) : width / count * k)});
    for (Fill& fill : fills) pass_along(comm, 1, fill, [&](Fill& f) { mine.fill(f, parts); });
    if (comm.size() > 1)
      support::mpi_check(MPI_Bcast(fills.data(), static_cast<int>(fills.size() * sizeof(Fill)), MPI_BYTE,
                                   comm.size() - 1, comm.get()));
    for (const Fill& fill : fills) {
      if (fill.closed < parts)
        high = std::min(high, std::max(fill.heaviest, all.weight - fill.begin));
      else
        low = std::max(low, fill.least);
    }
  }
  return high;
}

}  // namespace

std::vector<std::int64_t> exact_cuts_on_ranks(const Communicator& comm, std::span<const std::uint64_t> weights,
                                              int parts) {
  Sums here{weights.size(), 0, 0}, before{}, all{};
  for (const std::uint64_t w : weights) {
    here.weight += w;
    here.heaviest = std::max(here.heaviest, w);
  }
  const auto sums = comm.size() > 1 ? support::all_gather(comm, here) : std::vector<Sums>{here};
  for (std::size_t r = 0; r < sums.size(); ++r) {
    if (static_cast<int>(r) == comm.rank()) before = all;
    all = {all.items + sums[r].items, all.weight + sums[r].weight, std::max(all.heaviest, sums[r].heaviest)};
  }
  std::vector<std::int64_t> even = slice_on_ranks(comm, weights, weights.size(), parts);
  if (all.weight == 0) return even;
  const Stretch mine(weights, before.weight, static_cast<std::int64_t>(before.items));
  const std::uint64_t limit = least_limit(comm, mine, all, parts);

  struct Walk {
    int p;
    std::uint64_t weight;
  };
  std::vector<std::int64_t> earliest(even.size(), 0), cuts(even.size(), 0);
  Walk back{parts - 1, all.weight};
  pass_along(comm, -1, back, [&](Walk& w) { mine.fill_back(limit, w.p, w.weight, earliest); });
  if (comm.size() > 1) support::all_max(comm, std::span(earliest));
  Walk forth{1, 0};
  pass_along(comm, 1, forth, [&](Walk& w) { mine.settle(limit, w.p, w.weight, earliest, even, cuts); });
  if (comm.size() > 1) support::all_max(comm, std::span(cuts));
  cuts.back() = static_cast<std::int64_t>(all.items);
  return cuts;
}

std::vector<std::int64_t> exact_cuts(std::span<const std::uint64_t> weights, int parts) {
  return exact_cuts_on_ranks(Communicator(), weights, parts);
}

}  // namespace amrbench::partitioners
