#pragma once
// How GpuPoints searches cuts exactly, by sums of bins over ranks (distributed_search.hpp decides), and gives points
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

/// Codes of four points from `first` on, a multiple of 4, as far as there are n.
__device__ inline void load_codes(const PointCode* codes, std::uint64_t first, std::uint64_t n,
                                  std::uint32_t (&code)[4]) {
  if (codes != nullptr && first + 4 <= n) {
    const uint2 words = *reinterpret_cast<const uint2*>(codes + first);
    code[0] = words.x & 0xffffU;
    code[1] = words.x >> 16U;
    code[2] = words.y & 0xffffU;
    code[3] = words.y >> 16U;
    return;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) code[j] = first + j >= n ? kNoCode : codes != nullptr ? codes[first + j] : 0U;
}

/// Four points from `first` on, a multiple of 4, of the n that a kernel goes by, and their codes: 0 for those of a
/// list.
template <class T, int Dim>
__device__ inline void load_entries(const Entries<T, Dim>& entries, std::uint64_t first, std::uint64_t n,
                                    OrbPoint<T, Dim> (&p)[4], std::uint32_t (&code)[4]) {
  const DeviceSource<T, Dim>& source = entries.source;
  if (entries.positions == nullptr) {
    T x[4 * Dim] = {};
    load_quad<T, Dim>(source.points, first, n, source.aligned && first + 4 <= n, x);
    load_codes(entries.codes, first, n, code);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      p[j] = point_at<T, Dim>(x + j * Dim, source.first + static_cast<std::uint32_t>(first + j));
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

/// Of what the table says of a code, the part that most points need.
template <class T>
struct alignas(16) BinTest {
  T lower, scale;
  int axis;
  std::uint32_t bins;
};
template <class T, int Dim>
__device__ inline BinTest<T> make_test(const CodeEntry<T, Dim>& entry, BinTest<T>*) {
  return {entry.lower, entry.scale, entry.axis, entry.bins};
}
template <class T>
struct alignas(16) SideTest {
  OrderKey<T> low, high;
  int axis;  ///< -1: one key does not tell the side
  std::uint32_t next;
};
template <class T, int Dim>
__device__ inline SideTest<T> make_test(const CodeEntry<T, Dim>& entry, SideTest<T>*) {
  const detail::Window& w = entry.window;
  return {static_cast<OrderKey<T>>(w.low), static_cast<OrderKey<T>>(w.high), w.phase == 0 ? entry.axis : -1,
          entry.next};
}

/// Those of the first codes are in shared memory.
constexpr std::uint32_t kSharedCodes = 32;
template <class Test, class Entry>
__device__ inline void share_tests(const Entry* table, std::uint32_t codes, Test* tests) {
  if (threadIdx.x < min(codes, kSharedCodes)) tests[threadIdx.x] = make_test(table[threadIdx.x], tests);
  __syncthreads();
}
template <class Test, class Entry>
__device__ inline Test test_of(const Entry* table, const Test* tests, std::uint32_t code) {
  if (code < kSharedCodes) return tests[code];
  return make_test(table[code], static_cast<Test*>(nullptr));
}

/// The place of a point's bin; kNoBins: there is none.
template <class T, int Dim>
__device__ inline std::uint32_t bin_of(const OrbPoint<T, Dim>& p, std::uint32_t code, const CodeEntry<T, Dim>* table,
                                       const BinTest<T>* tests) {
  if (code == kNoCode) return kNoBins;
  const BinTest<T> test = test_of(table, tests, code);
  if (test.scale > 0) return test.bins + detail::value_bin(detail::coordinate(p, test.axis), test.lower, test.scale);
  if (test.bins == kNoBins) return kNoBins;
  const detail::Window& w = table[code].window;
  if (detail::side(p, w, test.axis) != 0) return kNoBins;
  return test.bins + static_cast<std::uint32_t>((detail::key(p, w.phase, test.axis) - w.low) >> table[code].shift);
}

/// Adds to bins, n_bins of them, the points in each of a window; where Weighted what they weigh to weights, which has
/// the same shape. table: of so many codes. Shared memory: a word a bin; where Weighted three.
template <class T, int Dim, bool Weighted>
__global__ void __launch_bounds__(kLocalThreads)
    bins_kernel(const Entries<T, Dim> entries, const CodeEntry<T, Dim>* __restrict__ table, std::uint32_t codes,
                std::uint32_t n_bins, std::uint32_t* bins, std::uint64_t* weights) {
  extern __shared__ std::uint32_t counts[];
  __shared__ BinTest<T> tests[kSharedCodes];
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
      const std::uint32_t b = bin_of(p[j], code[j], table, tests);
      if (b != kNoBins) {
        atomicAdd(&counts[b], 1U);
        if constexpr (Weighted)
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

/// Appends those of four points that have a bit in `inside` where the table says for their codes. All lanes call. One
/// atomic a warp and code.
template <class T, int Dim>
__device__ inline void append(const DeviceSource<T, Dim>& source, const CodeEntry<T, Dim>* table,
                              const OrbPoint<T, Dim> (&p)[4], const std::uint32_t (&code)[4], unsigned inside) {
  while (const unsigned lanes = __ballot_sync(kFull, inside != 0U)) {
    std::uint32_t first = code[3];
#pragma unroll
    for (int j = 2; j >= 0; --j) first = (inside >> j & 1U) != 0U ? code[j] : first;
    first = __shfl_sync(kFull, first, __ffs(static_cast<int>(lanes)) - 1);
    unsigned same = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) same |= (inside >> j & 1U) != 0U && code[j] == first ? 1U << j : 0U;
    inside ^= same;
    const Inside<T, Dim>& out = table[first].out;
    const auto mine = static_cast<std::uint32_t>(__popc(same));
    const std::uint32_t up_to = warp_sum_up_to(mine);
    std::uint32_t base = 0;
    if ((threadIdx.x & 31U) == 31U) base = atomicAdd(out.count, up_to);
    std::uint32_t place = __shfl_sync(kFull, base, 31) + up_to - mine;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if ((same >> j & 1U) != 0U && place < out.capacity) {
        const std::uint32_t position = p[j].id - source.first;
        if (out.positions != nullptr) out.positions[place] = position;
        if (out.points != nullptr) out.points[place] = p[j];
        if (out.weights != nullptr) out.weights[place] = load_weight(source, position);
      }
      place += same >> j & 1U;
    }
  }
}

/// Gives points their next codes, unless next is null, by the sides of windows that they stand on, and appends those
/// inside to lists. table: of so many codes. next: may be entries.codes.
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads)
    split_kernel(const Entries<T, Dim> entries, const CodeEntry<T, Dim>* __restrict__ table, std::uint32_t codes,
                 PointCode* next) {
  __shared__ SideTest<T> tests[kSharedCodes];
  share_tests(table, codes, tests);
  const std::uint64_t n = size_of(entries);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t block = std::uint64_t{blockIdx.x} * kLocalThreads; 4 * block < n; block += stride) {
    const std::uint64_t first = 4 * (block + threadIdx.x);
    OrbPoint<T, Dim> p[4];
    std::uint32_t code[4], to[4];
    load_entries(entries, first, n, p, code);
    unsigned inside = 0;  // a bit a point
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      to[j] = 0;
      if (code[j] != kNoCode) {
        const SideTest<T> test = test_of(table, tests, code[j]);
        int side = 0;
        if (test.axis >= 0) {
          const OrderKey<T> key = ordered_bits(detail::coordinate(p[j], test.axis));
          side = key < test.low ? -1 : key > test.high ? 1 : 0;
        } else {
          side = detail::side(p[j], table[code[j]].window, table[code[j]].axis);
        }
        to[j] = test.next + (side < 0 ? 0U : 1U);
        inside |= side == 0 ? 1U << j : 0U;
      }
    }
    if (next != nullptr && entries.positions == nullptr && first + 4 <= n) {
      *reinterpret_cast<uint2*>(next + first) = make_uint2(to[0] | to[1] << 16U, to[2] | to[3] << 16U);
    } else if (next != nullptr) {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (code[j] != kNoCode) next[p[j].id - entries.source.first] = static_cast<PointCode>(to[j]);
    }
    append(entries.source, table, p, code, inside);
  }
}

/// Lets a kernel have so much shared memory. Blocks of it that a multiprocessor runs at once.
template <class... Arguments>
unsigned resident_blocks(void (*kernel)(Arguments...), std::size_t shared) {
  allow_shared(kernel, shared);
  int blocks = 0;
  cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kLocalThreads, shared),
             "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return static_cast<unsigned>(blocks);
}

// ---- Members of GpuPoints -----------------------------------------------------------------------------------

/// All of this rank's points.
template <class T, int Dim>
Entries<T, Dim> GpuPoints<T, Dim>::all_entries() const {
  const bool aligned = reinterpret_cast<std::uintptr_t>(input_) % 16 == 0;
  return {
      {input_, input_weights_, first_, exponent_, aligned}, parted_ ? codes_.data() : nullptr, nullptr, nullptr, n_};
}

/// What kernels do for these searches: up to `most` of those that go by codes together, the others alone. out(s, n): of
/// search s, which goes by n points.
template <class T, int Dim>
template <class Out>
auto GpuPoints<T, Dim>::batches(std::span<const Search* const> searches, std::size_t most, Out&& out) const
    -> std::vector<Batch> {
  std::vector<Batch> made;
  const auto add = [&](std::size_t s, std::uint32_t code, std::uint32_t codes) {
    const Search& search = *searches[s];
    const detail::Window& w = search.window;
    Batch& batch = made.back();
    const CodeEntry<T, Dim> entry{search.axis,
                                  detail::shift_of(w, detail::kBinBits),
                                  search.code,
                                  static_cast<std::uint32_t>(batch.which.size()) * kLocalBins,
                                  search.lower,
                                  search.scale,
                                  w,
                                  out(s, batch.entries.most)};
    std::fill_n(batch.table.begin() + code, codes, entry);
    batch.which.push_back(s);
  };
  for (std::size_t s = 0; s < searches.size(); ++s) {
    if (searches[s]->listed) continue;
    if (made.empty() || made.back().which.size() == most)
      made.push_back({all_entries(), std::vector<CodeEntry<T, Dim>>(cells_), {}});
    add(s, searches[s]->code, searches[s]->codes);
  }
  for (std::size_t s = 0; s < searches.size(); ++s) {
    if (!searches[s]->listed) continue;
    const Lists& lists = lists_[searches[s]->number];
    const auto& list = lists.kept[lists.current];
    made.push_back({all_entries(), std::vector<CodeEntry<T, Dim>>(1), {}});
    Entries<T, Dim>& entries = made.back().entries;
    entries.positions = list.data();
    entries.count = lists.counts.data() + lists.current;
    entries.most = list.size();
    add(s, 0, 1);
  }
  return made;
}

template <class T, int Dim>
void GpuPoints<T, Dim>::upload(const Batch& batch) {
  code_table_.resize_discard(batch.table.size());
  copy_to_device(code_table_.data(), batch.table.data(), batch.table.size(), stream_);
}

template <class T, int Dim>
void GpuPoints<T, Dim>::count(std::span<Search* const> searches, bool weighted_search, std::span<std::uint64_t> sums) {
  const std::vector<Batch> made =
      batches(searches, weighted() ? kWeightedGroup : kGroup, [](auto...) { return Inside<T, Dim>{}; });
  const std::size_t size = searches.size() * kLocalBins;
  clear(counts_, size, stream_);
  if (weighted()) clear(weight_sums_, size, stream_);
  std::size_t at = 0;
  for (const Batch& batch : made) {
    const std::size_t bins = batch.which.size() * kLocalBins;
    if (batch.entries.most > 0) {
      upload(batch);
      auto* const kernel = weighted() ? bins_kernel<T, Dim, true> : bins_kernel<T, Dim, false>;
      const std::size_t shared = bins * (weighted() ? 3 : 1) * sizeof(std::uint32_t);
      kernel<<<grid(batch.entries.most, 4, resident_blocks(kernel, shared)), kLocalThreads, shared, stream_.get()>>>(
          batch.entries, code_table_.data(), static_cast<std::uint32_t>(batch.table.size()),
          static_cast<std::uint32_t>(bins), counts_.data() + at, weighted() ? weight_sums_.data() + at : nullptr);
      cuda_check_launch("bins_kernel");
    }
    at += bins;
  }
  host_counts_.resize_discard(size);
  copy_to_host(host_counts_.data(), counts_.data(), size, stream_);
  host_weight_sums_.resize_discard(weighted() ? size : 0);
  if (weighted()) copy_to_host(host_weight_sums_.data(), weight_sums_.data(), size, stream_);
  stream_.synchronize();
  at = 0;
  for (const Batch& batch : made)
    for (const std::size_t s : batch.which) {
      std::uint64_t* const of_search = sums.data() + s * (weighted_search ? 2 * kLocalBins : kLocalBins);
      for (std::size_t bin = 0; bin < kLocalBins; ++bin, ++at) {
        of_search[bin] += host_counts_[at];
        if (weighted()) of_search[kLocalBins + bin] += host_weight_sums_[at];
      }
    }
}

/// codes: what points get; may be null.
template <class T, int Dim>
void GpuPoints<T, Dim>::launch_split(const Batch& batch, PointCode* codes) {
  if (batch.entries.most == 0) return;
  upload(batch);
  auto* const kernel = split_kernel<T, Dim>;
  kernel<<<grid(batch.entries.most, 4, resident_blocks(kernel, 0)), kLocalThreads, 0, stream_.get()>>>(
      batch.entries, code_table_.data(), static_cast<std::uint32_t>(batch.table.size()), codes);
  cuda_check_launch("split_kernel");
}

template <class T, int Dim>
void GpuPoints<T, Dim>::split(std::span<Search* const> searches, std::span<const std::uint32_t> next) {
  constexpr std::uint32_t kMostCells = std::uint32_t{1} << (8 * sizeof(PointCode));
  if (next.back() > kMostCells)
    throw support::RunError("orthogonal bisection over GPUs: ranks part the points into " +
                            std::to_string(next.back()) + " cells, more than " + std::to_string(kMostCells));
  lists_.resize(std::max(lists_.size(), searches.back()->number + 1));
  std::vector<Batch> made = batches(searches, searches.size(), [&](std::size_t s, std::uint64_t n) {
    const Search& search = *searches[s];
    Lists& lists = lists_[search.number];
    lists.counts.resize_discard(2);
    lists.current = search.listed ? 1 - lists.current : 0;
    support::DeviceBuffer<std::uint32_t>& list = lists.kept[lists.current];
    list.resize_discard(std::min(n, search.window.count));
    std::uint32_t* const count = lists.counts.data() + lists.current;
    cuda_check(cudaMemsetAsync(count, 0, sizeof(*count), stream_.get()), "cudaMemsetAsync");
    return Inside<T, Dim>{list.data(), nullptr, nullptr, count, static_cast<std::uint32_t>(list.size())};
  });
  for (Batch& batch : made) {
    const bool by_codes = batch.entries.positions == nullptr;
    for (std::uint32_t c = 0; by_codes && c < cells_; ++c) {
      CodeEntry<T, Dim>& entry = batch.table[c];
      entry.next = next[entry.bins == kNoBins ? c : entry.next];
    }
    launch_split(batch, codes_.data());
    if (by_codes) cells_ = next.back();
    parted_ = true;
  }
}

template <class T, int Dim>
void GpuPoints<T, Dim>::collect(std::span<const Search> searches, std::vector<detail::CutCandidate<T, Dim>>& mine) {
  std::vector<const Search*> open;
  for (const Search& search : searches)
    if (!search.settled) open.push_back(&search);
  std::vector<std::uint64_t> begin(open.size()), room(open.size());
  std::uint64_t total = 0;
  std::vector<Batch> made = batches(open, open.size(), [&](std::size_t s, std::uint64_t n) {
    begin[s] = total;
    room[s] = std::min(n, open[s]->window.count);
    total += room[s];
    return Inside<T, Dim>{};
  });
  if (total == 0) return;
  reserve_gathered(total);
  clear(counts_, open.size(), stream_);
  for (Batch& batch : made) {
    for (CodeEntry<T, Dim>& entry : batch.table) {
      if (entry.bins == kNoBins) continue;
      const std::size_t s = batch.which[entry.bins / kLocalBins];
      entry.out = {nullptr, gathered_.data() + begin[s], weighted() ? gathered_weights_.data() + begin[s] : nullptr,
                   counts_.data() + s, static_cast<std::uint32_t>(room[s])};
    }
    launch_split(batch, nullptr);
  }
  host_counts_.resize_discard(open.size());
  copy_to_host(host_counts_.data(), counts_.data(), open.size(), stream_);
  fetch_gathered(total);
  for (std::size_t s = 0; s < open.size(); ++s)
    for (std::uint64_t i = begin[s]; i < begin[s] + std::min<std::uint64_t>(host_counts_[s], room[s]); ++i)
      mine.push_back({host_points_[i], static_cast<std::uint32_t>(open[s]->number), host_weight(i)});
}

}  // namespace amrbench::partitioners::gpu
