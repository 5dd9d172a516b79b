#include <algorithm>
#include <numeric>

#include "partitioners/orb/gpu/steps.hpp"
#include "partitioners/orb/gpus/kernels.cuh"
#include "partitioners/orb/gpus/local.hpp"
#include "partitioners/orb/gpus/pack.cuh"
#include "partitioners/orb/gpus/search.cuh"

namespace amrbench::partitioners::gpu {

template <class T, int Dim>
GpuPoints<T, Dim>::GpuPoints(const support::CudaStream& stream)
    : stream_(stream), multiprocessors_(multiprocessors()) {}

/// Blocks for a loop over n things, `a_thread` of them a thread and pass; as many as the GPU runs at once, at most,
/// `resident` a multiprocessor.
template <class T, int Dim>
unsigned GpuPoints<T, Dim>::grid(std::uint64_t n, std::uint64_t a_thread, unsigned resident) const {
  const std::uint64_t wanted = n / (kLocalThreads * a_thread) + 1;
  return static_cast<unsigned>(std::min(wanted, std::uint64_t{resident} * multiprocessors_));
}

template <class T, int Dim>
Findings<T, Dim> GpuPoints<T, Dim>::examine(const T* points, const double* weights, std::uint64_t n) {
  const Findings<T, Dim> all = no_findings<T, Dim>(n);
  if (n == 0) return all;
  const unsigned blocks = grid(n, 1);
  examined_.resize_discard(blocks);
  host_examined_.resize_discard(blocks);
  examine_kernel<T, Dim><<<blocks, kLocalThreads, 0, stream_.get()>>>(points, weights, n, examined_.data());
  cuda_check_launch("examine_kernel");
  copy_to_host(host_examined_.data(), examined_.data(), blocks, stream_);
  stream_.synchronize();
  return std::accumulate(host_examined_.data(), host_examined_.data() + blocks, all, JoinFindings{});
}

template <class T, int Dim>
void GpuPoints<T, Dim>::start(const T* points, const double* weights, int exponent, std::uint64_t n,
                              std::uint32_t first) {
  input_ = points;
  input_weights_ = weights;
  exponent_ = exponent;
  n_ = n;
  first_ = first;
  cells_ = 1;
  codes_.resize_discard((n + 7) / 8 * 8);
}

template <class T, int Dim>
std::uint64_t GpuPoints<T, Dim>::total_weight() {
  if (!weighted()) return 0;
  clear(weight_sums_, 1, stream_);
  add_weights_kernel<<<grid(n_, 4), kLocalThreads, 0, stream_.get()>>>(input_weights_, n_, exponent_,
                                                                       weight_sums_.data());
  cuda_check_launch("add_weights_kernel");
  host_weight_sums_.resize_discard(1);
  copy_to_host(host_weight_sums_.data(), weight_sums_.data(), 1, stream_);
  stream_.synchronize();
  return host_weight_sums_[0];
}

/// Counts the points of each cell in each tile into table_, and scans that: all of cell 0, then those of cell 1 ...
template <class T, int Dim>
std::vector<std::uint64_t> GpuPoints<T, Dim>::count_parts(std::size_t parts) {
  parts_ = static_cast<std::uint32_t>(parts);
  std::vector<std::uint64_t> ready(parts * cells_, 0);
  shape_ = {n_, static_cast<std::uint32_t>((n_ + kPackTile<T> - 1) / kPackTile<T>), 0, cells_};
  if (n_ == 0) return ready;
  if (cells_ == 1)
    cuda_check(cudaMemsetAsync(codes_.data(), 0, codes_.size() * sizeof(PointCode), stream_.get()), "cudaMemsetAsync");
  const std::size_t places = std::size_t{cells_} * shape_.tiles;
  table_.resize_discard(places);
  for (const PackShape& some : pack_groups()) {
    pack_counts_kernel<T>
        <<<(some.tiles - 1) / kLocalWarps + 1, kLocalThreads, 0, stream_.get()>>>(codes_.data(), some, table_.data());
    cuda_check_launch("pack_counts_kernel");
  }
  sums_before(table_.data(), table_.data(), places, temporary_, stream_);
  counts_.resize_discard(ready.size());
  parts_kernel<<<blocks_of(ready.size(), 128), 128, 0, stream_.get()>>>(shape_, table_.data(), parts_, counts_.data());
  cuda_check_launch("parts_kernel");
  host_counts_.resize_discard(ready.size());
  copy_to_host(host_counts_.data(), counts_.data(), ready.size(), stream_);
  stream_.synchronize();
  std::copy_n(host_counts_.data(), ready.size(), ready.begin());
  return ready;
}

/// The cells reached, as many as a kernel packs together.
template <class T, int Dim>
std::vector<PackShape> GpuPoints<T, Dim>::pack_groups() const {
  std::vector<PackShape> groups;
  for (std::uint32_t first = 0; first < cells_; first += kPackCells)
    groups.push_back({shape_.n, shape_.tiles, first, std::min(kPackCells, cells_ - first)});
  return groups;
}

template <class T, int Dim>
void GpuPoints<T, Dim>::pack(std::span<const Columns<T, Dim>> targets, std::size_t part) {
  const std::uint32_t first = part_tile(shape_.tiles, static_cast<std::uint32_t>(part), parts_);
  const std::uint32_t end = part_tile(shape_.tiles, static_cast<std::uint32_t>(part) + 1, parts_);
  if (first == end) return;
  for (const PackShape& some : pack_groups()) {
    PackTargets<T, Dim> to{};
    std::copy_n(targets.begin() + some.first_cell, some.cells, to.cell);
    auto* const kernel = weighted() ? pack_kernel<T, Dim, true> : pack_kernel<T, Dim, false>;
    kernel<<<end - first, kLocalThreads, 0, stream_.get()>>>(all_entries().source, codes_.data(), some, first,
                                                             table_.data(), to, targets[0].ids != nullptr);
    cuda_check_launch("pack_kernel");
  }
}

void scatter_labels(const std::uint32_t* ids, const std::uint32_t* leaves, std::uint64_t n, std::uint32_t first,
                    std::uint32_t first_leaf, std::uint32_t* labels, const support::CudaStream& stream) {
  if (n == 0) return;
  scatter_labels_kernel<<<blocks_of(n, 256), 256, 0, stream.get()>>>(ids, leaves, n, first, first_leaf, labels);
  cuda_check_launch("scatter_labels_kernel");
}

void order_ids(const std::uint32_t* ids, const std::uint32_t* order, std::uint64_t n, std::uint32_t* out,
               const support::CudaStream& stream) {
  if (n == 0) return;
  order_kernel<<<blocks_of(n, 256), 256, 0, stream.get()>>>(ids, order, n, out);
  cuda_check_launch("order_kernel");
}

template class GpuPoints<float, 2>;
template class GpuPoints<float, 3>;
template class GpuPoints<double, 2>;
template class GpuPoints<double, 3>;

}  // namespace amrbench::partitioners::gpu
