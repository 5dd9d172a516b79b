#pragma once
// Bodies of gpus/local.hpp that search cuts exactly, by sums of bins over ranks (distributed_search.hpp
// decides); the rest stands in gpus/local.cu, which includes this.
#include <algorithm>
#include <limits>

#include "partitioners/orb/gpus/local.hpp"
#include "partitioners/orb/gpus/search.cuh"

namespace amrbench::partitioners::gpu {

using support::copy_to_host;
using support::cuda_check;
using support::cuda_check_launch;

/// A bracket that more of a rank's points meet, and more than a fourth of its cell's, is not listed.
constexpr std::uint64_t kListed = 1 << 16;

template <class T, int Dim>
WalkTables<T> walk_tables(const detail::RoundCell<T, Dim>& cell) {
  WalkTables<T> tables{};
  tables.levels = cell.guess.levels();
  for (std::size_t v = 0; v < kWalkNodes; ++v) {
    const RoundNode<T>& node = cell.guess.node(v);
    const bool used = v > 0 && node.inner && cell.wanted[v];
    tables.low[v] = used ? node.low : std::numeric_limits<T>::infinity();
    tables.high[v] = used ? node.high : std::numeric_limits<T>::infinity();
    tables.axis[v] = static_cast<std::uint8_t>(node.axis);
  }
  return tables;
}

template <class T, int Dim>
void GpuPoints<T, Dim>::start_level(std::span<Search> searches) {
  if (lists_.size() < searches.size()) lists_.resize(searches.size());
  clear(counters_, searches.size() * 4, stream_);
  for (Search& search : searches) {
    support::DeviceBuffer<std::uint32_t>& list = lists_[search.number].bracket;
    list.resize_discard(0);
    if (!search.bracket) continue;
    const detail::CellRange& range = cells_[search.round_cell]->range;
    const std::uint64_t count = stopped_[search.round_cell][search.node];
    search.lost = count > std::max<std::uint64_t>(kListed, (range.end - range.begin) / 4);
    if (!search.lost) list.resize_discard(count);
  }
  for (std::size_t k = 0; k < cells_.size(); ++k) list_brackets(k, searches);
}

template <class T, int Dim>
void GpuPoints<T, Dim>::list_brackets(std::size_t round_cell, std::span<const Search> searches) {
  BracketLists wanted{};
  bool any = false;
  for (const Search& search : searches) {
    support::DeviceBuffer<std::uint32_t>& list = lists_[search.number].bracket;
    if (search.round_cell != round_cell || list.size() == 0) continue;
    wanted.positions[search.node] = list.data();
    wanted.counts[search.node] = counter(search.number, 0);
    wanted.capacity[search.node] = static_cast<std::uint32_t>(list.size());
    any = true;
  }
  if (!any) return;
  const detail::CellRange& range = cells_[round_cell]->range;
  list_kernel<<<grid(range.end - range.begin, kListTile / kLocalThreads), kLocalThreads, 0, stream_.get()>>>(
      codes_.data(), range.begin, range.end, wanted);
  cuda_check_launch("list_kernel");
}

template <class T, int Dim>
Entries<T, Dim> GpuPoints<T, Dim>::entries(const support::DeviceBuffer<std::uint32_t>& list, std::size_t search,
                                           int which) {
  return {source(), list.data(), counter(search, which), 0, list.size()};
}
template <class T, int Dim>
Entries<T, Dim> GpuPoints<T, Dim>::all_of(std::size_t round_cell) const {
  const detail::CellRange& range = cells_[round_cell]->range;
  return {source(), nullptr, nullptr, range.begin, range.end - range.begin};
}
/// What the search goes by now.
template <class T, int Dim>
Entries<T, Dim> GpuPoints<T, Dim>::entries(const Search& search) {
  const Lists& lists = lists_[search.number];
  if (search.listed) return entries(lists.kept[lists.current], search.number, 1 + lists.current);
  return search.bracket ? entries(lists.bracket, search.number, 0) : all_of(search.round_cell);
}

template <class T, int Dim>
void GpuPoints<T, Dim>::count(std::span<Search* const> searches, bool weighted_search, std::size_t width,
                              std::span<std::uint64_t> sums) {
  clear_counts(searches.size());
  for (std::size_t s = 0; s < searches.size(); ++s) {
    const Search& search = *searches[s];
    const Entries<T, Dim> from = entries(search);
    if (from.most == 0) continue;
    bins_kernel<T, Dim><<<grid(from.most, 4), kLocalThreads, 0, stream_.get()>>>(
        from, search.windows.back(), search.axis, counts_.data() + s * kCodes, weights_of(s));
    cuda_check_launch("bins_kernel");
  }
  fetch_counts(searches.size());
  const bool weights = weighted_search && weighted();
  for (std::size_t s = 0; s < searches.size(); ++s)
    for (std::size_t bin = 0; bin < kCodes; ++bin) {
      sums[s * width + bin] += host_counts_[s * kCodes + bin];
      if (weights) sums[s * width + kCodes + bin] += host_weight_sums_[s * kCodes + bin];
    }
}

/// Appends what the search goes by and is inside the window to arrays of `capacity`, each unless null; counter `which`.
template <class T, int Dim>
void GpuPoints<T, Dim>::find_inside(const Search& search, const detail::Window& window, int which,
                                    std::uint64_t capacity, std::uint32_t* positions, Point* points,
                                    std::uint64_t* weights) {
  std::uint32_t* const count = counter(search.number, which);
  cuda_check(cudaMemsetAsync(count, 0, sizeof(*count), stream_.get()), "cudaMemsetAsync");
  const Entries<T, Dim> from = entries(search);
  if (from.most == 0) return;
  inside_kernel<T, Dim><<<grid(from.most, 4), kLocalThreads, 0, stream_.get()>>>(
      from, window, search.axis, {positions, points, weights, count, static_cast<std::uint32_t>(capacity)});
  cuda_check_launch("inside_kernel");
}

template <class T, int Dim>
void GpuPoints<T, Dim>::keep(const Search& search, const detail::Window& inner) {
  Lists& lists = lists_[search.number];
  const int next = search.listed ? 1 - lists.current : 0;
  support::DeviceBuffer<std::uint32_t>& list = lists.kept[next];
  list.resize_discard(std::min(entries(search).most, inner.count));
  find_inside(search, inner, 1 + next, list.size(), list.data(), nullptr, nullptr);
  lists.current = next;
}

template <class T, int Dim>
void GpuPoints<T, Dim>::collect(std::span<const Search> searches, std::vector<detail::CutCandidate<T, Dim>>& mine) {
  std::vector<std::uint64_t> begin{0};
  for (const Search& search : searches) {
    const bool open = search.state == Search::State::open;
    begin.push_back(begin.back() + (open ? std::min(entries(search).most, search.windows.back().count) : 0));
  }
  const std::uint64_t total = begin.back();
  if (total == 0) return;
  reserve_gathered(total);
  for (const Search& search : searches) {
    const std::uint64_t at = begin[search.number];
    const std::uint64_t most = begin[search.number + 1] - at;
    if (most > 0)
      find_inside(search, search.windows.back(), 3, most, nullptr, gathered_.data() + at,
                  weighted() ? gathered_weights_.data() + at : nullptr);
  }
  host_counts_.resize_discard(searches.size() * 4);
  copy_to_host(host_counts_.data(), counters_.data(), searches.size() * 4, stream_);
  fetch_gathered(total);
  for (const Search& search : searches) {
    const std::uint64_t at = begin[search.number];
    const std::uint64_t most = begin[search.number + 1] - at;
    const std::uint64_t found = most > 0 ? std::min<std::uint64_t>(host_counts_[search.number * 4 + 3], most) : 0;
    for (std::uint64_t i = at; i < at + found; ++i)
      mine.push_back({host_points_[i], static_cast<std::uint32_t>(search.number), host_weight(i)});
  }
}

template <class T, int Dim>
void GpuPoints<T, Dim>::apply(std::span<const detail::SettledCut<T, Dim>> cuts) {
  if (cuts.empty()) return;
  clear_counts(cuts.size());
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    const detail::SettledCut<T, Dim>& cut = cuts[c];
    const Entries<T, Dim> from =
        cut.bracket ? entries(lists_[cut.search].bracket, cut.search, 0) : all_of(cut.round_cell);
    if (from.most == 0) continue;
    send_on_kernel<T, Dim><<<grid(from.most, 4), kLocalThreads, 0, stream_.get()>>>(
        from, static_cast<std::uint32_t>(cut.node), cut.axis, cut.pivot, walk_tables(*cells_[cut.round_cell]),
        codes_.data(), counts_.data() + c * kCodes, weights_of(c));
    cuda_check_launch("send_on_kernel");
  }
  fetch_counts(cuts.size());
  for (std::size_t c = 0; c < cuts.size(); ++c) pass(cuts[c].round_cell, cuts[c].node, c);
}

}  // namespace amrbench::partitioners::gpu
