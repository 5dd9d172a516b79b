#pragma once
// The kernel `staged` of kernels/average7_cuda.hpp for cubes. Included by average7_cuda_staged*.cu only.
//
// A thread block stays on its multiprocessor and takes every so-manieth piece of work: one chunk of a group of blocks,
// or a slab of a large block's chunk. Pieces come through a ring of stages in shared memory: the cells by one bulk copy
// a block, faces across z by one, across y by one a row, across x (cells far apart) by small copies. While a piece is
// computed those behind it are under way. A face whose block is in the same group is read where that block was staged.
#include <algorithm>

#include "kernels/async_copy.cuh"
#include "kernels/average7_cuda.hpp"
#include "kernels/device_sum.cuh"
#include "kernels/device_vector.cuh"

namespace amrbench::kernels::detail {

/// Sizes of a staged kernel, in doubles where not said otherwise.
template <int Lanes, int Cells, int Slab, int Group, int Stages, int Threads>
struct StagedShape {
  static constexpr int kLanes = Lanes, kCells = Cells, kSlab = Slab, kGroup = Group, kStages = Stages;
  static constexpr int kThreads = Threads;
  static constexpr int kWidth = kDeviceWidth<Lanes>;
  static constexpr int kRow = Cells * Lanes, kPlane = kRow * Cells, kChunk = kPlane * Cells;
  static constexpr int kSlabs = Cells / Slab;
  static constexpr int kOwn = Slab * kPlane;  // cells of a block
  static constexpr int kFaceX = Slab * Cells * Lanes, kFaceY = Slab * kRow, kFaceZ = kPlane;
  static constexpr int kAtX = Group * kOwn, kAtY = kAtX + 2 * Group * kFaceX, kAtZ = kAtY + 2 * Group * kFaceY;
  static constexpr int kStage = (kAtZ + 2 * Group * kFaceZ + 15) / 16 * 16;
  static constexpr int kColumns = kPlane / kWidth;  // of a block
  static constexpr int kScratch = sum_scratch_words<Lanes, kWidth>(Threads);
  static_assert(Group == 1 || Slab == Cells, "faces inside a group need whole chunks");
  static_assert(Threads % 32 == 0 && Threads * kWidth % Lanes == 0, "a thread keeps its lanes");
  static constexpr std::size_t bytes(bool sum) {
    return std::size_t{Stages} * kStage * sizeof(double) + (sum ? kScratch * sizeof(unsigned long long) : 0) +
           std::size_t{Stages} * (sizeof(std::uint64_t) + (Group * 16 + 4) * sizeof(int));
  }
};

struct StagedParameters {
  Average7Job job;
  WorkOrder order;
  unsigned int pieces;
  bool streaming;
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

/// A thread block's view of its ring.
template <class S>
struct StagedRing {
  static constexpr int W = S::kWidth;
  const StagedParameters& p;
  double* values;
  std::uint64_t* barriers;
  int* entries;  ///< [stage][group][8]: BlockEntry, in = -1 behind the last block
  int* inside;   ///< [stage][group][8]: block of the group behind a face, -1 when it is not of the group
  int* pieces;   ///< [stage][4]: a Piece

  struct Piece {
    int first, chunk, slab;  ///< first block
  };
  __device__ Piece piece(unsigned int number) const {
    const WorkOrder::Place place = p.order.place(number / S::kSlabs);
    return {place.group * S::kGroup, place.chunk, static_cast<int>(number % S::kSlabs)};
  }
  [[nodiscard]] __device__ Piece staged_piece(int stage) const {
    return {pieces[stage * 4], pieces[stage * 4 + 1], pieces[stage * 4 + 2]};
  }
  [[nodiscard]] __device__ int entry_word(const Piece& piece) const {
    const int t = static_cast<int>(threadIdx.x), block = piece.first + t / 8;
    if (t >= S::kGroup * 8) return 0;
    return block < p.job.count ? reinterpret_cast<const int*>(p.job.blocks)[block * 8 + t % 8] : -1;
  }
  /// Puts the entries of the piece to be issued in place. All threads; ends with a barrier.
  __device__ void store_entries(int stage, const Piece& piece, int word) {
    const int t = static_cast<int>(threadIdx.x);
    if (t == 0) {
      pieces[stage * 4] = piece.first;
      pieces[stage * 4 + 1] = piece.chunk;
      pieces[stage * 4 + 2] = piece.slab;
    }
    int* const of_stage = entries + stage * S::kGroup * 8;
    if (t < S::kGroup * 8) of_stage[t] = word;
    __syncthreads();
    if constexpr (S::kGroup > 1) {
      if (t < S::kGroup * 8) {
        int found = -1;
        if (t % 8 >= 1 && t % 8 <= 6 && of_stage[t] >= 0) {
          for (int g = 0; g < S::kGroup; ++g)
            if (of_stage[g * 8] == of_stage[t] >> 1) found = g;
        }
        inside[stage * S::kGroup * 8 + t] = found;
      }
      __syncthreads();
    }
  }

  /// First value behind face `face` of a block, in the plane or row or cell that comes first in the piece.
  [[nodiscard]] __device__ const double* face_source(FaceCode code, int face, const Piece& piece) const {
    const int z0 = piece.slab * S::kSlab;
    if (face_is_packed(code)) {
      const double* const chunk =
          p.job.packed + packed_offset(code) + static_cast<long long>(piece.chunk) * (S::kPlane);
      return chunk + (face < 2 ? z0 * S::kCells * S::kLanes : face < 4 ? z0 * S::kRow : 0);
    }
    const double* const chunk = p.job.in.at(code >> 1) + static_cast<long long>(piece.chunk) * S::kChunk;
    const int side = code & 1;
    return chunk + (face < 2   ? z0 * S::kPlane + side * (S::kRow - S::kLanes)
                    : face < 4 ? z0 * S::kPlane + side * (S::kPlane - S::kRow)
                               : side * (S::kChunk - S::kPlane));
  }

  __device__ void issue_bulk(int stage, const Piece& piece) {
    double* const to = values + stage * S::kStage;
    std::uint64_t* const barrier = barriers + stage;
    constexpr int kJobs = 3 + 2 * S::kSlab;
    for (int j = static_cast<int>(threadIdx.x); j < S::kGroup * kJobs; j += 32) {
      const int g = j / kJobs, job = j % kJobs;
      const int* const entry = entries + (stage * S::kGroup + g) * 8;
      if (entry[0] < 0) continue;
      const double* const own =
          p.job.in.at(entry[0]) + static_cast<long long>(piece.chunk) * S::kChunk + piece.slab * S::kOwn;
      const double* from = own;
      double* at = to + g * S::kOwn;
      int count = S::kOwn;
      if (job > 0) {
        const int face = job < 3 ? 3 + job : 2 + (job - 3) % 2, row = (job - 3) / 2;
        const bool within = face == 4 ? piece.slab > 0 : face == 5 && piece.slab + 1 < S::kSlabs;
        if constexpr (S::kGroup > 1) {
          if (inside[(stage * S::kGroup + g) * 8 + 1 + face] >= 0) continue;
        }
        const FaceCode code = entry[1 + face];
        if (face >= 4) {
          from = !within ? face_source(code, face, piece) : face == 4 ? own - S::kPlane : own + S::kOwn;
          at = to + S::kAtZ + (2 * g + face - 4) * S::kFaceZ;
          count = S::kPlane;
        } else {
          from = face_source(code, face, piece) + row * (face_is_packed(code) ? S::kRow : S::kPlane);
          at = to + S::kAtY + (2 * g + face - 2) * S::kFaceY + row * S::kRow;
          count = S::kRow;
        }
      }
      const auto bytes = static_cast<std::uint32_t>(count * sizeof(double));
      barrier_expect(barrier, bytes);
      copy_bulk(at, from, bytes, barrier);
    }
  }

  __device__ void issue_small(int stage, const Piece& piece) {
    constexpr int kVectors = S::kLanes / W, kPerFace = S::kFaceX / W;
    double* const to = values + stage * S::kStage + S::kAtX;
    for (int k = static_cast<int>(threadIdx.x); k < 2 * S::kGroup * kPerFace; k += S::kThreads) {
      const int face = k / kPerFace % 2, g = k / kPerFace / 2, cell = k % kPerFace / kVectors;
      const int* const entry = entries + (stage * S::kGroup + g) * 8;
      if (entry[0] < 0) continue;
      if constexpr (S::kGroup > 1) {
        if (inside[(stage * S::kGroup + g) * 8 + 1 + face] >= 0) continue;
      }
      const FaceCode code = entry[1 + face];
      const int lane = k % kVectors * W;
      const double* const from =
          face_source(code, face, piece) + cell * (face_is_packed(code) ? S::kLanes : S::kRow) + lane;
      copy_small<W * sizeof(double)>(to + k * W, from);
    }
  }

  /// Starts all copies of a piece into a stage that nobody reads any more. Entries are in place. All threads.
  __device__ void issue(int stage, const Piece& piece) {
    if (threadIdx.x < 32) issue_bulk(stage, piece);
    issue_small(stage, piece);
    barrier_arrive_after_copies(barriers + stage);
  }

  struct Neighbor {
    const double* at;
    int step;
  };
  /// What lies behind face `face` of block g for a column, whose place is given inside a block and in a staged face.
  __device__ Neighbor behind(const double* of_stage, const int* entry, const int* in_group, int g, int face,
                             int in_block, int layer, const double* staged, int step) const {
    if constexpr (S::kGroup > 1) {
      const int other = in_group[g * 8 + 1 + face];
      if (other >= 0) return {of_stage + other * S::kOwn + (entry[1 + face] & 1) * layer + in_block, S::kPlane};
    }
    return {staged, step};
  }

  template <bool Sum>
  __device__ void compute(int stage, const Piece& piece, CellSum (&sums)[W]) const {
    using Vector = DeviceVector<W>;
    const double* const of_stage = values + stage * S::kStage;
    const int* const in_group = inside + stage * S::kGroup * 8;
    for (int k = static_cast<int>(threadIdx.x); k < S::kGroup * S::kColumns; k += S::kThreads) {
      const int g = k / S::kColumns, column = k % S::kColumns;
      const int* const entry = entries + (stage * S::kGroup + g) * 8;
      if (entry[0] < 0) continue;
      const int y = column / (S::kRow / W), e = column % (S::kRow / W) * W, x = e / S::kLanes, lane = e % S::kLanes;
      const int in_plane = y * S::kRow + e;
      const double* const own = of_stage + g * S::kOwn + in_plane;
      const auto across_x = [&](int side) -> Neighbor {
        if (side == 0 ? x > 0 : x + 1 < S::kCells) return {own + (side == 0 ? -S::kLanes : S::kLanes), S::kPlane};
        const double* const staged = of_stage + S::kAtX + (2 * g + side) * S::kFaceX + y * S::kLanes + lane;
        return behind(of_stage, entry, in_group, g, side, y * S::kRow + lane, S::kRow - S::kLanes, staged,
                      S::kCells * S::kLanes);
      };
      const auto across_y = [&](int side) -> Neighbor {
        if (side == 0 ? y > 0 : y + 1 < S::kCells) return {own + (side == 0 ? -S::kRow : S::kRow), S::kPlane};
        const double* const staged = of_stage + S::kAtY + (2 * g + side) * S::kFaceY + e;
        return behind(of_stage, entry, in_group, g, 2 + side, e, S::kPlane - S::kRow, staged, S::kRow);
      };
      const auto across_z = [&](int side) -> const double* {
        const double* const staged = of_stage + S::kAtZ + (2 * g + side) * S::kFaceZ + in_plane;
        return behind(of_stage, entry, in_group, g, 4 + side, in_plane, S::kChunk - S::kPlane, staged, 0).at;
      };
      const Neighbor xm = across_x(0), xp = across_x(1), ym = across_y(0), yp = across_y(1);
      const double* const last = across_z(1);
      double* const out =
          p.job.out.at(entry[7]) + static_cast<long long>(piece.chunk) * S::kChunk + piece.slab * S::kOwn + in_plane;
      Vector below = load_shared<W>(across_z(0)), centre = load_shared<W>(own);
#pragma unroll
      for (int z = 0; z < S::kSlab; ++z) {
        const Vector above = load_shared<W>(z + 1 < S::kSlab ? own + (z + 1) * S::kPlane : last);
        const Vector v =
            average7_vector<W>(load_shared<W>(xm.at + z * xm.step), load_shared<W>(ym.at + z * ym.step), below, centre,
                               above, load_shared<W>(yp.at + z * yp.step), load_shared<W>(xp.at + z * xp.step));
        store_global<W>(out + z * S::kPlane, v, p.streaming);
        if constexpr (Sum) {
#pragma unroll
          for (int w = 0; w < W; ++w) sums[w].add(v.v[w], p.job.sums);
        }
        below = centre;
        centre = above;
      }
    }
  }
  /// Values a variable in a piece.
  [[nodiscard]] __device__ std::uint32_t cells(const Piece& piece) const {
    return min(S::kGroup, p.job.count - piece.first) * S::kSlab * S::kCells * S::kCells;
  }
};

#endif

template <class S, bool Sum>
__global__ void __launch_bounds__(S::kThreads) average7_staged(const __grid_constant__ StagedParameters p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char memory[];
  double* const values = reinterpret_cast<double*>(memory);
  auto* const scratch = reinterpret_cast<unsigned long long*>(values + S::kStages * S::kStage);
  auto* const barriers = reinterpret_cast<std::uint64_t*>(scratch + (Sum ? S::kScratch : 0));
  int* const entries = reinterpret_cast<int*>(barriers + S::kStages);
  constexpr int kEntries = S::kStages * S::kGroup * 8;
  StagedRing<S> ring{p, values, barriers, entries, entries + kEntries, entries + 2 * kEntries};
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < S::kStages; ++stage) barrier_init(barriers + stage, S::kThreads);
    barrier_init_fence();
  }
  __syncthreads();
  for (int stage = 0; stage < S::kStages; ++stage) {
    const unsigned int number = blockIdx.x + stage * gridDim.x;
    if (number >= p.pieces) break;
    const auto piece = ring.piece(number);
    ring.store_entries(stage, piece, ring.entry_word(piece));
    ring.issue(stage, piece);
  }
  CellSum sums[S::kWidth];
  std::uint32_t cells = 0, parity = 0;
  int chunk = -1, stage = 0;
  for (unsigned int number = blockIdx.x; number < p.pieces; number += gridDim.x) {
    const auto piece = ring.staged_piece(stage);
    const unsigned int ahead = number + S::kStages * gridDim.x;
    typename StagedRing<S>::Piece next{};
    int word = 0;
    if (ahead < p.pieces) {
      next = ring.piece(ahead);
      word = ring.entry_word(next);
    }
    if constexpr (Sum) {
      if (cells > 0 && (chunk != piece.chunk || cells + ring.cells(piece) > kSumMaxCells)) {
        flush_sums<S::kLanes, S::kWidth>(sums, cells, chunk, p.job.sums, scratch);
        cells = 0;
      }
      chunk = piece.chunk;
      cells += ring.cells(piece);
    }
    barrier_wait(barriers + stage, parity);
    ring.template compute<Sum>(stage, piece, sums);
    __syncthreads();
    if (ahead < p.pieces) {
      ring.store_entries(stage, next, word);
      ring.issue(stage, next);
    }
    if (++stage == S::kStages) {
      stage = 0;
      parity ^= 1U;
    }
  }
  if constexpr (Sum) {
    if (cells > 0) flush_sums<S::kLanes, S::kWidth>(sums, cells, chunk, p.job.sums, scratch);
  }
#else
  __trap();  // has_staged_average7() keeps older devices away
#endif
}

template <class S, bool Sum>
void launch_staged_kernel(const StagedParameters& p, cudaStream_t stream) {
  const auto kernel = average7_staged<S, Sum>;
  constexpr std::size_t kBytes = S::bytes(Sum);
  support::cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kBytes)),
      "cudaFuncSetAttribute");
  int resident = 0, multiprocessors = 0, device = 0;
  support::cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, S::kThreads, kBytes),
                      "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  support::cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  support::cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
                      "cudaDeviceGetAttribute");
  const auto room = static_cast<unsigned int>(std::max(1, resident) * multiprocessors);
  const unsigned int grid = std::min(p.pieces, room);
  kernel<<<grid, S::kThreads, kBytes, stream>>>(p);
}

template <class S>
void launch_staged(const BlockLayout& l, const Average7Job& job, const Average7Options& options, cudaStream_t stream) {
  StagedParameters p{job, {}, 0, options.streaming};
  p.order.groups = (job.count + S::kGroup - 1) / S::kGroup;
  p.order.chunks = l.chunks;
  p.order.tile = options.tile <= 0 ? p.order.groups : std::max(1, options.tile / S::kGroup);
  p.pieces = static_cast<unsigned int>(checked_pieces(p.order.count() * S::kSlabs));
  if (job.sums.words != nullptr)
    launch_staged_kernel<S, true>(p, stream);
  else
    launch_staged_kernel<S, false>(p, stream);
}

}  // namespace amrbench::kernels::detail
