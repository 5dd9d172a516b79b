#include <algorithm>
#include <numeric>

#include "partitioners/orb/gpu/steps.hpp"
#include "partitioners/orb/gpus/kernels.cuh"
#include "partitioners/orb/gpus/local.hpp"
#include "partitioners/orb/gpus/pack.cuh"
#include "partitioners/orb/gpus/search.cuh"

namespace amrbench::partitioners::gpu {

template <class T, int Dim>
GpuPoints<T, Dim>::GpuPoints(const support::CudaStream& stream, Stopwatch& watch, OrbGpusTimes& times)
    : stream_(stream), watch_(watch), times_(times), multiprocessors_(multiprocessors()) {}

/// Blocks for a loop over n things, `a_thread` of them a thread and pass; as many as the GPU runs at once, at most.
template <class T, int Dim>
unsigned GpuPoints<T, Dim>::grid(std::uint64_t n, std::uint64_t a_thread) const {
  const std::uint64_t wanted = n / (kLocalThreads * a_thread) + 1;
  return static_cast<unsigned>(std::min(wanted, std::uint64_t{8} * multiprocessors_));
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
  moved_ = false;
  pending_.clear();
  codes_.resize_discard((n + 15) / 16 * 16);
}

template <class T, int Dim>
DeviceSource<T, Dim> GpuPoints<T, Dim>::source() const {
  if (moved_) return {items().points, items().ids, items().weights, 0, exponent_};
  return {input_, nullptr, input_weights_, first_, exponent_};
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

template <class T, int Dim>
void GpuPoints<T, Dim>::take_all() {
  cuda_check(cudaMemsetAsync(codes_.data(), 0, codes_.size(), stream_.get()), "cudaMemsetAsync");
  detail::CellSlots all;
  all.ranges.push_back({1, 0, n_});
  pending_.push_back(all);
}

template <class T, int Dim>
void GpuPoints<T, Dim>::start_round(std::span<const std::unique_ptr<Cell>> cells) {
  if (!pending_.empty()) {  // a round after the first: its points must stand by cell
    reserve_items(true, n_);
    pack_cell(pending_[0], items());
    pending_.clear();
    watch_.mark(&times_.pack_s);
    moved_ = true;
  }
  cells_ = cells;
  stopped_.assign(cells.size(), std::vector<std::uint64_t>(kWalkNodes, 0));
}

template <class T, int Dim>
void GpuPoints<T, Dim>::sample(std::span<const detail::SampleStretch> stretches,
                               std::vector<detail::SampledPoint<T, Dim>>& mine) {
  std::uint64_t total = 0;
  for (const detail::SampleStretch& stretch : stretches) total += stretch.size;
  if (total == 0) return;
  reserve_gathered(total);
  std::uint64_t at = 0;
  for (const detail::SampleStretch& stretch : stretches) {
    if (stretch.size == 0) continue;
    stretch_kernel<T, Dim><<<blocks_of(stretch.size, 128), 128, 0, stream_.get()>>>(
        source(), stretch, gathered_.data() + at, weighted() ? gathered_weights_.data() + at : nullptr);
    cuda_check_launch("stretch_kernel");
    at += stretch.size;
  }
  fetch_gathered(total);
  at = 0;
  for (const detail::SampleStretch& stretch : stretches)
    for (std::uint64_t i = 0; i < stretch.size; ++i, ++at)
      mine.push_back({host_points_[at], stretch.cell, host_weight(at)});
}

/// Room for so many points on their way to the host.
template <class T, int Dim>
void GpuPoints<T, Dim>::reserve_gathered(std::uint64_t n) {
  gathered_.resize_discard(n);
  host_points_.resize_discard(n);
  gathered_weights_.resize_discard(weighted() ? n : 0);
  host_weights_.resize_discard(weighted() ? n : 0);
}

/// Brings them there. Waits for all in the stream.
template <class T, int Dim>
void GpuPoints<T, Dim>::fetch_gathered(std::uint64_t n) {
  copy_to_host(host_points_.data(), gathered_.data(), n, stream_);
  if (weighted()) copy_to_host(host_weights_.data(), gathered_weights_.data(), n, stream_);
  stream_.synchronize();
}

template <class T, int Dim>
void GpuPoints<T, Dim>::classify() {
  watch_.mark(&times_.sample_s);
  clear_counts(cells_.size());
  const auto at_16 = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; };
  const DeviceSource<T, Dim> from = source();
  const bool aligned = at_16(from.points) && at_16(from.weights);
  auto* const kernel = weighted() ? aligned ? walk_kernel<T, Dim, true, true> : walk_kernel<T, Dim, false, true>
                       : aligned ? walk_kernel<T, Dim, true, false>
                                  : walk_kernel<T, Dim, false, false>;
  for (std::size_t k = 0; k < cells_.size(); ++k) {
    const detail::CellRange& range = cells_[k]->range;
    if (range.begin == range.end) continue;
    kernel<<<grid(range.end - range.begin, 4), kLocalThreads, 0, stream_.get()>>>(
        from.points, range.begin, range.end, walk_tables(*cells_[k]), codes_.data(), counts_.data() + k * kCodes,
        {from.weights, from.exponent, weights_of(k)});
    cuda_check_launch("walk_kernel");
  }
  fetch_counts(cells_.size());
  for (std::size_t k = 0; k < cells_.size(); ++k) pass(k, 0, k);
  watch_.mark(&times_.walk_s);
}

/// So many lists of counts_ and, where there are weights, of weight_sums_.
template <class T, int Dim>
void GpuPoints<T, Dim>::clear_counts(std::size_t lists) {
  clear(counts_, lists * kCodes, stream_);
  if (weighted()) clear(weight_sums_, lists * kCodes, stream_);
}

/// Brings them to the host. Waits.
template <class T, int Dim>
void GpuPoints<T, Dim>::fetch_counts(std::size_t lists) {
  host_counts_.resize_discard(lists * kCodes);
  copy_to_host(host_counts_.data(), counts_.data(), lists * kCodes, stream_);
  if (weighted()) {
    host_weight_sums_.resize_discard(lists * kCodes);
    copy_to_host(host_weight_sums_.data(), weight_sums_.data(), lists * kCodes, stream_);
  }
  stream_.synchronize();
}

/// Enters a list of counts of codes: points below node `top` of a round's cell.
template <class T, int Dim>
void GpuPoints<T, Dim>::pass(std::size_t round_cell, std::size_t top, std::size_t list) {
  Cell& cell = *cells_[round_cell];
  for (std::size_t code = 0; code < kCodes; ++code) {
    const std::uint32_t count = host_counts_[list * kCodes + code];
    if (count == 0) continue;
    const std::uint64_t weight = weighted() ? host_weight_sums_[list * kCodes + code] : 0;
    cell.pass(cell.node_of(static_cast<std::uint8_t>(code)), top, count, weight);
    if (code >= kStopped) stopped_[round_cell][code - kStopped] += count;
  }
}

template <class T, int Dim>
void GpuPoints<T, Dim>::group(std::span<const detail::CellSlots> slots) {
  watch_.mark(&times_.resolve_s);
  if (!moved_) {
    pending_.assign(slots.begin(), slots.end());
    return;
  }
  spare_.resize_discard(n_, true, weighted());
  for (const detail::CellSlots& cell : slots) {
    pack_cell(cell, spare_.get());
    const std::uint64_t begin = cell.ranges.front().begin;
    copy_columns(items_.from(begin), spare_.from(begin), cell.ranges.back().end - begin, stream_);
  }
  watch_.mark(&times_.pack_s);
}

template <class T, int Dim>
void GpuPoints<T, Dim>::reserve_items(bool ids, std::uint64_t n) {
  if (!moved_) items_.resize_discard(n, ids, weighted());
}

template <class T, int Dim>
std::vector<std::uint64_t> GpuPoints<T, Dim>::count_parts(std::size_t parts) {
  parts_ = parts;
  packing_ = count_slots(pending_[0]);
  std::vector<std::uint64_t> ready(parts * packing_.slots, 0);
  if (packing_.count == 0) return ready;
  counts_.resize_discard(ready.size());
  parts_kernel<<<blocks_of(ready.size(), 128), 128, 0, stream_.get()>>>(
      packing_, table_.data(), static_cast<std::uint32_t>(parts), counts_.data());
  cuda_check_launch("parts_kernel");
  host_counts_.resize_discard(ready.size());
  copy_to_host(host_counts_.data(), counts_.data(), ready.size(), stream_);
  stream_.synchronize();
  std::copy_n(host_counts_.data(), ready.size(), ready.begin());
  return ready;
}

template <class T, int Dim>
void GpuPoints<T, Dim>::pack(std::span<const Columns<T, Dim>> targets, std::size_t part) {
  const auto tile = [&](std::size_t p) {
    return part_tile(packing_.tiles, static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(parts_));
  };
  pack_tiles(packing_, tile(part), tile(part + 1), targets);
}

/// Counts the points of each slot in each tile into table_, scanned: all of slot 0, then those of slot 1 ...
template <class T, int Dim>
PackCell GpuPoints<T, Dim>::count_slots(const detail::CellSlots& slots) {
  PackCell cell;
  cell.begin = slots.ranges.front().begin;
  cell.count = slots.ranges.back().end - cell.begin;
  cell.slots = static_cast<std::uint32_t>(slots.ranges.size());
  if (cell.count == 0) return cell;
  cell.tiles = static_cast<std::uint32_t>((cell.count - 1) / kPackTile<T> + 1);
  std::copy(slots.slot_of.begin(), slots.slot_of.end(), cell.slot_of);
  const std::size_t places = std::size_t{cell.slots} * cell.tiles;
  table_.resize_discard(places);
  pack_counts_kernel<T>
      <<<(cell.tiles - 1) / kLocalWarps + 1, kLocalThreads, 0, stream_.get()>>>(codes_.data(), cell, table_.data());
  cuda_check_launch("pack_counts_kernel");
  sums_before(table_.data(), table_.data(), places, temporary_, stream_);
  return cell;
}

/// Tiles first .. last - 1 of a cell whose slots are counted.
template <class T, int Dim>
void GpuPoints<T, Dim>::pack_tiles(PackCell cell, std::uint32_t first, std::uint32_t last,
                                   std::span<const Columns<T, Dim>> targets) {
  if (first == last) return;
  cell.first_tile = first;
  PackTargets<T, Dim> to{};
  std::copy(targets.begin(), targets.end(), to.slot);
  auto* const kernel = weighted() ? pack_kernel<T, Dim, true> : pack_kernel<T, Dim, false>;
  kernel<<<last - first, kLocalThreads, 0, stream_.get()>>>(source(), codes_.data(), cell, table_.data(), to,
                                                            targets[0].ids != nullptr);
  cuda_check_launch("pack_kernel");
}

/// A cell's points to the ranges of the cells reached, of columns for all of this rank's points.
template <class T, int Dim>
void GpuPoints<T, Dim>::pack_cell(const detail::CellSlots& slots, const Columns<T, Dim>& to) {
  std::vector<Columns<T, Dim>> targets;
  for (const detail::CellRange& range : slots.ranges) targets.push_back(to.from(range.begin));
  const PackCell cell = count_slots(slots);
  pack_tiles(cell, 0, cell.tiles, targets);
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
