#pragma once
// The first round where points lie in few places, and these on few coordinates: exact cuts from how many points each
// place has, or from their weights, without a sample or brackets. Internal to FirstRound.
//
// In:  points, and weights where there are any; the sample along each axis that quantiles.cuh sorts.
// Out: cuts, and codes of all points.
//
// On a lattice cuts lie between planes of places, where noise decides on which side of one, and so the axis of cells
// below. A sample cannot tell, and all points would be guessed and walked again, level by level. So:
//
// 1. the distinct coordinates of the sample are numbered along each axis. A site is a place, by the numbers of its
//    coordinates: any that these make, or, where they make too many, one of the sample's. One pass counts the points of
//    each site and writes each point's. A point on no site, or without weight, ends the matter: then fractions serve.
//    With weights the points' numbers are sorted by sites, and weights are summed in that order;
// 2. level by level each node is cut, a thread block a node: of its pieces, by sums over the first coordinate that
//    rule 1 compares, then over the next among those that have it, and at last within one site by number. A piece is
//    that part of a site's points that a node has; by numbers they are consecutive;
// 3. where a site was divided, the number of each piece's first point is searched for: in the counts of stretches of
//    the points, then in the stretch; with weights it is there;
// 4. each point's code is that of its piece.
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/permutation_iterator.h>

#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "partitioners/orb/gpu/first_round/brackets.cuh"
#include "partitioners/orb/gpu/first_round/site_counts.cuh"
#include "partitioners/orb/gpu/first_round/site_cuts.cuh"
#include "partitioners/orb/gpu/steps.hpp"

namespace amrbench::partitioners::gpu {

template <class T, int Dim>
class Sites {
 public:
  Sites(int levels, const support::CudaStream& stream) : levels_(levels), stream_(stream) {}

  /// Cuts all levels below the root; nodes has the root alone. False: these points lie in too many places, or memory is
  /// short, and nodes is as it was. units: weights, or null. sorted: the sample along each axis. room: for counts.
  /// codes: of n points, padded to 8.
  bool cut(const T* points, const std::uint64_t* units, std::uint64_t n, double side_tolerance,
           const OrbPoint<T, Dim>* sorted, support::DeviceBuffer<T>& room, std::uint16_t* codes, Node<T, Dim>* nodes) {
    if (!number_coordinates(sorted)) return false;
    const std::uint32_t sites = axes_.sites;
    const std::uint64_t most = std::min<std::uint64_t>(kMostStretches, room.size() * sizeof(T) / (sites * 4ULL));
    const std::uint64_t tiles = (n - 1) / kSiteTile + 1, each = (tiles - 1) / std::max<std::uint64_t>(most, 1) + 1;
    const SiteCounts counts{reinterpret_cast<std::uint32_t*>(room.data()), sites, each * kSiteTile,
                            static_cast<std::uint32_t>((tiles - 1) / each + 1)};
    if (most == 0 || (units != nullptr && !has_room(n)) || !count(points, units, n, counts, codes)) return false;
    const SiteOrder order = units != nullptr ? order_points(units, n, sites, codes) : SiteOrder{};
    cut_levels(side_tolerance, order, nodes);
    write_codes(counts, order, n, codes);
    return true;
  }

 private:
  static constexpr std::size_t kMostPieces = kMostSites + kFirstInner;

  bool number_coordinates(const OrbPoint<T, Dim>* sorted) {
    keys_.resize_discard(std::size_t{Dim} * kMostAlong);
    found_.resize_discard(Dim);
    distinct_kernel<T, Dim><<<Dim, kSiteThreads, 0, stream_.get()>>>(sorted, keys_.data(), found_.data());
    cuda_check_launch("distinct_kernel");
    axes_.keys = keys_.data();
    copy_to_host(axes_.counts, found_.data(), Dim, stream_);
    stream_.synchronize();
    std::uint64_t sites = 1;
    for (const std::uint32_t along : axes_.counts) {
      if (along > kMostAlong) return false;
      sites *= along;
    }
    axes_.sites = static_cast<std::uint32_t>(sites);
    axes_.listed = nullptr;
    return sites <= kMostSites || list_sites(sorted);
  }

  bool list_sites(const OrbPoint<T, Dim>* sorted) {
    listed_.resize_discard(kMostListedSites);
    list_sites_kernel<T, Dim><<<1, kSiteThreads, 0, stream_.get()>>>(sorted, axes_, listed_.data(), found_.data());
    cuda_check_launch("list_sites_kernel");
    copy_to_host(&axes_.sites, found_.data(), 1, stream_);
    stream_.synchronize();
    axes_.listed = listed_.data();
    return axes_.sites <= kMostListedSites;
  }

  bool count(const T* points, const std::uint64_t* units, std::uint64_t n, const SiteCounts& counts,
             std::uint16_t* codes) {
    const cudaStream_t stream = stream_.get();
    clear(found_, 1, stream_);  // a coordinate that has no number
    clear(totals_, counts.sites, stream_);
    allow_shared(count_sites_kernel<T, Dim>, kCountSitesShared<T, Dim>);
    count_sites_kernel<T, Dim><<<counts.stretches, kSiteThreads, kCountSitesShared<T, Dim>, stream>>>(
        points, units, n, axes_, counts, codes, found_.data());
    cuda_check_launch("count_sites_kernel");
    total_sites_kernel<<<dim3(blocks_of(counts.sites, 256), 16), 256, 0, stream>>>(counts, totals_.data());
    cuda_check_launch("total_sites_kernel");
    std::uint32_t unknown = 0;
    copy_to_host(&unknown, found_.data(), 1, stream_);
    stream_.synchronize();
    return unknown == 0;
  }

  /// Is there memory for order_points(), and for what CUB takes to sort?
  [[nodiscard]] bool has_room(std::uint64_t n) const {
    if (ids_[0].size() >= n) return true;  // from an earlier run
    constexpr std::uint64_t kBytes = 26;   // a point, 18 of them for what is kept
    std::size_t free = 0, all = 0;
    cuda_check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
    return free / kBytes > n;
  }

  /// Numbers of points and sums of their weights by sites.
  SiteOrder order_points(const std::uint64_t* units, std::uint64_t n, std::uint32_t sites, const std::uint16_t* codes) {
    const cudaStream_t stream = stream_.get();
    for (auto& ids : ids_) ids.resize_discard(n);
    sorted_codes_.resize_discard(n);
    sums_.resize_discard(n);
    begins_.resize_discard(sites);
    sums_before(totals_.data(), begins_.data(), sites, temporary_, stream_);
    sums_before(thrust::make_constant_iterator(1U), ids_[0].data(), n, temporary_, stream_);  // 0, 1, 2 ..
    with_room(temporary_, "DeviceRadixSort", [&](void* room, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(room, bytes, codes, sorted_codes_.data(), ids_[0].data(), ids_[1].data(),
                                             n, 0, std::bit_width(sites), stream);
    });
    with_room(temporary_, "DeviceScan", [&](void* room, std::size_t& bytes) {
      return cub::DeviceScan::InclusiveSum(room, bytes, thrust::make_permutation_iterator(units, ids_[1].data()),
                                           sums_.data(), n, stream);
    });
    return {begins_.data(), ids_[1].data(), sums_.data()};
  }

  void cut_levels(double side_tolerance, const SiteOrder& order, Node<T, Dim>* nodes) {
    const cudaStream_t stream = stream_.get();
    clear(ranges_, kFirstNodes, stream_);
    clear(found_, 1, stream_);  // pieces at their ends
    for (auto& pieces : pieces_) pieces.resize_discard(kMostPieces);
    for (int k = 0; k < 2; ++k) {
      keys_of_pieces_[k].resize_discard(kMostPieces);
      nodes_of_pieces_[k].resize_discard(kMostPieces);
    }
    cuda_check(cudaMemsetAsync(keys_of_pieces_[0].data(), 0xff, kMostPieces * sizeof(std::uint64_t), stream),
               "cudaMemsetAsync");
    first_pieces_kernel<T, Dim>
        <<<blocks_of(axes_.sites, 256), 256, 0, stream>>>(axes_, totals_.data(), pieces_[0].data(), ranges_.data());
    cuda_check_launch("first_pieces_kernel");
    for (int level = 0; level < levels_; ++level) {
      const SitePieces pieces{pieces_[level % 2].data(), pieces_[1 - level % 2].data(), ranges_.data(),
                              keys_of_pieces_[0].data(), nodes_of_pieces_[0].data(),    found_.data()};
      const auto cut = order.sums != nullptr ? cut_sites_kernel<T, Dim, true> : cut_sites_kernel<T, Dim, false>;
      cut<<<1U << static_cast<unsigned>(level), level < 6 ? kSiteThreads : 128, 0, stream>>>(
          level, levels_, side_tolerance, axes_, pieces, order, nodes);
      cuda_check_launch("cut_sites_kernel");
    }
  }

  void write_codes(const SiteCounts& counts, const SiteOrder& order, std::uint64_t n, std::uint16_t* codes) {
    const cudaStream_t stream = stream_.get();
    with_room(temporary_, "DeviceRadixSort", [&](void* room, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(room, bytes, keys_of_pieces_[0].data(), keys_of_pieces_[1].data(),
                                             nodes_of_pieces_[0].data(), nodes_of_pieces_[1].data(),
                                             static_cast<int>(kMostPieces), 0, 48, stream);
    });
    starts_.resize_discard(kMostPieces);
    table_.resize_discard(counts.sites);
    const SiteTable table{table_.data(), starts_.data(), keys_of_pieces_[1].data(), nodes_of_pieces_[1].data()};
    find_starts_kernel<<<static_cast<unsigned>(kMostPieces), kFindThreads, 0, stream>>>(table, counts, order, n, codes);
    cuda_check_launch("find_starts_kernel");
    const std::size_t shared = counts.sites * sizeof(std::uint32_t);
    allow_shared(code_sites_kernel, shared);
    code_sites_kernel<<<multiprocessors(), kSiteThreads, shared, stream>>>(table, counts.sites, n, codes);
    cuda_check_launch("code_sites_kernel");
  }

  int levels_;
  const support::CudaStream& stream_;
  SiteAxes<T, Dim> axes_{};
  support::DeviceBuffer<OrderKey<T>> keys_;
  support::DeviceBuffer<std::uint32_t> listed_, found_, totals_, starts_, table_;
  support::DeviceBuffer<SitePiece> pieces_[2];
  support::DeviceBuffer<uint2> ranges_;
  support::DeviceBuffer<std::uint32_t> begins_, ids_[2];
  support::DeviceBuffer<std::uint16_t> sorted_codes_;
  support::DeviceBuffer<std::uint64_t> sums_;
  support::DeviceBuffer<std::uint64_t> keys_of_pieces_[2];
  support::DeviceBuffer<std::uint16_t> nodes_of_pieces_[2];
  support::DeviceBuffer<unsigned char> temporary_;
};

}  // namespace amrbench::partitioners::gpu
