#include "partitioners/refine/pair_search.hpp"

#include <algorithm>
#include <cmath>

namespace amrbench::partitioners::refine {

namespace {

/// A search ends after so many moves, and as many again as there are vertices at the boundary, without a better state.
constexpr std::size_t kPatience = 16;
/// Smaller drops of energy are noise of its rounding.
constexpr double kLeastDrop = 1e-13;
constexpr double kLinear = 1.0 / 16;
constexpr double kMostPrice = 8;

constexpr int kPower = 16;

/// Asks for memory that is read soon: a search looks at a few vertices of many, and mostly waits for them.
void fetch(const void* at) {
  __builtin_prefetch(at);
}

double sixteenth_power(double x) {
  const double square = x * x;
  const double fourth = square * square;
  const double eighth = fourth * fourth;
  return eighth * eighth;
}

}  // namespace

/// What a part costs by its cut or volume: the sixteenth power makes the largest count most, so that it shrinks where
/// others grow little; the linear part makes the total count where parts are far from the largest.
double PairSearch::energy(std::int64_t goal) const {
  const double x = static_cast<double>(goal) / static_cast<double>(std::max<std::int64_t>(limits_.goal_most, 1));
  return sixteenth_power(x) + kLinear * x;
}

void PairSearch::start(const PartState& state, const SearchLimits& limits, std::int32_t low, std::int32_t high) {
  state_ = &state;
  limits_ = limits;
  part_ = {low, high};
  for (std::size_t s = 0; s < 2; ++s) {
    load_[s] = state.load(part_[s]);
    count_[s] = state.count(part_[s]);
    cut_[s] = state.cut(part_[s]);
    queue_[s].clear();
  }
  cut_growth_ = 0;
  changed_.assign({{low, 0}, {high, 0}});
  links_.clear();
  local_.clear();
  log_.clear();
  weigh_sides();
}

/// Edges of the part whose cost rises faster count more, in small integers: they are the search's order of moves only;
/// what is kept is decided by the energy itself.
void PairSearch::weigh_sides() {
  const auto slope = [&](std::int32_t p) {
    const double x =
        static_cast<double>(state_->goal_of(p)) / static_cast<double>(std::max<std::int64_t>(limits_.goal_most, 1));
    return kPower * sixteenth_power(x) / std::max(x, 1e-9) + kLinear;
  };
  const double low = slope(part_[0]), high = slope(part_[1]);
  const std::size_t steep = high > low ? 1 : 0;
  price_[1 - steep] = 2;
  price_[steep] = std::lround(std::min(2 * std::max(low, high) / std::min(low, high), kMostPrice));
}

std::int32_t PairSearch::find(std::int32_t vertex) const {
  const std::int32_t id = where_[static_cast<std::size_t>(vertex)];
  const bool known =
      static_cast<std::size_t>(id) < local_.size() && local_[static_cast<std::size_t>(id)].vertex == vertex;
  return known ? id : kNobody;
}

std::int32_t PairSearch::part_now(std::int32_t vertex) const {
  const std::int32_t p = state_->part_of(vertex);
  if (p != part_[0] && p != part_[1]) return p;
  const std::int32_t id = find(vertex);
  return id == kNobody ? p : part_[local_[static_cast<std::size_t>(id)].side];
}

/// A vertex of one of the parts, met for the first time.
std::int32_t PairSearch::add(std::int32_t vertex, std::int32_t part) {
  const std::span<const std::int32_t> row = neighbours(state_->graph(), vertex);
  Local v{vertex,
          static_cast<std::int32_t>(row.size()),
          {0, 0},
          static_cast<std::uint8_t>(part == part_[1] ? 1 : 0),
          Status::free};
  for (const std::int32_t w : row) {
    const std::int32_t q = log_.empty() ? state_->part_of(w) : part_now(w);
    if (q == part_[0]) ++v.edges[0];
    if (q == part_[1]) ++v.edges[1];
  }
  const auto id = static_cast<std::int32_t>(local_.size());
  where_[static_cast<std::size_t>(vertex)] = id;
  local_.push_back(v);
  links_.emplace_back();
  queue(id);
  return id;
}

std::int64_t PairSearch::gain_of(const Local& v) const {
  const std::size_t from = v.side, to = 1 - from;
  const CutChange change = cut_change(v.degree, v.edges[from], v.edges[to]);
  return -(price_[from] * change.from + price_[to] * change.to);
}

/// Puts a vertex where its gain belongs, if it is at the boundary and was not moved.
void PairSearch::queue(std::int32_t id) {
  Local& v = local_[static_cast<std::size_t>(id)];
  if (v.status == Status::done) return;
  if (v.status == Status::queued) queue_[v.side].remove(links_, id);
  const bool at_boundary = v.edges[1 - v.side] > 0;
  if (at_boundary) queue_[v.side].insert(links_, id, gain_of(v));
  v.status = at_boundary ? Status::queued : Status::free;
}

void PairSearch::set_aside(int side) {
  auto& queue = queue_[static_cast<std::size_t>(side)];
  const std::int32_t id = queue.best();
  if (id == kNobody) return;
  queue.remove(links_, id);
  local_[static_cast<std::size_t>(id)].status = Status::done;
}

/// The vertex to be moved next: the better of both sides' best; of equal ones that of the heavier part. A side whose
/// best does not fit into the other part waits; where both wait, they give up these two.
std::int32_t PairSearch::pick() {
  while (true) {
    std::array<std::int32_t, 2> best{queue_[0].best(), queue_[1].best()};
    if (best[0] == kNobody && best[1] == kNobody) return kNobody;
    std::array<bool, 2> fits{};
    for (std::size_t s = 0; s < 2; ++s)
      fits[s] = best[s] != kNobody && count_[s] > 1 &&
                load_[1 - s] + state_->weight(local_[static_cast<std::size_t>(best[s])].vertex) <=
                    limits_.load + limits_.slack;
    if (fits[0] && fits[1]) {
      const bool over0 = load_[0] > limits_.load, over1 = load_[1] > limits_.load;
      if (over0 != over1) return best[over0 ? 0 : 1];
      const std::int32_t gain0 = queue_[0].best_gain(), gain1 = queue_[1].best_gain();
      if (gain0 != gain1) return best[gain1 > gain0 ? 1 : 0];
      return best[load_[1] > load_[0] ? 1 : 0];
    }
    if (fits[0]) return best[0];
    if (fits[1]) return best[1];
    set_aside(0);
    set_aside(1);
  }
}

void PairSearch::note_volumes(const VertexMove& step) {
  volume_change(
      state_->graph(), step, [&](std::int32_t v) { return part_now(v); }, few_,
      [&](std::int32_t p, std::int64_t by) {
        const auto at = std::find_if(changed_.begin(), changed_.end(), [&](const Changed& c) { return c.part == p; });
        if (at != changed_.end())
          at->by += by;
        else
          changed_.push_back({p, by});
      });
}

void PairSearch::move(std::int32_t id) {
  const Local v = local_[static_cast<std::size_t>(id)];
  const std::size_t from = v.side, to = 1 - from;
  const VertexMove step{v.vertex, part_[from], part_[to]};
  const std::span<const std::int32_t> row = neighbours(state_->graph(), v.vertex);
  const CutChange change = cut_change(static_cast<std::int64_t>(row.size()), v.edges[from], v.edges[to]);
  if (state_->goal() == RefineGoal::volume) {
    note_volumes(step);
  } else {
    changed_[from].by += change.from;
    changed_[to].by += change.to;
  }
  cut_[from] += change.from;
  cut_[to] += change.to;
  cut_growth_ += change.from + change.to;
  load_[from] -= state_->weight(v.vertex);
  load_[to] += state_->weight(v.vertex);
  --count_[from];
  ++count_[to];
  queue_[from].remove(links_, id);
  local_[static_cast<std::size_t>(id)].status = Status::done;
  local_[static_cast<std::size_t>(id)].side = static_cast<std::uint8_t>(to);
  log_.push_back(step);
  const Graph& graph = state_->graph();
  for (const std::int32_t w : row)
    if (find(w) == kNobody) fetch(graph.adjacent.data() + graph.offsets[static_cast<std::size_t>(w)]);
  for (const std::int32_t w : row) {
    const std::int32_t other = find(w);
    if (other == kNobody) {
      const std::int32_t q = state_->part_of(w);
      if (q == part_[0] || q == part_[1]) add(w, q);  // counts the vertex where it is now
      continue;
    }
    --local_[static_cast<std::size_t>(other)].edges[from];
    ++local_[static_cast<std::size_t>(other)].edges[to];
    queue(other);
  }
}

/// Whether the state as it is may be kept.
bool PairSearch::allowed() const {
  if (load_[0] > limits_.load || load_[1] > limits_.load) return false;
  if (cut_[0] > limits_.cut_most || cut_[1] > limits_.cut_most || cut_growth_ > limits_.cut_growth) return false;
  std::int64_t growth = 0;
  for (const Changed& c : changed_) {
    if (c.by > 0 && state_->goal_of(c.part) + c.by > limits_.goal_most) return false;
    growth += c.by;
  }
  return growth <= limits_.goal_growth;
}

double PairSearch::energy_drop() const {
  double drop = 0;
  for (const Changed& c : changed_) {
    const std::int64_t goal = state_->goal_of(c.part);
    drop += energy(goal) - energy(goal + c.by);
  }
  return drop;
}

/// What the vertices a few places on need: first where their rows are, then the rows, then their neighbours' parts.
void PairSearch::fetch_ahead(std::span<const std::int32_t> near, std::size_t i) const {
  constexpr std::size_t kRows = 16, kNeighbours = 10, kParts = 5;
  const Graph& graph = state_->graph();
  if (i + kRows < near.size()) {
    const auto v = static_cast<std::size_t>(near[i + kRows]);
    fetch(&graph.offsets[v]);
    fetch(&where_[v]);
  }
  if (i + kNeighbours < near.size())
    fetch(graph.adjacent.data() + graph.offsets[static_cast<std::size_t>(near[i + kNeighbours])]);
  if (i + kParts < near.size())
    for (const std::int32_t w : neighbours(graph, near[i + kParts])) state_->fetch_part(w);
}

void PairSearch::run(const PartState& state, const SearchLimits& limits, std::int32_t low, std::int32_t high,
                     std::span<const std::int32_t> near, std::vector<VertexMove>& moves) {
  start(state, limits, low, high);
  for (std::size_t i = 0; i < near.size(); ++i) {
    fetch_ahead(near, i);
    const std::int32_t v = near[i];
    const std::int32_t p = state.part_of(v);
    if ((p == low || p == high) && find(v) == kNobody) add(v, p);
  }
  const std::size_t patience = kPatience + near.size();
  std::size_t kept = 0;
  double best = kLeastDrop;
  while (log_.size() < kept + patience) {
    const std::int32_t id = pick();
    if (id == kNobody) break;
    move(id);
    if (!allowed()) continue;
    const double drop = energy_drop();
    if (drop <= best) continue;
    best = drop;
    kept = log_.size();
  }
  moves.assign(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(kept));
}

}  // namespace amrbench::partitioners::refine
