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

/// Adds to bins[cell of the group][kLocalBins] the points in each 2^shift keys of its window; where Weighted what they
/// weigh to weights, which has the same shape. Shared memory: a word a bin; where Weighted three.
template <class T, int Dim, bool Weighted>
__global__ void __launch_bounds__(kLocalThreads)
    bins_kernel(const Entries<T, Dim> entries, const SearchGroup group, std::uint32_t* bins, std::uint64_t* weights) {
  extern __shared__ std::uint32_t counts[];
  const unsigned n_bins = static_cast<unsigned>(group.size) * kLocalBins;
  std::uint32_t* const low = counts + n_bins;  // the two words of a weight
  std::uint32_t* const high = low + n_bins;
  for (unsigned b = threadIdx.x; b < (Weighted ? 3 : 1) * n_bins; b += kLocalThreads) counts[b] = 0;
  __syncthreads();
  const std::uint64_t n = size_of(entries);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t quad = std::uint64_t{blockIdx.x} * kLocalThreads + threadIdx.x; 4 * quad < n; quad += stride) {
    OrbPoint<T, Dim> p[4];
    std::uint32_t code[4];
    load_entries(entries, 4 * quad, n, p, code);
    for (int k = 0; k < group.size; ++k) {
      const SearchGroup::Cell& cell = group.cells[k];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (code[j] != cell.code || !detail::in_window(p[j], cell.window, cell.axis)) continue;
        const std::uint64_t bin = (detail::key(p[j], cell.window.phase, cell.axis) - cell.window.low) >> cell.shift;
        const unsigned b = static_cast<unsigned>(k) * kLocalBins + static_cast<unsigned>(bin);
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

/// Appends the points inside each cell's window to its lists. One atomic a warp, cell, and 128 points.
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads)
    inside_kernel(const Entries<T, Dim> entries, const SearchGroup group, const InsideGroup<T, Dim> lists) {
  const std::uint64_t n = size_of(entries);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t block = std::uint64_t{blockIdx.x} * kLocalThreads; 4 * block < n; block += stride) {
    OrbPoint<T, Dim> p[4];
    std::uint32_t code[4];
    load_entries(entries, 4 * (block + threadIdx.x), n, p, code);
    for (int k = 0; k < group.size; ++k) {
      const SearchGroup::Cell& cell = group.cells[k];
      unsigned inside = 0;  // a bit a point
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (code[j] == cell.code && detail::in_window(p[j], cell.window, cell.axis)) inside |= 1U << j;
      if (__any_sync(kFull, inside != 0U) == 0) continue;
      const Inside<T, Dim>& out = lists.cells[k];
      const auto mine = static_cast<std::uint32_t>(__popc(inside));
      const std::uint32_t up_to = warp_sum_up_to(mine);
      std::uint32_t base = 0;
      if ((threadIdx.x & 31U) == 31U) base = atomicAdd(out.count, up_to);
      std::uint32_t place = __shfl_sync(kFull, base, 31) + up_to - mine;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if ((inside >> j & 1U) == 0U) continue;
        const std::uint32_t position = p[j].id - entries.source.first;
        if (place < out.capacity) {
          if (out.positions != nullptr) out.positions[place] = position;
          if (out.points != nullptr) out.points[place] = p[j];
          if (out.weights != nullptr) out.weights[place] = load_weight(entries.source, position);
        }
        ++place;
      }
    }
  }
}

/// orb_before(), without an index that registers do not have.
template <class T, int Dim>
__device__ inline bool stands_before(const OrbPoint<T, Dim>& p, const OrbPoint<T, Dim>& q, int axis) {
  const std::uint64_t mine = detail::key(p, 0, axis), other = detail::key(q, 0, axis);
  if (mine != other) return mine < other;
#pragma unroll
  for (int a = 0; a < Dim; ++a)
    if (p.x[a] != q.x[a]) return p.x[a] < q.x[a];
  return p.id < q.id;
}

/// Gives all points their next codes, parts[code] being what becomes of a cell. next: may be entries.codes.
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads)
    part_kernel(const Entries<T, Dim> entries, const detail::CellPart<T, Dim>* __restrict__ parts, PointCode* next) {
  const std::uint64_t n = entries.most;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t quad = std::uint64_t{blockIdx.x} * kLocalThreads + threadIdx.x; 4 * quad < n; quad += stride) {
    const std::uint64_t first = 4 * quad;
    OrbPoint<T, Dim> p[4];
    std::uint32_t code[4];
    load_entries(entries, first, n, p, code);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (code[j] == kNoCode) continue;
      const detail::CellPart<T, Dim>& part = parts[code[j]];
      const bool right = part.cut != 0 && !stands_before(p[j], part.pivot, part.axis);
      code[j] = part.code + (right ? 1U : 0U);
    }
    if (first + 4 <= n) {
      *reinterpret_cast<uint2*>(next + first) = make_uint2(code[0] | code[1] << 16U, code[2] | code[3] << 16U);
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (first + j < n) next[first + j] = static_cast<PointCode>(code[j]);
    }
  }
}

// ---- Members of GpuPoints -----------------------------------------------------------------------------------

/// All of this rank's points.
template <class T, int Dim>
Entries<T, Dim> GpuPoints<T, Dim>::all_entries() const {
  const bool aligned = reinterpret_cast<std::uintptr_t>(input_) % 16 == 0;
  return {
      {input_, input_weights_, first_, exponent_, aligned}, parted_ ? codes_.data() : nullptr, nullptr, nullptr, n_};
}

/// What kernels do for these searches: up to `most` of those that go by codes together, the others alone.
template <class T, int Dim>
auto GpuPoints<T, Dim>::batches(std::span<const Search* const> searches, int most) const -> std::vector<Batch> {
  std::vector<Batch> made;
  const auto add = [&](std::size_t s, std::uint32_t code) {
    const Search& search = *searches[s];
    SearchGroup& group = made.back().group;
    made.back().which[group.size] = s;
    const detail::Window& window = search.window;
    group.cells[group.size++] = {code, search.axis, detail::shift_of(window, detail::kBinBits), window};
  };
  for (std::size_t s = 0; s < searches.size(); ++s) {
    if (searches[s]->listed) continue;
    if (made.empty() || made.back().group.size == most) made.push_back({all_entries(), {}, {}});
    add(s, searches[s]->code);
  }
  for (std::size_t s = 0; s < searches.size(); ++s) {
    if (!searches[s]->listed) continue;
    const Lists& lists = lists_[searches[s]->number];
    const auto& list = lists.kept[lists.current];
    made.push_back({all_entries(), {}, {}});
    Entries<T, Dim>& entries = made.back().entries;
    entries.positions = list.data();
    entries.count = lists.counts.data() + lists.current;
    entries.most = list.size();
    add(s, 0);
  }
  return made;
}

template <class T, int Dim>
void GpuPoints<T, Dim>::count(std::span<Search* const> searches, bool weighted_search, std::span<std::uint64_t> sums) {
  const std::vector<Batch> made = batches(searches, weighted() ? kWeightedGroup : kGroup);
  const std::size_t size = searches.size() * kLocalBins;
  clear(counts_, size, stream_);
  if (weighted()) clear(weight_sums_, size, stream_);
  std::size_t at = 0;
  for (const Batch& batch : made) {
    const std::size_t bins = static_cast<std::size_t>(batch.group.size) * kLocalBins;
    if (batch.entries.most > 0) {
      auto* const kernel = weighted() ? bins_kernel<T, Dim, true> : bins_kernel<T, Dim, false>;
      const std::size_t shared = bins * (weighted() ? 3 : 1) * sizeof(std::uint32_t);
      kernel<<<grid(batch.entries.most, 4), kLocalThreads, shared, stream_.get()>>>(
          batch.entries, batch.group, counts_.data() + at, weighted() ? weight_sums_.data() + at : nullptr);
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
    for (int k = 0; k < batch.group.size; ++k) {
      std::uint64_t* const of_search = sums.data() + batch.which[k] * (weighted_search ? 2 * kLocalBins : kLocalBins);
      for (std::size_t bin = 0; bin < kLocalBins; ++bin, ++at) {
        of_search[bin] += host_counts_[at];
        if (weighted()) of_search[kLocalBins + bin] += host_weight_sums_[at];
      }
    }
}

/// Appends what a batch goes by and is inside its windows, to lists whose counts are set to 0 before.
template <class T, int Dim>
void GpuPoints<T, Dim>::find_inside(const Batch& batch, const InsideGroup<T, Dim>& lists) {
  for (int k = 0; k < batch.group.size; ++k)
    cuda_check(cudaMemsetAsync(lists.cells[k].count, 0, sizeof(std::uint32_t), stream_.get()), "cudaMemsetAsync");
  if (batch.entries.most == 0) return;
  inside_kernel<T, Dim>
      <<<grid(batch.entries.most, 4), kLocalThreads, 0, stream_.get()>>>(batch.entries, batch.group, lists);
  cuda_check_launch("inside_kernel");
}

template <class T, int Dim>
void GpuPoints<T, Dim>::keep(std::span<Search* const> searches) {
  for (const Batch& batch : batches(searches, kGroup)) {
    InsideGroup<T, Dim> out{};
    for (int k = 0; k < batch.group.size; ++k) {
      const Search& search = *searches[batch.which[k]];
      if (lists_.size() <= search.number) lists_.resize(search.number + 1);
      Lists& lists = lists_[search.number];
      lists.counts.resize_discard(2);
      lists.current = search.listed ? 1 - lists.current : 0;
      support::DeviceBuffer<std::uint32_t>& list = lists.kept[lists.current];
      list.resize_discard(std::min(batch.entries.most, search.window.count));
      out.cells[k].positions = list.data();
      out.cells[k].count = lists.counts.data() + lists.current;
      out.cells[k].capacity = static_cast<std::uint32_t>(list.size());
    }
    find_inside(batch, out);
  }
}

template <class T, int Dim>
void GpuPoints<T, Dim>::collect(std::span<const Search> searches, std::vector<detail::CutCandidate<T, Dim>>& mine) {
  std::vector<const Search*> open;
  for (const Search& search : searches)
    if (!search.settled) open.push_back(&search);
  const std::vector<Batch> made = batches(open, kGroup);
  std::vector<std::uint64_t> begin(open.size()), room(open.size());
  std::uint64_t total = 0;
  for (const Batch& batch : made)
    for (int k = 0; k < batch.group.size; ++k) {
      const std::size_t s = batch.which[k];
      begin[s] = total;
      room[s] = std::min(batch.entries.most, open[s]->window.count);
      total += room[s];
    }
  if (total == 0) return;
  reserve_gathered(total);
  counts_.resize_discard(open.size());
  for (const Batch& batch : made) {
    InsideGroup<T, Dim> out{};
    for (int k = 0; k < batch.group.size; ++k) {
      const std::size_t s = batch.which[k];
      out.cells[k] = {nullptr, gathered_.data() + begin[s], weighted() ? gathered_weights_.data() + begin[s] : nullptr,
                      counts_.data() + s, static_cast<std::uint32_t>(room[s])};
    }
    find_inside(batch, out);
  }
  host_counts_.resize_discard(open.size());
  copy_to_host(host_counts_.data(), counts_.data(), open.size(), stream_);
  fetch_gathered(total);
  for (std::size_t s = 0; s < open.size(); ++s)
    for (std::uint64_t i = begin[s]; i < begin[s] + std::min<std::uint64_t>(host_counts_[s], room[s]); ++i)
      mine.push_back({host_points_[i], static_cast<std::uint32_t>(open[s]->number), host_weight(i)});
}

template <class T, int Dim>
void GpuPoints<T, Dim>::part(std::span<const detail::CellPart<T, Dim>> parts) {
  cells_ = parts.back().code + static_cast<std::uint32_t>(parts.back().cut) + 1;
  constexpr std::uint32_t kMostCells = std::uint32_t{1} << (8 * sizeof(PointCode));
  if (cells_ > kMostCells)
    throw support::RunError("orthogonal bisection over GPUs: ranks part the points into " + std::to_string(cells_) +
                            " cells, more than " + std::to_string(kMostCells));
  if (n_ > 0) {
    cell_parts_.resize_discard(parts.size());
    copy_to_device(cell_parts_.data(), parts.data(), parts.size(), stream_);
    part_kernel<T, Dim>
        <<<grid(n_, 4), kLocalThreads, 0, stream_.get()>>>(all_entries(), cell_parts_.data(), codes_.data());
    cuda_check_launch("part_kernel");
  }
  parted_ = true;
}

}  // namespace amrbench::partitioners::gpu
