#pragma once
// The loops over a node's records by one thread, and by a team on nodes too large for one.
//
// Both leave the same sets; Team also leaves the same arrangement for any number of threads, since its chunks have a
// fixed size. Only this folder and kd_tree.cpp include this.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "partitioners/kd/record.hpp"
#include "partitioners/weights.hpp"

namespace amrbench::partitioners::kd {

template <class R>
Mass mass_of(const R* r, std::size_t n) {
  Mass mass = static_cast<Mass>(n);
  if constexpr (R::kWeighted) {
    std::uint64_t weight = 0;
    for (std::size_t i = 0; i < n; ++i) weight += r[i].weight;
    mass += static_cast<Mass>(weight) << kCountBits;
  }
  return mass;
}

/// One thread.
struct Single {
  template <class R, class Lower>
  std::size_t partition(R* r, std::size_t n, Lower lower) const {
    return partition_records(r, n, lower);
  }
  template <class R>
  auto box(const R* r, std::size_t n) const {
    return bounding_box(r, n);
  }
  template <class R>
  Mass mass(const R* r, std::size_t n) const {
    return mass_of(r, n);
  }
};

/// A team of threads on chunks of kChunk records.
struct Team {
  static constexpr std::size_t kChunk = std::size_t{1} << 15;
  int threads;

  template <class R, class Lower>
  std::size_t partition(R* r, std::size_t n, Lower lower) const {
    const std::size_t chunks = (n + kChunk - 1) / kChunk;
    std::vector<std::size_t> left(chunks);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::size_t c = 0; c < chunks; ++c) {
      left[c] = partition_records(r + c * kChunk, std::min(kChunk, n - c * kChunk), lower);
    }
    std::size_t total = 0;
    for (const std::size_t l : left) total += l;
    swap_misplaced(r, n, left, total);
    return total;
  }

  template <class R>
  auto box(const R* r, std::size_t n) const {
    const std::size_t chunks = (n + kChunk - 1) / kChunk;
    std::vector<Box<typename R::Scalar, R::kDim>> boxes(chunks);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::size_t c = 0; c < chunks; ++c) {
      boxes[c] = bounding_box(r + c * kChunk, std::min(kChunk, n - c * kChunk));
    }
    for (std::size_t c = 1; c < chunks; ++c) boxes[0].merge(boxes[c]);
    return boxes[0];
  }

  template <class R>
  Mass mass(const R* r, std::size_t n) const {
    if constexpr (!R::kWeighted) return static_cast<Mass>(n);
    const std::size_t chunks = (n + kChunk - 1) / kChunk;
    std::vector<Mass> part(chunks);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::size_t c = 0; c < chunks; ++c) part[c] = mass_of(r + c * kChunk, std::min(kChunk, n - c * kChunk));
    Mass sum = 0;
    for (const Mass m : part) sum += m;
    return sum;
  }

 private:
  struct Run {
    std::size_t start;   ///< position of its first record
    std::size_t before;  ///< records in runs before it
  };

  /// Every chunk has its lower records in front. Swaps the k-th upper record in front of `total` with the k-th lower
  /// record behind it.
  template <class R>
  void swap_misplaced(R* r, std::size_t n, const std::vector<std::size_t>& left, std::size_t total) const {
    std::vector<Run> uppers, lowers;
    std::size_t upper_count = 0, lower_count = 0;
    for (std::size_t c = 0; c < left.size(); ++c) {
      const std::size_t begin = c * kChunk, middle = begin + left[c], end = std::min(begin + kChunk, n);
      if (middle < std::min(end, total)) {
        uppers.push_back({middle, upper_count});
        upper_count += std::min(end, total) - middle;
      }
      if (std::max(begin, total) < middle) {
        lowers.push_back({std::max(begin, total), lower_count});
        lower_count += middle - std::max(begin, total);
      }
    }
    constexpr std::size_t kPiece = std::size_t{1} << 14;
    const std::size_t pieces = (upper_count + kPiece - 1) / kPiece;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::size_t p = 0; p < pieces; ++p) {
      const std::size_t end = std::min((p + 1) * kPiece, upper_count);
      for (std::size_t k = p * kPiece; k < end;) {
        const auto [a, a_left] = locate(uppers, k, upper_count);
        const auto [b, b_left] = locate(lowers, k, lower_count);
        const std::size_t length = std::min({a_left, b_left, end - k});
        for (std::size_t i = 0; i < length; ++i) swap_records(r + a + i, r + b + i);
        k += length;
      }
    }
  }

  /// Position of record k of the runs, and how many of its run remain from there.
  static std::pair<std::size_t, std::size_t> locate(const std::vector<Run>& runs, std::size_t k, std::size_t count) {
    const auto next =
        std::upper_bound(runs.begin(), runs.end(), k, [](std::size_t key, const Run& run) { return key < run.before; });
    const Run& run = *(next - 1);
    return {run.start + (k - run.before), (next == runs.end() ? count : next->before) - k};
  }
};

}  // namespace amrbench::partitioners::kd
