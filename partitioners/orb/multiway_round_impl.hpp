#pragma once
// Bodies of multiway_round.hpp.
#include "partitioners/orb/multiway_round.hpp"
#include "support/hash.hpp"

namespace amrbench::partitioners {

namespace detail {

/// Sampled points of a round: the more there are, the fewer points meet brackets; both cost about the same at this
/// size.
inline std::size_t sample_size(std::uint64_t n) {
  constexpr double kShare = 2.6;
  const auto balanced = static_cast<std::uint64_t>(kShare * std::pow(static_cast<double>(n), 0.75));
  return static_cast<std::size_t>(std::min(n, balanced));
}

}  // namespace detail

template <class T, int Dim, class Source>
MultiwayRound<T, Dim, Source>::MultiwayRound(const OrbInput<T, Dim>& input, OrbTree<T, Dim>& tree, std::size_t cell,
                                             const Source& source, std::uint8_t* codes, OrbRoundMemory<T, Dim>& memory,
                                             int threads)
    : input_(input),
      tree_(tree),
      cell_(cell),
      source_(source),
      codes_(codes),
      threads_(threads),
      count_(tree.cells[cell].count),
      memory_(memory) {
  // Chunks are powers of two, so that a point's chunk is a shift: at least 4 a thread, or one where one thread works.
  constexpr int kLeastShift = static_cast<int>(std::bit_width(static_cast<unsigned>(RoundTree<T, Dim>::kBlock))) - 1;
  const int whole = static_cast<int>(std::bit_width(count_ - 1));
  chunk_shift_ =
      threads_ == 1 ? whole : whole - 2 - static_cast<int>(std::bit_width(static_cast<unsigned>(threads_ - 1)));
  chunk_shift_ = std::max(chunk_shift_, kLeastShift);
  chunks_ = static_cast<std::size_t>(((count_ - 1) >> chunk_shift_) + 1);
}

template <class T, int Dim, class Source>
void MultiwayRound<T, Dim, Source>::run() {
  sample_and_guess();
  classify();
  count_passed();
  if (!resolve(1)) {
    cut_root_exactly();
  } else {
    for (int level = 1; level < guess_.levels(); ++level) {
      const std::size_t first = std::size_t{1} << level;
#pragma omp parallel for num_threads(threads_) schedule(dynamic) if (threads_ > 1)
      for (std::size_t v = first; v < 2 * first; ++v)
        if (resolved_[v / 2]) resolve(v);
    }
  }
  slots_.clear();
  make_slots(1);
}

template <class T, int Dim, class Source>
void MultiwayRound<T, Dim, Source>::sample_and_guess() {
  const std::size_t size = detail::sample_size(count_);
  std::vector<Point>& sample = memory_.sample;
  sample.resize(size);
#pragma omp parallel for num_threads(threads_) schedule(static) if (threads_ > 1)
  for (std::size_t i = 0; i < size; ++i) {  // one position at random out of each of `size` equal stretches
    const auto begin = static_cast<std::uint64_t>(static_cast<double>(count_) * static_cast<double>(i) / size);
    const auto end = static_cast<std::uint64_t>(static_cast<double>(count_) * static_cast<double>(i + 1) / size);
    const std::uint64_t stretch = std::max<std::uint64_t>(1, end - begin);
    sample[i] = source_.point(std::min(count_ - 1, begin + support::splitmix64(i) % stretch));
  }
  const OrbCell<T, Dim>& cell = tree_.cells[cell_];
  guess_.guess(sample, input_.weights, cell.leaves, cell.box, input_.options.side_tolerance, threads_);
}

template <class T, int Dim, class Source>
void MultiwayRound<T, Dim, Source>::classify() {
  code_counts_.assign(chunks_ * kCodes, 0);
  if (input_.weighted()) code_weights_.assign(chunks_ * kCodes, 0);
  if (memory_.met.size() < chunks_) memory_.met.resize(chunks_);
  for (auto& met : memory_.met)
    for (Entries& entries : met) entries.clear();
  for (Entries& entries : memory_.routed) entries.clear();
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 1) if (threads_ > 1)
  for (std::size_t chunk = 0; chunk < chunks_; ++chunk) classify_chunk(chunk);
}

template <class T, int Dim, class Source>
void MultiwayRound<T, Dim, Source>::classify_chunk(std::size_t chunk) {
  constexpr std::uint64_t kBlock = RoundTree<T, Dim>::kBlock;
  alignas(64) T x[Dim * kBlock];
  std::uint8_t stopped[kBlock];
  auto& met = memory_.met[chunk];
  std::uint32_t counts[2][kCodes] = {};  // two tables, so that equal neighbours do not wait for each other
  std::uint64_t* totals = &code_counts_[chunk * kCodes];
  const std::uint64_t end = chunk_begin(chunk + 1);
  for (std::uint64_t first = chunk_begin(chunk); first < end; first += kBlock) {
    source_.block(first, x);
    std::uint8_t* codes = codes_ + first;
    guess_.classify(x, codes);
    const auto n = static_cast<std::size_t>(std::min(kBlock, end - first));
    std::size_t stops = 0;
    for (std::size_t i = 0; i < n; ++i) {
      ++counts[i & 1][codes[i]];
      stopped[stops] = static_cast<std::uint8_t>(i);
      stops += codes[i] >> 7;
    }
    for (std::size_t s = 0; s < stops; ++s) {
      const std::size_t i = stopped[s];
      const std::size_t v = codes[i] - kStopped;
      const auto axis = static_cast<std::size_t>(guess_.node(v).axis);
      met[v].push_back({x[axis * kBlock + i], static_cast<std::uint32_t>(first + i)});
    }
    for (std::size_t i = 0; input_.weighted() && i < n; ++i)
      code_weights_[chunk * kCodes + codes[i]] += weight_at(first + i);
  }
  // A chunk has at most 2^32 points, half of them in either table.
  for (std::size_t code = 0; code < kCodes; ++code) totals[code] = std::uint64_t{counts[0][code]} + counts[1][code];
}

template <class T, int Dim, class Source>
void MultiwayRound<T, Dim, Source>::count_passed() {
  const std::size_t first = std::size_t{1} << guess_.levels();
  passed_.fill(0);
  passed_weight_.fill(0);
  for (std::size_t chunk = 0; chunk < chunks_; ++chunk)
    for (std::size_t code = 0; code < kCodes; ++code) {
      const std::size_t v = code < kStopped ? first + code : code - kStopped;
      const std::uint64_t n = code_counts_[chunk * kCodes + code];
      if (n == 0) continue;
      if (code >= kStopped) stopped_ += n;
      passed_[v] += n;
      if (input_.weighted()) passed_weight_[v] += code_weights_[chunk * kCodes + code];
    }
  for (std::size_t v = 2 * first - 1; v > 1; --v) {
    passed_[v / 2] += passed_[v];
    passed_weight_[v / 2] += passed_weight_[v];
  }
}

template <class T, int Dim, class Source>
std::size_t MultiwayRound<T, Dim, Source>::heap(std::size_t v) const {
  const int level = std::bit_width(v) - 1;
  return (cell_ << level) + (v - (std::size_t{1} << level));
}

/// Cuts node v exactly, if its bracket holds the cut and its axis was guessed right; v's cell is known exactly.
template <class T, int Dim, class Source>
bool MultiwayRound<T, Dim, Source>::resolve(std::size_t v) {
  const RoundNode<T>& node = guess_.node(v);
  if (!node.inner) return false;
  const std::size_t i = heap(v);
  if (cut_axis(tree_.cells[i].box, input_.options.side_tolerance) != node.axis) return false;
  Entries& entries = memory_.routed[v];  // together with all that met the bracket
  for (const auto& met : memory_.met) entries.insert(entries.end(), met[v].begin(), met[v].end());
  const OrbGoal goal = goal_of(tree_, i, input_.weighted());
  if (input_.weighted()) return resolve_by_weight(v, entries, goal);
  const auto left = cut_in_window(goal, {passed_[2 * v], 0, entries.size()}, {});
  if (!left) return false;
  const auto middle = entries.begin() + static_cast<std::ptrdiff_t>(*left);
  const int axis = node.axis;
  std::nth_element(entries.begin(), middle, entries.end(),
                   [&](const Entry& a, const Entry& b) { return before(a, b, axis); });
  apply_cut(v, entries, *left, passed_[2 * v] + *left);
  return true;
}

template <class T, int Dim, class Source>
bool MultiwayRound<T, Dim, Source>::resolve_by_weight(std::size_t v, Entries& entries, const OrbGoal& goal) {
  const int axis = guess_.node(v).axis;
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) { return before(a, b, axis); });
  std::vector<std::uint64_t> weights;
  weights.reserve(entries.size());
  for (const Entry& entry : entries) weights.push_back(weight_at(entry.position));
  const auto left = cut_in_window(goal, {passed_[2 * v], passed_weight_[2 * v], entries.size()}, weights);
  if (!left) return false;
  std::uint64_t weight_left = passed_weight_[2 * v];
  for (std::uint64_t k = 0; k < *left; ++k) weight_left += weights[k];
  apply_cut(v, entries, *left, weight_left);
  return true;
}

template <class T, int Dim, class Source>
void MultiwayRound<T, Dim, Source>::apply_cut(std::size_t v, const Entries& entries, std::size_t left,
                                              std::uint64_t weight_left) {
  T last = entries[0].key;
  for (std::size_t k = 1; k < left; ++k) last = std::max(last, entries[k].key);
  const std::uint64_t count_left = passed_[2 * v] + left;
  cut_cell(tree_, heap(v), guess_.node(v).axis, cut_between(last, entries[left].key), count_left, weight_left);
  resolved_[v] = true;
  route(v, std::span(entries).first(left), 2 * v);
  route(v, std::span(entries).subspan(left), 2 * v + 1);
}

/// Sends points that met v's bracket on, down from `child`.
template <class T, int Dim, class Source>
void MultiwayRound<T, Dim, Source>::route(std::size_t v, std::span<const Entry> entries, std::size_t child) {
  constexpr std::size_t kAhead = 16;
  std::array<std::uint64_t, kCodes> counts{};
  std::array<std::uint64_t, kCodes> weights{};
  for (std::size_t k = 0; k < entries.size(); ++k) {
    if (k + kAhead < entries.size()) source_.prefetch(entries[k + kAhead].position);
    const std::uint32_t position = entries[k].position;
    const Point p = source_.point(position);
    const std::uint8_t code = guess_.code_from(child, p.x);
    if (code >= kStopped) {
      const std::size_t to = code - kStopped;
      memory_.routed[to].push_back({p.x[guess_.node(to).axis], position});
    }
    codes_[position] = code;
    std::uint64_t* of_chunk = &code_counts_[(position >> chunk_shift_) * kCodes];
    --of_chunk[kStopped + v];
    ++of_chunk[code];
    ++counts[code];
    if (input_.weighted()) weights[code] += weight_at(position);
  }
  const std::size_t first = std::size_t{1} << guess_.levels();
  for (std::size_t code = 0; code < kCodes; ++code) {
    if (counts[code] == 0) continue;
    for (std::size_t u = code < kStopped ? first + code : code - kStopped; u > v; u /= 2) {
      passed_[u] += counts[code];
      passed_weight_[u] += weights[code];
    }
  }
}

/// No bracket held the root's cut, or its axis was not guessed: one level, exactly, from all points.
template <class T, int Dim, class Source>
void MultiwayRound<T, Dim, Source>::cut_root_exactly() {
  const OrbCell<T, Dim>& cell = tree_.cells[cell_];
  const int axis = cut_axis(cell.box, input_.options.side_tolerance);
  Entries entries(count_);
  for (std::uint64_t i = 0; i < count_; ++i) entries[i] = {source_.point(i).x[axis], static_cast<std::uint32_t>(i)};
  const auto order = [&](const Entry& a, const Entry& b) { return before(a, b, axis); };
  const OrbGoal goal = goal_of(tree_, cell_, input_.weighted());
  std::uint64_t left = goal.unit();
  std::uint64_t weight_left = left;
  if (input_.weighted()) {
    std::sort(entries.begin(), entries.end(), order);
    std::vector<std::uint64_t> weights;
    weights.reserve(count_);
    for (const Entry& entry : entries) weights.push_back(weight_at(entry.position));
    left = cut_in_window(goal, {.size = count_}, weights).value();
    weight_left = 0;
    for (std::uint64_t k = 0; k < left; ++k) weight_left += weights[k];
  } else {
    std::nth_element(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(left), entries.end(), order);
  }
  T last = entries[0].key;
  for (std::uint64_t k = 1; k < left; ++k) last = std::max(last, entries[k].key);
  cut_cell(tree_, cell_, axis, cut_between(last, entries[left].key), left, weight_left);
  resolved_[1] = true;
  // Codes become 0 and 1 of a round of one level.
  guess_.make_single_level();
  code_counts_.assign(chunks_ * kCodes, 0);
  for (std::uint64_t k = 0; k < count_; ++k) {
    const std::uint8_t code = k < left ? 0 : 1;
    codes_[entries[k].position] = code;
    ++code_counts_[(entries[k].position >> chunk_shift_) * kCodes + code];
  }
}

/// Numbers the cells at the end of the round from left to right and maps codes to them.
template <class T, int Dim, class Source>
void MultiwayRound<T, Dim, Source>::make_slots(std::size_t v) {
  const std::size_t first = std::size_t{1} << guess_.levels();
  if (v < first && resolved_[v]) {
    make_slots(2 * v);
    make_slots(2 * v + 1);
    return;
  }
  const auto slot = static_cast<std::uint8_t>(slots_.size());
  slots_.push_back({heap(v), tree_.cells[heap(v)].leaves == 1});
  // Every code of the subtree: nodes of the last level, and nodes where points still stand.
  for (std::size_t begin = v, end = v + 1; begin < 2 * first; begin *= 2, end *= 2)
    for (std::size_t u = begin; u < end; ++u) {
      if (u >= first)
        slot_of_code_[u - first] = slot;
      else
        slot_of_code_[kStopped + u] = slot;
    }
}

template <class T, int Dim, class Source>
std::uint64_t MultiwayRound<T, Dim, Source>::chunk_count(std::size_t chunk, std::size_t slot) const {
  std::uint64_t sum = 0;
  for (std::size_t code = 0; code < kCodes; ++code)
    if (slot_of_code_[code] == slot) sum += code_counts_[chunk * kCodes + code];
  return sum;
}

}  // namespace amrbench::partitioners
