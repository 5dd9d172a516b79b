#pragma once
// The kernel `group` of kernels/average7_cuda.hpp. Included by average7_cuda_group.cu only.
//
// Computes a stage of the listed blocks; in and out as in average7_cuda.hpp.
//
// The idea. A thread block takes one chunk of `Group` blocks that follow each other in the list, so on the curve. It
// copies their cells to shared memory, one bulk copy a block, then the faces around them by copies of 16 bytes (across
// x, where lanes are odd, of 8). One barrier says that all has come. A face whose block belongs to the group is not
// copied: it is read where that block lies in shared memory. Of eight siblings these are half of all faces. Then a
// thread takes a column along z, as in `march`.
//
// Counts a value: shared memory 8 (1 + faces copied / cells) bytes written, 40 read; second-level cache: facts.
#include "kernels/average7_cube.cuh"
#include "kernels/device_sum.cuh"

namespace amrbench::kernels::detail {

/// Sizes in doubles where not said otherwise.
template <int Lanes, int Cells, int Group, int Threads>
struct GroupShape : CubeChunk<Lanes, Cells> {
  using Cube = CubeChunk<Lanes, Cells>;
  static constexpr int kGroup = Group, kThreads = Threads;
  static constexpr int kFaces = Group * Cube::kChunk;  // where faces begin: [group][face][kFace]
  static constexpr int kValues = kFaces + 6 * Group * Cube::kFace;
  static constexpr int kScratch = sum_scratch_words<Lanes, Cube::kWidth>(Threads);
  static_assert(Threads % 32 == 0 && Threads * Cube::kWidth % Lanes == 0, "a thread keeps its lanes");
  static_assert(Group * 8 <= Threads);
  static constexpr std::size_t bytes(bool sum) {
    return std::size_t{kValues} * sizeof(double) + sizeof(std::uint64_t) + Group * 16 * sizeof(int) +
           (sum ? kScratch * sizeof(unsigned long long) : 0);
  }
  static constexpr int resident(bool sum) { return resident_blocks(bytes(sum), Cube::kShared, Threads, sum ? 64 : 48); }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

/// A thread block's group: the tables in shared memory and the steps of its work.
template <class S>
struct GroupOfBlocks {
  static constexpr int W = S::kWidth;
  const PieceParameters& p;
  int chunk;
  double* values;
  std::uint64_t* barrier;
  int* entries;  ///< [group][8]: BlockEntry, in = -1 behind the last block
  int* inside;   ///< [group][8]: at 1 + face the block of the group behind that face, else -1

  __device__ void find_inside() const {
    const int t = static_cast<int>(threadIdx.x);
    if (t >= S::kGroup * 8) return;
    int found = -1;
    if (t % 8 >= 1 && t % 8 <= 6 && entries[t] >= 0) {
      for (int g = 0; g < S::kGroup; ++g)
        if (entries[g * 8] == entries[t] >> 1) found = g;
    }
    inside[t] = found;
  }
  __device__ void copy_blocks() const {
    const int g = static_cast<int>(threadIdx.x);
    if (g >= S::kGroup || entries[g * 8] < 0) return;
    constexpr auto kBytes = static_cast<std::uint32_t>(S::kChunk * sizeof(double));
    support::barrier_expect(barrier, kBytes);
    support::copy_bulk(values + g * S::kChunk, p.job.in.at(entries[g * 8]) + static_cast<long long>(chunk) * S::kChunk,
                       kBytes, barrier);
  }
  [[nodiscard]] __device__ bool outside(int g, int face) const {
    return entries[g * 8] >= 0 && inside[g * 8 + 1 + face] < 0;
  }
  /// Faces across x: runs of a cell's lanes. Across y and z: whole rows, always 16 bytes at a time.
  __device__ void copy_faces() const {
    constexpr int kPerRow = S::kRow / 2, kPerFace = S::kFace / 2;
    for (int k = static_cast<int>(threadIdx.x); k < S::kGroup * 4 * kPerFace; k += S::kThreads) {
      const int g = k / (4 * kPerFace), face = 2 + k / kPerFace % 4, e = k % kPerFace, row = e / kPerRow;
      if (!outside(g, face)) continue;
      const auto layer = S::behind(p.job, entries[g * 8 + 1 + face], face, chunk);
      support::copy_small<16>(values + S::kFaces + (g * 6 + face) * S::kFace + e * 2,
                              layer.at + row * (face < 4 ? layer.plane : layer.row) + e % kPerRow * 2);
    }
    constexpr int kPerCell = S::kLanes / W, kPerX = S::kFace / W;
    for (int k = static_cast<int>(threadIdx.x); k < S::kGroup * 2 * kPerX; k += S::kThreads) {
      const int g = k / (2 * kPerX), face = k / kPerX % 2, e = k % kPerX, cell = e / kPerCell;
      if (!outside(g, face)) continue;
      const auto layer = S::behind(p.job, entries[g * 8 + 1 + face], face, chunk);
      support::copy_small<W * sizeof(double)>(
          values + S::kFaces + (g * 6 + face) * S::kFace + e * W,
          layer.at + cell / S::kCells * layer.plane + cell % S::kCells * layer.row + e % kPerCell * W);
    }
  }

  struct Neighbor {
    const double* at;
    int step;
  };
  /// What a column finds behind a face of its block. in_layer: the column's place in the layer behind, when that block
  /// is in the group; in_face: its place in the copied face otherwise.
  __device__ Neighbor behind(int g, int face, int layer, int in_layer, int in_face) const {
    const int other = inside[g * 8 + 1 + face];
    if (other < 0) return {values + S::kFaces + (g * 6 + face) * S::kFace + in_face, S::kRow};
    return {values + other * S::kChunk + (entries[g * 8 + 1 + face] & 1) * layer + in_layer, S::kPlane};
  }

  template <bool Sum>
  __device__ void compute(CellSum (&sums)[W]) const {
    using Vector = DeviceVector<W>;
    for (int k = static_cast<int>(threadIdx.x); k < S::kGroup * S::kColumns; k += S::kThreads) {
      const int g = k / S::kColumns, at = k % S::kColumns * W;
      if (entries[g * 8] < 0) continue;
      const int y = at / S::kRow, e = at % S::kRow, x = e / S::kLanes, lane = e % S::kLanes;
      const double* const own = values + g * S::kChunk + at;
      const Neighbor xm = x > 0 ? Neighbor{own - S::kLanes, S::kPlane}
                                : behind(g, 0, S::kRow - S::kLanes, y * S::kRow + lane, y * S::kLanes + lane);
      const Neighbor xp = x + 1 < S::kCells
                              ? Neighbor{own + S::kLanes, S::kPlane}
                              : behind(g, 1, S::kRow - S::kLanes, y * S::kRow + lane, y * S::kLanes + lane);
      const Neighbor ym = y > 0 ? Neighbor{own - S::kRow, S::kPlane} : behind(g, 2, S::kPlane - S::kRow, e, e);
      const Neighbor yp =
          y + 1 < S::kCells ? Neighbor{own + S::kRow, S::kPlane} : behind(g, 3, S::kPlane - S::kRow, e, e);
      Vector below = load_shared<W>(behind(g, 4, S::kChunk - S::kPlane, at, at).at), centre = load_shared<W>(own);
      const double* const last = behind(g, 5, S::kChunk - S::kPlane, at, at).at;
      double* const out = p.job.out.at(entries[g * 8 + 7]) + static_cast<long long>(chunk) * S::kChunk + at;
#pragma unroll
      for (int z = 0; z < S::kCells; ++z) {
        const Vector above = load_shared<W>(z + 1 < S::kCells ? own + (z + 1) * S::kPlane : last);
        const Vector v =
            average7_vector<W>(load_shared<W>(xm.at + z * xm.step), load_shared<W>(ym.at + z * ym.step), below, centre,
                               above, load_shared<W>(yp.at + z * yp.step), load_shared<W>(xp.at + z * xp.step));
        store_global<W>(out + z * S::kPlane, v);
        if constexpr (Sum) {
#pragma unroll
          for (int w = 0; w < W; ++w) sums[w].add(v.v[w], p.job.sums);
        }
        below = centre;
        centre = above;
      }
    }
  }
};

#endif

template <class S, bool Sum>
__global__ void __launch_bounds__(S::kThreads, S::resident(Sum))
    average7_group(const __grid_constant__ PieceParameters p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char memory[];
  double* const values = reinterpret_cast<double*>(memory);
  auto* const scratch = reinterpret_cast<unsigned long long*>(values + S::kValues);
  auto* const barrier = reinterpret_cast<std::uint64_t*>(scratch + (Sum ? S::kScratch : 0));
  int* const entries = reinterpret_cast<int*>(barrier + 1);
  if (blockIdx.x >= p.pieces) return;
  const WorkOrder::Place place = p.order.place(blockIdx.x);
  const GroupOfBlocks<S> group{p, place.chunk, values, barrier, entries, entries + S::kGroup * 8};
  const int t = static_cast<int>(threadIdx.x), first = place.group * S::kGroup;
  if (t < S::kGroup * 8) {
    const int block = first + t / 8;
    entries[t] = block < p.job.count ? reinterpret_cast<const int*>(p.job.blocks)[block * 8 + t % 8] : -1;
  }
  if (t == 0) {
    support::barrier_init(barrier, S::kThreads);
    support::barrier_init_fence();
  }
  __syncthreads();
  group.copy_blocks();
  group.find_inside();
  __syncthreads();
  group.copy_faces();
  support::barrier_arrive_after_copies(barrier);
  constexpr int kLastWarp = S::kThreads - 32;
  if (t >= kLastWarp && t - kLastWarp < S::kGroup) prefetch_piece(p, blockIdx.x, S::kGroup, t - kLastWarp, S::kChunk);
  CellSum sums[S::kWidth];
  support::barrier_wait(barrier, 0);
  group.template compute<Sum>(sums);
  if constexpr (Sum) {
    const int cells = min(S::kGroup, p.job.count - first) * S::kChunk / S::kLanes;
    flush_sums<S::kLanes, S::kWidth>(sums, static_cast<std::uint32_t>(cells), place.chunk, p.job.sums, scratch);
  }
#else
  __trap();  // call_group() keeps older devices away
#endif
}

template <class S, bool Sum>
void call_group_kernel(const Average7Call& call) {
  const auto kernel = average7_group<S, Sum>;
  constexpr std::size_t bytes = S::bytes(Sum);
  allow_shared(kernel, bytes);
  if (call.facts != nullptr) {
    // 2, 4 or 8 blocks that follow one another on the curve form a box: siblings along x, then y, then z.
    const double x = S::kGroup >= 2 ? 0.5 : 1.0, y = S::kGroup >= 4 ? 0.5 : 1.0, z = S::kGroup >= 8 ? 0.5 : 1.0;
    fill_facts(*call.facts, kernel, S::kThreads, bytes);
    call.facts->l2_values = l2_values(S::kLanes, S::kCells, x, y, z);
    const double written = 1.0 + 2.0 * (x + y + z) / S::kCells, read = 5.0 + 1.0 / S::kCells;
    call.facts->shared_bytes_a_value = sizeof(double) * (written + read);
    call.facts->flight_bytes = static_cast<std::size_t>(written * S::kGroup * S::kChunk * sizeof(double));
    return;
  }
  const PieceParameters p = piece_parameters(call, S::kGroup);
  if (p.pieces > 0) launch_pieces(call, kernel, p, p.pieces, S::kThreads, bytes);
}

}  // namespace amrbench::kernels::detail
