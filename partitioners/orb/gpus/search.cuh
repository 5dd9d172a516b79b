#pragma once
// How GpuPoints searches cuts exactly, by sums of bins over ranks (distributed_levels.hpp decides), and gives points
// their codes: kernels, and the members of gpus/local.hpp that call them. The others stand in gpus/local.cu, which
// includes this. A kernel goes over all of the rank's points, for several cells at once, or by the list of one cell.
#include <algorithm>
#include <string>

#include "partitioners/orb/gpu/steps.hpp"
#include "partitioners/orb/gpus/kernels.cuh"
#include "support/error.hpp"

namespace amrbench::partitioners::gpu {

/// Code of what is no point.
constexpr std::uint32_t kNoCode = 0xffffffffU;

/// Four points from `first` on, a multiple of 4, of the n that a kernel goes by, and their codes: 0 for those of a
/// list.
template <class T, int Dim>
__device__ inline void load_entries(const Entries<T, Dim>& entries, std::uint64_t first, std::uint64_t n,
                                    OrbPoint<T, Dim> (&p)[4], std::uint32_t (&code)[4]) {
  const DeviceSource<T, Dim>& source = entries.source;
  if (entries.positions == nullptr) {
    T x[4][Dim];
    load_four<T, Dim>(source.points, first, n, x);
    uint2 words = {0, 0};  // there is memory for codes up to a multiple of 8
    if (entries.codes != nullptr && first < n) words = *reinterpret_cast<const uint2*>(entries.codes + first);
    const std::uint32_t codes[4] = {words.x & 0xffffU, words.x >> 16U, words.y & 0xffffU, words.y >> 16U};
#pragma unroll
    for (int j = 0; j < 4; ++j) code[j] = first + j < n ? codes[j] : kNoCode;
#pragma unroll
    for (int j = 0; j < 4; ++j) p[j] = point_at<T, Dim>(x[j], source.first + static_cast<std::uint32_t>(first + j));
    return;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const bool valid = first + j < n;
    code[j] = valid ? 0U : kNoCode;
    p[j] = load(source, valid ? entries.positions[first + j] : 0U);
  }
}

/// How many points a kernel goes by.
template <class T, int Dim>
__device__ inline std::uint64_t size_of(const Entries<T, Dim>& entries) {
  return entries.positions != nullptr ? min(std::uint64_t{*entries.count}, entries.most) : entries.most;
}

/// What is asked of points first stands in shared memory, for so many codes.
constexpr std::uint32_t kSharedCodes = 32;
template <class T, int Dim>
__device__ inline void share_tests(const CodeRow<T, Dim>* table, std::uint32_t codes, detail::PointTest<T>* tests) {
  if (threadIdx.x < min(codes, kSharedCodes)) tests[threadIdx.x] = table[threadIdx.x].test;
  __syncthreads();
}
template <class T, int Dim>
__device__ inline detail::PointTest<T> test_of(const CodeRow<T, Dim>* table, const detail::PointTest<T>* tests,
                                               std::uint32_t code) {
  if (code < kSharedCodes) return tests[code];
  return table[code].test;
}

/// Adds to bins[search][kLocalBins], of so many searches, the points in each; where Weighted what they weigh to
/// weights, which has the same shape. table: of so many codes. Shared memory: a word a bin; where Weighted three.
template <class T, int Dim, bool Weighted>
__global__ void __launch_bounds__(kLocalThreads)
    bins_kernel(const Entries<T, Dim> entries, const CodeRow<T, Dim>* __restrict__ table, std::uint32_t codes,
                std::uint32_t searches, std::uint32_t* bins, std::uint64_t* weights) {
  extern __shared__ std::uint32_t counts[];
  __shared__ detail::PointTest<T> tests[kSharedCodes];
  const std::uint32_t n_bins = searches * kLocalBins;
  std::uint32_t* const low = counts + n_bins;  // the two words of a weight
  std::uint32_t* const high = low + n_bins;
  for (unsigned b = threadIdx.x; b < (Weighted ? 3 : 1) * n_bins; b += kLocalThreads) counts[b] = 0;
  share_tests(table, codes, tests);
  const std::uint64_t n = size_of(entries);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t quad = std::uint64_t{blockIdx.x} * kLocalThreads + threadIdx.x; 4 * quad < n; quad += stride) {
    OrbPoint<T, Dim> p[4];
    std::uint32_t code[4];
    load_entries(entries, 4 * quad, n, p, code);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (code[j] != kNoCode) {
        const detail::PointTest<T> test = test_of(table, tests, code[j]);
        const unsigned bin = detail::bin_of(p[j], test, table[code[j]].window);
        const unsigned b = test.s * kLocalBins + bin;
        if (bin != kLocalBins) atomicAdd(&counts[b], 1U);
        if constexpr (Weighted)
          if (bin != kLocalBins)
            add_in_two_words(&low[b], &high[b], load_weight(entries.source, p[j].id - entries.source.first));
      }
    }
  }
  __syncthreads();
  for (unsigned b = threadIdx.x; b < n_bins; b += kLocalThreads) {
    if (counts[b] == 0U) continue;
    atomicAdd(&bins[b], counts[b]);
    if constexpr (Weighted) add_weight(&weights[b], (std::uint64_t{high[b]} << 32U) | low[b]);
  }
}

/// Appends those of four positions from `first` on, or of a list, that have a bit in `inside` where the table says for
/// their codes. All lanes call. One atomic a warp and code.
template <class T, int Dim>
__device__ inline void append(const CodeRow<T, Dim>* table, const std::uint32_t (&position)[4],
                              const std::uint32_t (&code)[4], unsigned inside) {
  while (const unsigned lanes = __ballot_sync(kFull, inside != 0U)) {
    std::uint32_t first = code[3];
#pragma unroll
    for (int j = 2; j >= 0; --j) first = (inside >> j & 1U) != 0U ? code[j] : first;
    first = __shfl_sync(kFull, first, __ffs(static_cast<int>(lanes)) - 1);
    unsigned same = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) same |= (inside >> j & 1U) != 0U && code[j] == first ? 1U << j : 0U;
    inside ^= same;
    const KeptList& kept = table[first].kept;
    const auto mine = static_cast<std::uint32_t>(__popc(same));
    const std::uint32_t up_to = warp_sum_up_to(mine);
    std::uint32_t base = 0;
    if ((threadIdx.x & 31U) == 31U) base = atomicAdd(kept.count, up_to);
    std::uint32_t place = __shfl_sync(kFull, base, 31) + up_to - mine;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if ((same >> j & 1U) != 0U && place < kept.capacity) kept.positions[place] = position[j];
      place += same >> j & 1U;
    }
  }
}

/// Gives points their next codes by the sides of windows that they stand on, and lists those inside. table: of so many
/// codes. next: may be entries.codes.
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads)
    split_kernel(const Entries<T, Dim> entries, const CodeRow<T, Dim>* __restrict__ table, std::uint32_t codes,
                 PointCode* next) {
  __shared__ detail::PointTest<T> tests[kSharedCodes];
  share_tests(table, codes, tests);
  const std::uint64_t n = size_of(entries);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t block = std::uint64_t{blockIdx.x} * kLocalThreads; 4 * block < n; block += stride) {
    const std::uint64_t first = 4 * (block + threadIdx.x);
    OrbPoint<T, Dim> p[4];
    std::uint32_t code[4], position[4], to[4];
    load_entries(entries, first, n, p, code);
    unsigned inside = 0;  // a bit a point
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      position[j] = p[j].id - entries.source.first;
      to[j] = 0;
      if (code[j] != kNoCode) {
        const detail::PointTest<T> test = test_of(table, tests, code[j]);
        const int side = detail::side_of(p[j], test, table[code[j]].window);
        to[j] = test.next + (side < 0 ? 0U : 1U);
        inside |= side == 0 ? 1U << j : 0U;
      }
    }
    if (entries.positions == nullptr) {
      if (first < n) *reinterpret_cast<uint2*>(next + first) = {to[0] | to[1] << 16U, to[2] | to[3] << 16U};
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (code[j] != kNoCode) next[position[j]] = static_cast<PointCode>(to[j]);
    }
    append(table, position, code, inside);
  }
}

/// The points of a list, and their weights, unless weights is null.
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads)
    gather_kernel(const Entries<T, Dim> entries, OrbPoint<T, Dim>* points, std::uint64_t* weights) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * kLocalThreads + threadIdx.x;
  if (i >= size_of(entries)) return;
  points[i] = load(entries.source, entries.positions[i]);
  if (weights != nullptr) weights[i] = load_weight(entries.source, entries.positions[i]);
}

// ---- Members of GpuPoints -----------------------------------------------------------------------------------

/// All of this rank's points.
template <class T, int Dim>
Entries<T, Dim> GpuPoints<T, Dim>::all_entries() const {
  return {{input_, input_weights_, first_, exponent_}, cells_ > 1 ? codes_.data() : nullptr, nullptr, nullptr, n_};
}

/// What a search goes by.
template <class T, int Dim>
Entries<T, Dim> GpuPoints<T, Dim>::entries(const Search& search) const {
  Entries<T, Dim> all = all_entries();
  if (!search.listed) return all;
  const Lists& lists = lists_[search.number];
  const auto& list = lists.kept[lists.current];
  return {all.source, nullptr, list.data(), lists.counts.data() + lists.current, list.size()};
}

/// Calls f(group, entries, table) for up to `most` searches that go by codes together, and for each that has a list.
template <class T, int Dim>
template <class F>
void GpuPoints<T, Dim>::for_groups(std::span<Search* const> searches, std::size_t most,
                                   std::span<const std::uint32_t> next, F&& f) {
  for (std::size_t first = 0, size = 1; first < searches.size(); first += size) {
    const Search& search = *searches[first];
    size = 1;
    while (!search.listed && size < most && first + size < searches.size() && !searches[first + size]->listed) ++size;
    const std::span<Search* const> group = searches.subspan(first, size);
    std::vector<Row> table = detail::table_of<Row>(group, cells_, next);
    if (search.listed) table.push_back({{search, 0, search.code}, {}});
    f(group, entries(search), table);
  }
}

/// With as many blocks as the GPU runs at once. more: behind the table's size.
template <class T, int Dim>
template <class... Parameters, class... Arguments>
void GpuPoints<T, Dim>::launch(const char* name, void (*kernel)(Parameters...), std::size_t shared,
                               const Entries<T, Dim>& from, const std::vector<Row>& table, Arguments... more) {
  if (from.most == 0) return;
  code_table_.resize_discard(table.size());
  copy_to_device(code_table_.data(), table.data(), table.size(), stream_);
  allow_shared(kernel, shared);
  int resident = 0;
  cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, kLocalThreads, shared), name);
  kernel<<<grid(from.most, 4, static_cast<unsigned>(resident)), kLocalThreads, shared, stream_.get()>>>(
      from, code_table_.data(), static_cast<std::uint32_t>(table.size()), more...);
  cuda_check_launch(name);
}

template <class T, int Dim>
void GpuPoints<T, Dim>::count(std::span<Search* const> searches, bool weighted_search, std::span<std::uint64_t> sums) {
  const std::size_t size = searches.size() * kLocalBins;
  clear(counts_, size, stream_);
  if (weighted()) clear(weight_sums_, size, stream_);
  for_groups(searches, weighted() ? kWeightedGroup : kGroup, {}, [&](auto group, const auto& from, const auto& table) {
    const std::size_t at = static_cast<std::size_t>(group.data() - searches.data()) * kLocalBins;
    const std::size_t shared = group.size() * kLocalBins * (weighted() ? 3 : 1) * sizeof(std::uint32_t);
    launch("bins_kernel", weighted() ? bins_kernel<T, Dim, true> : bins_kernel<T, Dim, false>, shared, from, table,
           static_cast<std::uint32_t>(group.size()), counts_.data() + at,
           weighted() ? weight_sums_.data() + at : nullptr);
  });
  host_counts_.resize_discard(size);
  copy_to_host(host_counts_.data(), counts_.data(), size, stream_);
  host_weight_sums_.resize_discard(weighted() ? size : 0);
  if (weighted()) copy_to_host(host_weight_sums_.data(), weight_sums_.data(), size, stream_);
  stream_.synchronize();
  for (std::size_t b = 0; b < size; ++b) {
    std::uint64_t* const sum = sums.data() + b / kLocalBins * (weighted_search ? 2 : 1) * kLocalBins + b % kLocalBins;
    *sum += host_counts_[b];
    if (weighted()) sum[kLocalBins] += host_weight_sums_[b];
  }
}

/// Empty, for what becomes of the list of a search that goes by one, or the first.
template <class T, int Dim>
KeptList GpuPoints<T, Dim>::next_list(const Search& search) {
  const std::uint64_t most = std::min(entries(search).most, search.window.count);
  Lists& lists = lists_[search.number];
  lists.counts.resize_discard(2);
  lists.current = search.listed ? 1 - lists.current : 0;
  support::DeviceBuffer<std::uint32_t>& list = lists.kept[lists.current];
  list.resize_discard(most);
  std::uint32_t* const count = lists.counts.data() + lists.current;
  cuda_check(cudaMemsetAsync(count, 0, sizeof(*count), stream_.get()), "cudaMemsetAsync");
  return {list.data(), count, static_cast<std::uint32_t>(most)};
}

template <class T, int Dim>
void GpuPoints<T, Dim>::split(std::span<Search* const> searches, std::span<const std::uint32_t> next) {
  constexpr std::uint32_t kMostCells = std::uint32_t{1} << (8 * sizeof(PointCode));
  if (next.back() > kMostCells)
    throw support::RunError("orthogonal bisection over GPUs: ranks part the points into " +
                            std::to_string(next.back()) + " cells, more than " + std::to_string(kMostCells));
  lists_.resize(std::max(lists_.size(), next.size()));  // no fewer than searches
  for_groups(searches, searches.size(), next, [&](auto group, const auto& from, auto& table) {
    for (const Search* const search : group) {
      const KeptList kept = next_list(*search);
      const std::size_t row = search->listed ? 0 : search->code;
      for (std::size_t c = row; c < row + (search->listed ? 1 : search->codes); ++c) table[c].kept = kept;
    }
    launch("split_kernel", split_kernel<T, Dim>, 0, from, table, codes_.data());
    if (!group.front()->listed) cells_ = next.back();
  });
}

template <class T, int Dim>
void GpuPoints<T, Dim>::collect(std::span<const Search> searches, std::vector<detail::CutCandidate<T, Dim>>& mine) {
  for (const Search& search : searches) {
    const Entries<T, Dim> from = entries(search);
    if (search.settled || from.most == 0) continue;
    gathered_.resize_discard(from.most);
    host_points_.resize_discard(from.most);
    host_counts_.resize_discard(1);
    if (weighted()) gathered_weights_.resize_discard(from.most);
    if (weighted()) host_weights_.resize_discard(from.most);
    std::uint64_t* const weights = weighted() ? gathered_weights_.data() : nullptr;
    gather_kernel<T, Dim>
        <<<blocks_of(from.most, kLocalThreads), kLocalThreads, 0, stream_.get()>>>(from, gathered_.data(), weights);
    cuda_check_launch("gather_kernel");
    copy_to_host(host_counts_.data(), from.count, 1, stream_);
    copy_to_host(host_points_.data(), gathered_.data(), from.most, stream_);
    if (weighted()) copy_to_host(host_weights_.data(), weights, from.most, stream_);
    stream_.synchronize();
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(host_counts_[0], from.most); ++i)
      mine.push_back({host_points_[i], static_cast<std::uint32_t>(search.number), weighted() ? host_weights_[i] : 1});
  }
}

}  // namespace amrbench::partitioners::gpu
