#pragma once
// How GpuPoints searches cuts exactly, by sums of bins over ranks (distributed_search.hpp decides): kernels that list
// the points near a cut, add them up in 256 bins by their keys, keep those inside a window, and send all of them on
// once the cut is known; and the members of gpus/local.hpp that call them. The others stand in gpus/local.cu, which
// includes this.
#include <algorithm>
#include <limits>

#include "partitioners/orb/gpu/steps.hpp"
#include "partitioners/orb/gpus/kernels.cuh"

namespace amrbench::partitioners::gpu {

/// What list_kernel fills, by node; null: nobody wants its points.
struct BracketLists {
  std::uint32_t* positions[kWalkNodes];
  std::uint32_t* counts[kWalkNodes];
  std::uint32_t capacity[kWalkNodes];
};

/// Of 16 codes from position `first` on, those at begin .. end - 1; others are 0.
__device__ inline void load_codes(const std::uint8_t* codes, std::uint64_t first, std::uint64_t begin,
                                  std::uint64_t end, std::uint8_t (&mine)[16]) {
  if (first >= begin && first + 16 <= end) {
    const uint4 word = *reinterpret_cast<const uint4*>(codes + first);
    memcpy(mine, &word, sizeof(word));
  } else {
#pragma unroll
    for (int j = 0; j < 16; ++j) mine[j] = first + j >= begin && first + j < end ? codes[first + j] : 0;
  }
}

/// Codes that a thread block of list_kernel looks at together.
constexpr unsigned kListTile = 2 * 16 * kLocalThreads;

/// Lists the positions among begin .. end - 1 whose codes say that their points stopped at one of the nodes that are
/// wanted. A thread looks at 2 times 16 codes at a time, from multiples of 16 on; a block asks for the places of all
/// its positions at once.
__global__ void __launch_bounds__(kLocalThreads)
    list_kernel(const std::uint8_t* __restrict__ codes, std::uint64_t begin, std::uint64_t end,
                const BracketLists wanted) {
  __shared__ std::uint32_t found[kWalkNodes], base[kWalkNodes];
  __shared__ BracketLists lists;
  if (threadIdx.x < kWalkNodes) {
    lists.positions[threadIdx.x] = wanted.positions[threadIdx.x];
    lists.counts[threadIdx.x] = wanted.counts[threadIdx.x];
    lists.capacity[threadIdx.x] = wanted.capacity[threadIdx.x];
    found[threadIdx.x] = 0;
  }
  __syncthreads();
  for (std::uint64_t tile = begin / 16 * 16 + std::uint64_t{blockIdx.x} * kListTile; tile < end;
       tile += std::uint64_t{gridDim.x} * kListTile) {
    std::uint8_t mine[2][16];
#pragma unroll
    for (unsigned w = 0; w < 2; ++w)
      load_codes(codes, tile + 16 * (w * kLocalThreads + threadIdx.x), begin, end, mine[w]);
    std::uint32_t hits = 0;  // a bit a code
#pragma unroll
    for (unsigned k = 0; k < 32; ++k) {
      const unsigned code = mine[k / 16][k % 16];
      if (code < kStopped || lists.positions[code - kStopped] == nullptr) continue;
      hits |= 1U << k;
      atomicAdd(&found[code - kStopped], 1U);
    }
    __syncthreads();
    if (threadIdx.x < kWalkNodes) {
      if (found[threadIdx.x] > 0) base[threadIdx.x] = atomicAdd(lists.counts[threadIdx.x], found[threadIdx.x]);
      found[threadIdx.x] = 0;
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < 32; ++k) {
      if ((hits >> k & 1U) == 0) continue;
      const unsigned v = mine[k / 16][k % 16] - kStopped;
      const std::uint32_t place = base[v] + atomicAdd(&found[v], 1U);
      if (place < lists.capacity[v])  // always: they were counted
        lists.positions[v][place] =
            static_cast<std::uint32_t>(tile + 16 * (k / 16 * kLocalThreads + threadIdx.x) + k % 16);
    }
    __syncthreads();
    if (threadIdx.x < kWalkNodes) found[threadIdx.x] = 0;
    __syncthreads();
  }
}

template <class T, int Dim>
__device__ inline std::uint64_t size_of(const Entries<T, Dim>& entries) {
  return entries.positions != nullptr ? min(std::uint64_t{*entries.count}, entries.most) : entries.most;
}
template <class T, int Dim>
__device__ inline std::uint64_t position_of(const Entries<T, Dim>& entries, std::uint64_t i) {
  return entries.positions != nullptr ? entries.positions[i] : entries.begin + i;
}

/// Adds to bins[256] the entries in each 2^shift keys of a window that holds them all, and to weights[256], unless it
/// is null, what they weigh.
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads) bins_kernel(const Entries<T, Dim> entries, const detail::Window window,
                                                             int axis, std::uint32_t* bins, std::uint64_t* weights) {
  __shared__ std::uint32_t shared[256], low[256], high[256];
  shared[threadIdx.x] = 0;
  clear_weights(low, high);
  const int shift = detail::shift_of(window);
  const std::uint64_t n = size_of(entries);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kLocalThreads + threadIdx.x; i < n; i += stride) {
    const std::uint64_t at = position_of(entries, i);
    const std::uint64_t bin = (detail::key(load(entries.source, at), window.phase, axis) - window.low) >> shift;
    const std::uint64_t b = bin < 256 ? bin : 255;
    atomicAdd(&shared[b], 1U);
    if (weights != nullptr) add_in_two_words(&low[b], &high[b], load_weight(entries.source, at));
  }
  give_counts(shared, bins);
  if (weights != nullptr) give_weights(low, high, weights);
}

/// Appends the entries inside a window.
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads)
    inside_kernel(const Entries<T, Dim> entries, const detail::Window window, int axis, const Inside<T, Dim> out) {
  const std::uint64_t n = size_of(entries);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  const unsigned lane = threadIdx.x & 31U;
  for (std::uint64_t block = std::uint64_t{blockIdx.x} * kLocalThreads; block < n; block += stride) {
    const std::uint64_t i = block + threadIdx.x;
    std::uint64_t at = 0;
    OrbPoint<T, Dim> p{};
    bool inside = i < n;
    if (inside) {
      at = position_of(entries, i);
      p = load(entries.source, at);
      inside = detail::in_window(p, window, axis);
    }
    const unsigned with = __ballot_sync(kFull, inside);
    if (with == 0U) continue;
    std::uint32_t base = 0;
    if (lane == 0) base = atomicAdd(out.count, static_cast<std::uint32_t>(__popc(with)));
    base = __shfl_sync(kFull, base, 0);
    const std::uint32_t place = base + static_cast<std::uint32_t>(__popc(with & ((1U << lane) - 1U)));
    if (!inside || place >= out.capacity) continue;
    if (out.positions != nullptr) out.positions[place] = static_cast<std::uint32_t>(at);
    if (out.points != nullptr) out.points[place] = p;
    if (out.weights != nullptr) out.weights[place] = load_weight(entries.source, at);
  }
}

/// Sends the points of a node, whose cut is known by its first right point, on; counts their new codes, and weighs them
/// unless `weights` is null.
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads)
    send_on_kernel(const Entries<T, Dim> entries, std::uint32_t node, int axis_of_cut, const OrbPoint<T, Dim> pivot,
                   const WalkTables<T> tables, std::uint8_t* __restrict__ codes, std::uint32_t* counts,
                   std::uint64_t* weights) {
  __shared__ T low[kWalkNodes], high[kWalkNodes];
  __shared__ std::uint8_t axis[kWalkNodes];
  __shared__ std::uint32_t shared[256], weight_low[256], weight_high[256];
  share_tables(tables, low, high, axis, shared);
  clear_weights(weight_low, weight_high);
  CodeCounts counted{shared, tables.levels <= 2};
  const std::uint64_t n = size_of(entries);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t block = std::uint64_t{blockIdx.x} * kLocalThreads; block < n; block += stride) {
    const std::uint64_t i = block + threadIdx.x;
    std::uint32_t code = 0;
    if (i < n) {
      const std::uint64_t at = position_of(entries, i);
      const OrbPoint<T, Dim> p = load(entries.source, at);
      const std::uint32_t child = 2 * node + (orb_before(p, pivot, axis_of_cut) ? 0U : 1U);
      code = walk_from<T, Dim>(child, p.x, low, high, axis, tables.levels);
      codes[at] = static_cast<std::uint8_t>(code);
      if (weights != nullptr) add_in_two_words(&weight_low[code], &weight_high[code], load_weight(entries.source, at));
    }
    counted.add(code, i < n);
  }
  counted.flush();
  give_counts(shared, counts);
  if (weights != nullptr) give_weights(weight_low, weight_high, weights);
}

// ---- Members of GpuPoints -----------------------------------------------------------------------------------

/// A bracket that more of a rank's points meet, and more than a fourth of its cell's, is not listed.
constexpr std::uint64_t kListed = 1 << 16;

template <class T, int Dim>
WalkTables<T> walk_tables(const detail::RoundCell<T, Dim>& cell) {
  WalkTables<T> tables{};
  tables.levels = cell.guess.levels();
  for (std::size_t v = 0; v < kWalkNodes; ++v) {
    const RoundNode<T, Dim>& node = cell.guess.node(v);
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

/// Appends what the search goes by and is inside the window. out.count: set here, to counter `which`.
template <class T, int Dim>
void GpuPoints<T, Dim>::find_inside(const Search& search, const detail::Window& window, int which, Inside<T, Dim> out) {
  out.count = counter(search.number, which);
  cuda_check(cudaMemsetAsync(out.count, 0, sizeof(*out.count), stream_.get()), "cudaMemsetAsync");
  const Entries<T, Dim> from = entries(search);
  if (from.most == 0) return;
  inside_kernel<T, Dim><<<grid(from.most, 4), kLocalThreads, 0, stream_.get()>>>(from, window, search.axis, out);
  cuda_check_launch("inside_kernel");
}

template <class T, int Dim>
void GpuPoints<T, Dim>::keep(const Search& search, const detail::Window& inner) {
  Lists& lists = lists_[search.number];
  const int next = search.listed ? 1 - lists.current : 0;
  support::DeviceBuffer<std::uint32_t>& list = lists.kept[next];
  list.resize_discard(std::min(entries(search).most, inner.count));
  find_inside(search, inner, 1 + next, {.positions = list.data(), .capacity = static_cast<std::uint32_t>(list.size())});
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
      find_inside(search, search.windows.back(), 3,
                  {.points = gathered_.data() + at,
                   .weights = weighted() ? gathered_weights_.data() + at : nullptr,
                   .capacity = static_cast<std::uint32_t>(most)});
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
