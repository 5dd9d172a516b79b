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
/// Candidates that are fetched before it is known how many there are.
constexpr std::uint64_t kEager = 1 << 14;

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

/// Room for so many points.
template <class T, int Dim>
void GpuPoints<T, Dim>::resize(List& list, std::uint64_t capacity) {
  list.capacity = capacity;
  list.points.resize_discard(capacity);
  if (weighted()) list.weights.resize_discard(capacity);
}

template <class T, int Dim>
void GpuPoints<T, Dim>::start_level(std::span<Search> searches) {
  if (lists_.size() < searches.size()) lists_.resize(searches.size());
  clear(counters_, searches.size() * 4, stream_);
  for (Search& search : searches) {
    Lists& lists = lists_[search.number];
    lists.current = -1;
    lists.bracket.capacity = 0;
    if (!search.bracket) continue;
    const detail::CellRange& range = cells_[search.round_cell]->range;
    const std::uint64_t count = stopped_[search.round_cell][search.node];
    search.lost = count > std::max<std::uint64_t>(kListed, (range.end - range.begin) / 4);
    if (search.lost) continue;
    resize(lists.bracket, count);
    lists.positions.resize_discard(count);
  }
  for (std::size_t k = 0; k < cells_.size(); ++k) list_brackets(k, searches);
}

template <class T, int Dim>
void GpuPoints<T, Dim>::list_brackets(std::size_t round_cell, std::span<const Search> searches) {
  BracketLists<T, Dim> wanted{};
  bool any = false;
  for (const Search& search : searches) {
    Lists& lists = lists_[search.number];
    if (search.round_cell != round_cell || !search.bracket || lists.bracket.capacity == 0) continue;
    wanted.points[search.node] = lists.bracket.points.data();
    wanted.positions[search.node] = lists.positions.data();
    wanted.weights[search.node] = weighted() ? lists.bracket.weights.data() : nullptr;
    wanted.counts[search.node] = counter(search.number, 0);
    wanted.capacity[search.node] = static_cast<std::uint32_t>(lists.bracket.capacity);
    any = true;
  }
  if (!any) return;
  const detail::CellRange& range = cells_[round_cell]->range;
  list_kernel<T, Dim><<<grid(range.end - range.begin, 16 * ListQueue::kWords), kLocalThreads, 0, stream_.get()>>>(
      source(), codes_.data(), range.begin, range.end, wanted);
  cuda_check_launch("list_kernel");
}

/// Calls f(entries, at most how many) with what the search goes by now; not at all where this rank has nothing.
template <class T, int Dim>
template <class F>
void GpuPoints<T, Dim>::with_entries(const Search& search, F&& f) {
  const Lists& lists = lists_[search.number];
  const auto list = [&](const List& l, int which) {
    if (l.capacity > 0)
      f(ListEntries<T, Dim>{l.points.data(), weighted() ? l.weights.data() : nullptr, counter(search.number, which),
                            static_cast<std::uint32_t>(l.capacity)},
        l.capacity);
  };
  if (search.listed) {
    list(lists.kept[lists.current], 1 + lists.current);
  } else if (search.bracket) {
    list(lists.bracket, 0);
  } else {
    const detail::CellRange& range = cells_[search.round_cell]->range;
    if (range.end > range.begin) f(StretchEntries<T, Dim>{source(), range.begin, range.end}, range.end - range.begin);
  }
}

template <class T, int Dim>
void GpuPoints<T, Dim>::count(std::span<Search* const> searches, bool weighted_search, std::size_t width,
                              std::span<std::uint64_t> sums) {
  clear_counts(searches.size());
  for (std::size_t s = 0; s < searches.size(); ++s) {
    const Search& search = *searches[s];
    with_entries(search, [&](const auto& entries, std::uint64_t most) {
      bins_kernel<<<grid(most, 4), kLocalThreads, 0, stream_.get()>>>(entries, search.windows.back(), search.axis,
                                                                      counts_.data() + s * kCodes, weights_of(s));
      cuda_check_launch("bins_kernel");
    });
  }
  fetch_counts(searches.size());
  const bool weights = weighted_search && weighted();
  for (std::size_t s = 0; s < searches.size(); ++s)
    for (std::size_t bin = 0; bin < kCodes; ++bin) {
      sums[s * width + bin] += host_counts_[s * kCodes + bin];
      if (weights) sums[s * width + kCodes + bin] += host_weight_sums_[s * kCodes + bin];
    }
}

template <class T, int Dim>
void GpuPoints<T, Dim>::append_inside(const Search& search, const detail::Window& window, Point* out,
                                      std::uint64_t* weights, std::uint32_t* count, std::uint64_t capacity) {
  cuda_check(cudaMemsetAsync(count, 0, sizeof(*count), stream_.get()), "cudaMemsetAsync");
  with_entries(search, [&](const auto& entries, std::uint64_t most) {
    inside_kernel<<<grid(most, 4), kLocalThreads, 0, stream_.get()>>>(entries, window, search.axis, out, weights, count,
                                                                      static_cast<std::uint32_t>(capacity));
    cuda_check_launch("inside_kernel");
  });
}

template <class T, int Dim>
void GpuPoints<T, Dim>::keep(const Search& search, const detail::Window& inner) {
  Lists& lists = lists_[search.number];
  const int next = search.listed ? 1 - lists.current : 0;
  std::uint64_t most = 0;
  with_entries(search, [&](const auto& /*entries*/, std::uint64_t n) { most = n; });
  List& list = lists.kept[next];
  resize(list, std::min(most, inner.count));
  append_inside(search, inner, list.points.data(), weighted() ? list.weights.data() : nullptr,
                counter(search.number, 1 + next), list.capacity);
  lists.current = next;
}

template <class T, int Dim>
void GpuPoints<T, Dim>::collect(std::span<const Search> searches, std::vector<detail::CutCandidate<T, Dim>>& mine) {
  std::vector<std::uint64_t> begin{0};
  for (const Search& search : searches) {
    std::uint64_t most = 0;
    if (search.state == Search::State::open)
      with_entries(search,
                   [&](const auto& /*entries*/, std::uint64_t n) { most = std::min(n, search.windows.back().count); });
    begin.push_back(begin.back() + most);
  }
  const std::uint64_t total = begin.back();
  if (total == 0) return;
  gathered_.resize_discard(total);
  gathered_weights_.resize_discard(weighted() ? total : 0);
  for (const Search& search : searches) {
    const std::uint64_t at = begin[search.number];
    const std::uint64_t most = begin[search.number + 1] - at;
    if (most > 0)
      append_inside(search, search.windows.back(), gathered_.data() + at,
                    weighted() ? gathered_weights_.data() + at : nullptr, counter(search.number, 3), most);
  }
  host_counts_.resize_discard(searches.size() * 4);
  host_points_.resize_discard(total);
  host_weights_.resize_discard(weighted() ? total : 0);
  const auto fetch = [&](std::uint64_t at, std::uint64_t n) {
    copy_to_host(host_points_.data() + at, gathered_.data() + at, n, stream_);
    if (weighted()) copy_to_host(host_weights_.data() + at, gathered_weights_.data() + at, n, stream_);
  };
  copy_to_host(host_counts_.data(), counters_.data(), searches.size() * 4, stream_);
  if (total <= kEager) fetch(0, total);
  stream_.synchronize();
  const auto found = [&](const Search& search) {
    return std::min<std::uint64_t>(host_counts_[search.number * 4 + 3],
                                   begin[search.number + 1] - begin[search.number]);
  };
  if (total > kEager) {
    for (const Search& search : searches)
      if (const std::uint64_t n = found(search); n > 0) fetch(begin[search.number], n);
    stream_.synchronize();
  }
  for (const Search& search : searches)
    for (std::uint64_t i = begin[search.number], end = i + found(search); i < end; ++i)
      mine.push_back({host_points_[i], static_cast<std::uint32_t>(search.number), weighted() ? host_weights_[i] : 1});
}

template <class T, int Dim>
void GpuPoints<T, Dim>::apply(std::span<const detail::SettledCut<T, Dim>> cuts) {
  if (cuts.empty()) return;
  clear_counts(cuts.size());
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    const detail::SettledCut<T, Dim>& cut = cuts[c];
    const Cell& cell = *cells_[cut.round_cell];
    const detail::CellRange& range = cell.range;
    std::uint32_t* const counts = counts_.data() + c * kCodes;
    if (cut.bracket) {
      const Lists& lists = lists_[cut.search];
      if (lists.bracket.capacity == 0) continue;
      const ListEntries<T, Dim> entries{lists.bracket.points.data(),
                                        weighted() ? lists.bracket.weights.data() : nullptr, counter(cut.search, 0),
                                        static_cast<std::uint32_t>(lists.bracket.capacity)};
      send_on_kernel<T, Dim><<<grid(lists.bracket.capacity, 4), kLocalThreads, 0, stream_.get()>>>(
          entries, lists.positions.data(), static_cast<std::uint32_t>(cut.node), cut.axis, cut.pivot, walk_tables(cell),
          codes_.data(), counts, weights_of(c));
      cuda_check_launch("send_on_kernel");
    } else if (range.end > range.begin) {
      halves_kernel<T, Dim><<<grid(range.end - range.begin, 4), kLocalThreads, 0, stream_.get()>>>(
          source(), range.begin, range.end, cut.axis, cut.pivot, codes_.data(), counts);
      cuda_check_launch("halves_kernel");
    }
  }
  fetch_counts(cuts.size());
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    const std::uint32_t* const counts = host_counts_.data() + c * kCodes;
    if (cuts[c].bracket) {
      pass(cuts[c].round_cell, cuts[c].node, c);
    } else {
      Cell& cell = *cells_[cuts[c].round_cell];
      for (std::size_t code = 0; code < 2; ++code) cell.passed[2 + code] += counts[code];
    }
  }
}

}  // namespace amrbench::partitioners::gpu
