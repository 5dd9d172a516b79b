#pragma once
// The kernel `planes` of kernels/average7/average7_cuda.hpp. Included by average7_cuda_planes.cu only.
//
// Computes a stage of the listed blocks; in and out as in average7_cuda.hpp.
//
// The idea. A thread block takes one chunk of one block, or `1 / Parts` of its rows, and walks it along z. Its last
// warp, the copying warp, brings plane after plane to a ring of `Ring` planes in shared memory, while the other warps
// compute the planes that have come: memory is never waited for as long as the ring is not empty. A plane comes with
// its rim: the rows before and behind it in y (bulk copies, as the plane itself) and the cells before and behind each
// row in x (small copies of 8 or 16 bytes). The layers below the first and above the last plane of the block go through
// the ring in the same way, without a rim. Several thread blocks share a large chunk so that fewer chunks are under way
// at a time and more of their faces are in the second-level cache.
//
// How the warps wait for each other. Each place of the ring has two barriers (mbarrier, support/async_copy.cuh):
//   full    "the plane has come". 33 arrivals: each of the 32 threads of the copying warp when its small copies are
//           complete, and its first thread once more, together with the number of bytes that its bulk copies will
//           bring. That arrival and that number are one instruction. If they were two, the phase could end between
//           them, for the arrivals behind small copies are not ordered with the number
//   empty   "the plane has been read". One arrival a computing warp, when all its threads have read
// Between its reads and that arrival every thread executes a proxy fence. Bulk copies are not ordered with ordinary
// loads by a barrier alone, so without the fence the next plane could overwrite the place while a load is still under
// way. The warp's arrival is made by one thread behind __syncwarp, which orders the other threads' reads before it.
// compute-sanitizer's racecheck does not understand that and reports their reads; with each_arrives all threads arrive.
//
// Counts a value: shared memory 8 (1 + cells of rims and layers / cells) bytes written, 40 read; second-level cache:
// facts.
#include "kernels/average7/average7_call.cuh"
#include "kernels/device_sum.cuh"

namespace amrbench::kernels::detail {

/// The sizes of a cube's chunk, and where what lies behind its faces is found. Sizes in doubles.
template <int Lanes, int Cells>
struct CubeChunk {
  static constexpr int kLanes = Lanes, kCells = Cells, kWidth = kDeviceWidth<Lanes>;
  static constexpr int kRow = Cells * Lanes, kPlane = kRow * Cells, kChunk = kPlane * Cells;
  static constexpr int kFace = kPlane;  // every face of a cube, packed
  static constexpr int kColumns = kPlane / kWidth;

  /// What lies behind a face: where its first value is, and how far it is to the next row (across x: the next cell) and
  /// to the next plane.
  struct Layer {
    const double* at;
    int row, plane;
  };
  __device__ static Layer behind(const Average7Job& job, FaceCode code, int face, int chunk) {
    if (face_is_packed(code)) {
      const double* const at = job.packed + packed_offset(code) + static_cast<long long>(chunk) * kFace;
      return {at, face < 2 ? Lanes : kRow, kRow};
    }
    const int layer = face < 2 ? kRow - Lanes : face < 4 ? kPlane - kRow : kChunk - kPlane;
    return {job.in.at(code >> 1) + static_cast<long long>(chunk) * kChunk + (code & 1) * layer, kRow, kPlane};
  }
};

/// How many thread blocks fit a multiprocessor when each has `shared_bytes` of shared memory and each thread
/// `registers` registers: the number that kernels are compiled for.
constexpr int resident_blocks(std::size_t shared_bytes, std::size_t shared_room, int threads, int registers) {
  constexpr std::size_t kReserved = 1024;
  constexpr int kRegisters = 65536, kThreads = 2048;
  const auto by_shared = static_cast<int>(shared_room / (shared_bytes + kReserved));
  return std::max(1, std::min({by_shared, kRegisters / (threads * registers), kThreads / threads}));
}

/// Sizes in doubles where not said otherwise. `Ring` planes; `Columns` a thread; `Parts` thread blocks a chunk.
template <int Lanes, int Cells, int Ring, int Columns, int Parts = 1>
struct PlanesShape : CubeChunk<Lanes, Cells> {
  using Cube = CubeChunk<Lanes, Cells>;
  static constexpr int kRing = Ring, kColumnsEach = Columns, kParts = Parts;
  static constexpr int kRows = Cells / Parts, kSlab = kRows * Cube::kRow;  // of a plane, in a thread block
  static constexpr int kWorkers = kSlab / Cube::kWidth / Columns, kThreads = kWorkers + 32;
  static constexpr int kRuns = kRows * Lanes;                       // across x, on one side
  static constexpr int kAtY = kSlab, kAtX = kAtY + 2 * Cube::kRow;  // of a plane in the ring
  static constexpr int kSlot = (kAtX + 2 * kRuns + 15) / 16 * 16;
  static constexpr int kLayers = Cells + 2;
  static constexpr int kCopies = 2 * kRuns / Cube::kWidth, kCopiesEach = (kCopies + 31) / 32;  // across x
  static constexpr int kScratch = sum_scratch_words<Lanes, Cube::kWidth>(kThreads);
  static_assert(Cells % Parts == 0 && kSlab / Cube::kWidth % Columns == 0 && kWorkers % 32 == 0 && kThreads <= 1024);
  static_assert(kWorkers * Cube::kWidth % Lanes == 0, "a thread keeps its lanes");
  static_assert(Ring >= 3 && Ring <= kLayers);
  static constexpr std::size_t bytes(bool sum) {
    return std::size_t{Ring} * (kSlot * sizeof(double) + 2 * sizeof(std::uint64_t)) +
           (sum ? kScratch * sizeof(unsigned long long) : 0);
  }
  static constexpr int resident(bool sum) {
    return resident_blocks(bytes(sum), kSharedRoom, kThreads, (sum ? 60 : 44) + 4 * Columns * Cube::kWidth);
  }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

/// The ring. Layer k of a chunk, 0 .. Cells + 1 with the layers behind it, lies in slot k % Ring.
template <class S>
struct PlaneRing {
  static constexpr int W = S::kWidth;
  double* values;
  std::uint64_t *full, *empty;
  bool each_arrives;

  __device__ void init() const {
    for (int slot = 0; slot < S::kRing; ++slot) {
      support::barrier_init(full + slot, 32 + 1);
      support::barrier_init(empty + slot, each_arrives ? S::kWorkers : S::kWorkers / 32);
    }
    support::barrier_init_fence();
  }
  __device__ const double* wait_full(int k) const {
    support::barrier_wait(full + k % S::kRing, k / S::kRing & 1);
    return values + k % S::kRing * S::kSlot;
  }
  /// The calling warp has read layer k.
  __device__ void release(int k) const {
    if (k + S::kRing >= S::kLayers) return;  // nothing comes there any more
    support::reads_before_bulk_copies();
    __syncwarp();
    if (each_arrives || threadIdx.x % 32 == 0) support::barrier_arrive(empty + k % S::kRing);
  }
  __device__ static void copy_values(double* to, const double* from, int count, std::uint64_t* barrier) {
    support::copy_bulk(to, from, static_cast<std::uint32_t>(count * sizeof(double)), barrier);
  }

  /// The work of the warp that copies: all layers of a part of a block's chunk.
  __device__ void bring(const Average7Job& job, const BlockEntry& entry, int chunk, int part) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const double* const own = job.in.at(entry.in) + static_cast<long long>(chunk) * S::kChunk + part * S::kSlab;
    const auto xm = S::behind(job, entry.faces[0], 0, chunk), xp = S::behind(job, entry.faces[1], 1, chunk);
    auto ym = S::behind(job, entry.faces[2], 2, chunk), yp = S::behind(job, entry.faces[3], 3, chunk);
    if (part > 0) ym = {own - S::kRow, S::kRow, S::kPlane};
    if (part + 1 < S::kParts) yp = {own + S::kSlab, S::kRow, S::kPlane};
    const double* const below = S::behind(job, entry.faces[4], 4, chunk).at + part * S::kSlab;
    const double* const above = S::behind(job, entry.faces[5], 5, chunk).at + part * S::kSlab;
    const double* from[S::kCopiesEach];
    int step[S::kCopiesEach];
#pragma unroll
    for (int i = 0; i < S::kCopiesEach; ++i) {
      const int k = lane + i * 32;
      const bool right = k >= S::kCopies / 2;
      const int e = (right ? k - S::kCopies / 2 : k) * W;
      from[i] = (right ? xp.at : xm.at) + (part * S::kRows + e / S::kLanes) * (right ? xp.row : xm.row) + e % S::kLanes;
      step[i] = right ? xp.plane : xm.plane;
    }
    constexpr int kPlaneBytes = static_cast<int>(S::kSlab * sizeof(double));
    for (int k = 0; k < S::kLayers; ++k) {
      const int slot = k % S::kRing;
      const bool rim = k > 0 && k + 1 < S::kLayers;
      if (k >= S::kRing) support::barrier_wait(empty + slot, (k / S::kRing - 1) & 1);
      double* const to = values + slot * S::kSlot;
      if (lane == 0) {
        const int count = S::kSlab + (rim ? 2 * S::kRow : 0);
        support::barrier_arrive_expect(full + slot, static_cast<std::uint32_t>(count * sizeof(double)));
        support::copy_bulk(to, rim ? own + (k - 1) * S::kPlane : k == 0 ? below : above, kPlaneBytes, full + slot);
        if (rim) {
          copy_values(to + S::kAtY, ym.at + (k - 1) * ym.plane, S::kRow, full + slot);
          copy_values(to + S::kAtY + S::kRow, yp.at + (k - 1) * yp.plane, S::kRow, full + slot);
        }
      }
      if (rim) {
#pragma unroll
        for (int i = 0; i < S::kCopiesEach; ++i) {
          if (lane + i * 32 < S::kCopies)
            support::copy_small<W * sizeof(double)>(to + S::kAtX + (lane + i * 32) * W, from[i] + (k - 1) * step[i]);
        }
      }
      support::barrier_arrive_after_copies(full + slot);
    }
    support::copies_wait();
  }

  /// Offsets of a column and of what is beside it, in a slot.
  struct Column {
    int own, xm, xp, ym, yp;
    __device__ explicit Column(int column) : own(column * W) {
      const int y = own / S::kRow, e = own % S::kRow, x = e / S::kLanes, run = y * S::kLanes + e % S::kLanes;
      xm = x > 0 ? own - S::kLanes : S::kAtX + run;
      xp = x + 1 < S::kCells ? own + S::kLanes : S::kAtX + S::kRuns + run;
      ym = y > 0 ? own - S::kRow : S::kAtY + e;
      yp = y + 1 < S::kRows ? own + S::kRow : S::kAtY + S::kRow + e;
    }
  };

  /// The work of the others. `out`: the results of the chunk's part.
  template <bool Sum>
  __device__ void compute(double* out, const DeviceSumView& view, CellSum (&sums)[W]) const {
    using Vector = DeviceVector<W>;
    constexpr int C = S::kColumnsEach;
    const int t = static_cast<int>(threadIdx.x);
    Vector below[C], centre[C];
    const double* slot = wait_full(0);
#pragma unroll
    for (int c = 0; c < C; ++c) below[c] = load_shared<W>(slot + (t + c * S::kWorkers) * W);
    release(0);
    slot = wait_full(1);
#pragma unroll
    for (int c = 0; c < C; ++c) centre[c] = load_shared<W>(slot + (t + c * S::kWorkers) * W);
#pragma unroll(S::kCells <= 16 ? S::kCells : 4)
    for (int z = 0; z < S::kCells; ++z) {
      const double* const next = wait_full(z + 2);
      Vector v[C];
#pragma unroll
      for (int c = 0; c < C; ++c) {
        const Column at(t + c * S::kWorkers);
        const Vector above = load_shared<W>(next + at.own);
        v[c] = average7_vector<W>(load_shared<W>(slot + at.xm), load_shared<W>(slot + at.ym), below[c], centre[c],
                                  above, load_shared<W>(slot + at.yp), load_shared<W>(slot + at.xp));
        below[c] = centre[c];
        centre[c] = above;
      }
      release(z + 1);
#pragma unroll
      for (int c = 0; c < C; ++c) {
        store_global<W>(out + z * S::kPlane + (t + c * S::kWorkers) * W, v[c]);
        if constexpr (Sum) {
#pragma unroll
          for (int w = 0; w < W; ++w) sums[w].add(v[c].v[w], view);
        }
      }
      slot = next;
    }
  }
};

#endif

template <class S, bool Sum>
__global__ void __launch_bounds__(S::kThreads, S::resident(Sum))
    average7_planes(const __grid_constant__ PieceParameters p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char memory[];
  double* const values = reinterpret_cast<double*>(memory);
  auto* const scratch = reinterpret_cast<unsigned long long*>(values + S::kRing * S::kSlot);
  auto* const barriers = reinterpret_cast<std::uint64_t*>(scratch + (Sum ? S::kScratch : 0));
  const PlaneRing<S> ring{values, barriers, barriers + S::kRing, p.each_arrives};
  const unsigned int piece = blockIdx.x / S::kParts;
  const auto part = static_cast<int>(blockIdx.x % S::kParts);
  if (piece >= p.pieces) return;
  const WorkOrder::Place place = p.order.place(piece);
  if (threadIdx.x == S::kWorkers) ring.init();
  const BlockEntry entry = p.job.blocks[place.group];
  __syncthreads();
  CellSum sums[S::kWidth];
  if (threadIdx.x >= S::kWorkers) {
    ring.bring(p.job, entry, place.chunk, part);
  } else {
    if (threadIdx.x == 0) prefetch_piece(p, piece, 1, 0, S::kChunk, part, S::kParts);
    double* const out = p.job.out.at(entry.out) + static_cast<long long>(place.chunk) * S::kChunk + part * S::kSlab;
    ring.template compute<Sum>(out, p.job.sums, sums);
  }
  if constexpr (Sum) {
    __syncthreads();
    flush_sums<S::kLanes, S::kWidth>(sums, S::kChunk / S::kLanes / S::kParts, place.chunk, p.job.sums, scratch);
  }
#else
  __trap();  // call_planes() keeps older devices away
#endif
}

template <class S, bool Sum>
void call_planes_kernel(const Average7Call& call) {
  const auto kernel = average7_planes<S, Sum>;
  constexpr std::size_t bytes = S::bytes(Sum);
  allow_shared(kernel, bytes);
  if (call.facts != nullptr) {
    fill_facts(*call.facts, kernel, S::kThreads, bytes);
    call.facts->l2_values = l2_values(S::kLanes, S::kCells, 1.0, S::kParts, 1.0);
    const double written = 1.0 + (4.0 + 2.0 * S::kParts) / S::kCells, read = 5.0 + 2.0 / S::kCells;
    call.facts->shared_bytes_a_value = sizeof(double) * (written + read);
    call.facts->flight_bytes = std::size_t{S::kRing} * S::kSlot * sizeof(double);
    return;
  }
  const PieceParameters p = piece_parameters(call, 1);
  const auto grid = static_cast<unsigned int>(checked_pieces(static_cast<long long>(p.pieces) * S::kParts));
  if (grid > 0) launch_pieces(call, kernel, p, grid, S::kThreads, bytes);
}

}  // namespace amrbench::kernels::detail
