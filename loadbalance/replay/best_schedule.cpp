#include "loadbalance/replay/best_schedule.hpp"

#include <algorithm>
#include <limits>

#include "loadbalance/replay/for_all.hpp"

namespace amrbench::loadbalance {

template <int Dim>
BestSchedule<Dim>::BestSchedule(const Placer& placer, double bound, std::span<const double> ideal)
    : placer_(placer), bound_(bound), still_(ideal.size() + 1) {
  for (std::size_t i = ideal.size(); i-- > 0;) still_[i] = still_[i + 1] + ideal[i];
}

template <int Dim>
const BlockTable& BestSchedule<Dim>::table(Tables<Dim>& tables) const {
  return tables.of(placer_.strategy().balance.weights, placer_.model(), placer_.needs_centres(), placer_.needs_graph());
}

template <int Dim>
void BestSchedule<Dim>::roots(Tables<Dim>& tables) {
  State state;
  state.owners = std::make_shared<const Owners>(placer_.place_roots(table(tables), nullptr));
  states_ = {state};
}

/// Those that would exceed the bound even if nothing but even computation were to come.
template <int Dim>
void BestSchedule<Dim>::drop_hopeless() {
  const double still = still_[std::min(segment_, still_.size() - 1)];
  std::erase_if(states_, [&](const State& s) { return s.seconds + still > bound_; });
}

/// Of states with the same owners the cheapest. Those that were just made stand among few.
template <int Dim>
void BestSchedule<Dim>::drop_twins() {
  std::stable_sort(states_.begin(), states_.end(),
                   [](const State& a, const State& b) { return a.seconds < b.seconds; });
  std::vector<State> kept;
  for (State& state : states_) {
    const bool is_twin = std::any_of(kept.begin(), kept.end(), [&](const State& other) {
      return other.owners == state.owners || *other.owners == *state.owners;
    });
    if (!is_twin) kept.push_back(std::move(state));
  }
  states_ = std::move(kept);
  states_max_ = std::max(states_max_, states_.size());
}

/// Of the states that were cut in this refinement, sorted by seconds, the cheapest few: where placing looks at mesh and
/// weights alone there are no more.
template <int Dim>
void BestSchedule<Dim>::keep_few_cuts() {
  constexpr int kMost = 8;
  int count = 0;
  const auto dropped = std::erase_if(states_, [&](const State& s) { return s.is_cut && ++count > kMost; });
  is_exact_ = is_exact_ && dropped == 0;
}

template <int Dim>
void BestSchedule<Dim>::segment(const amr::Mesh<Dim>& mesh, std::span<const double> costs, std::int64_t stages) {
  for_all(states_.size(), [&](std::size_t i) {
    const Placer::Work work = placer_.work(mesh, costs, *states_[i].owners, stages);
    states_[i].seconds += work.stencil_s + work.halo_s;
  });
  ++segment_;
  drop_hopeless();
}

/// Places the blocks anew; false where that changes nothing.
template <int Dim>
bool BestSchedule<Dim>::cut(State& state, const BlockTable& table, const Load& load) const {
  std::optional<Owners> placed = placer_.place(table, *state.owners, Action::full, load);
  state.seconds += placer_.cut_seconds(*state.owners);
  if (!placed) return false;
  state.seconds += placer_.move(*state.owners, *placed).seconds;
  state.owners = std::make_shared<const Owners>(std::move(*placed));
  state.is_cut = true;
  return true;
}

template <int Dim>
void BestSchedule<Dim>::begin(const amr::RunPosition& /*position*/, bool changes) {
  for (State& state : states_) {
    state.is_cut = state.may_cut_ahead = false;
    state.cuts_ahead = 0;
    if (!changes) state.seconds += placer_.exchange_seconds();  // else once a pass
  }
}

template <int Dim>
void BestSchedule<Dim>::ahead(Tables<Dim>& tables) {
  const BlockTable& rows = table(tables);
  if (!is_refining_) {
    // Twins of all states that cut ahead wherever a run would.
    const std::size_t n = states_.size();
    for (std::size_t i = 0; i < n; ++i) {
      states_.push_back(states_[i]);
      states_.back().may_cut_ahead = true;
    }
    is_refining_ = true;
  }
  for_all(states_.size(), [&](std::size_t i) {
    State& state = states_[i];
    state.seconds += placer_.exchange_seconds();
    if (!state.may_cut_ahead) return;
    const Load load = placer_.load(rows, *state.owners, true, state.cuts_ahead);
    if (load.is_even() || load.imbalance() < Decider::kWorthwhile) return;
    if (cut(state, rows, load)) ++state.cuts_ahead;
  });
}

template <int Dim>
void BestSchedule<Dim>::follow(std::span<const std::int32_t> origin) {
  for_all(states_.size(), [&](std::size_t i) {
    states_[i].owners = std::make_shared<const Owners>(Placer::follow(*states_[i].owners, origin));
    states_[i].seconds += placer_.refine_seconds(*states_[i].owners, origin);
  });
}

template <int Dim>
void BestSchedule<Dim>::conclude(Tables<Dim>& tables, bool /*changes*/) {
  const BlockTable& rows = table(tables);
  is_refining_ = false;
  drop_twins();  // those that had no reason to cut ahead
  drop_hopeless();
  std::vector<State> cut_now(states_.size());
  for_all(states_.size(), [&](std::size_t i) {
    State state = states_[i];
    const Load load = placer_.load(rows, *state.owners, false, state.cuts_ahead);
    if (!load.is_even() && cut(state, rows, load)) cut_now[i] = std::move(state);
  });
  for (State& state : cut_now)
    if (state.owners) states_.push_back(std::move(state));
  drop_twins();
  drop_hopeless();
  keep_few_cuts();
  for (State& state : states_) state.cuts += state.is_cut ? 1 : 0;
}

template <int Dim>
void BestSchedule<Dim>::look() {
  for (State& state : states_) state.seconds += placer_.refine_seconds(*state.owners);
}

template <int Dim>
double BestSchedule<Dim>::seconds() const {
  double best = std::numeric_limits<double>::infinity();
  for (const State& state : states_) best = std::min(best, state.seconds);
  return best;
}

template <int Dim>
std::int64_t BestSchedule<Dim>::cuts() const {
  const auto best = std::min_element(states_.begin(), states_.end(),
                                     [](const State& a, const State& b) { return a.seconds < b.seconds; });
  return best == states_.end() ? 0 : best->cuts;
}

template class BestSchedule<2>;
template class BestSchedule<3>;

}  // namespace amrbench::loadbalance
