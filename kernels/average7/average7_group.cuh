#pragma once
// The kernel `group` of kernels/average7/average7_cuda.hpp, compiled for `Lanes` lanes, for blocks of any shape that
// fit shared memory. Included by average7_cuda_group.cu only.
//
// Computes a stage of the listed blocks; in and out as in average7_cuda.hpp.
//
// The idea. A thread block takes one chunk of a few blocks that follow each other in the list, so on the curve. It
// copies them to shared memory, and the faces around them: a chunk, a face across z and each row of one across y is one
// bulk copy, values across x are copies of 8 bytes. One barrier says that all has come. A face whose block belongs to
// the group is not copied: it is read where that block lies in shared memory. Of eight siblings these are half of all
// faces. Then a thread takes a column along z of two values that lie side by side, whichever cells and lanes they are
// of: rows have an even number of values, so pairs are whole, and only what lies beside them across x is loaded one by
// one.
//
// Counts a value: shared memory 8 (1 + faces copied / cells) bytes written, 40 read; second-level cache: facts.
#include "kernels/average7/average7_call.cuh"
#include "kernels/device_sum.cuh"
#include "kernels/divider.hpp"

namespace amrbench::kernels::detail {

inline constexpr int kGroupMost = 256;     // threads
inline constexpr int kGroupBlocks = 4;     // of a group, at most
inline constexpr int kGroupBulk = 5;       // of a block: itself, faces across y and z
inline constexpr int kGroupTable = 2 * 8;  // ints a block: its entry and which blocks of the group are around it
inline constexpr int kGroupWidth = 2;      // values of a column in a plane
/// Bytes in shared memory before the values: tables and the barrier, filled up to a line.
inline constexpr std::size_t kGroupHead = kGroupBlocks * kGroupTable * sizeof(int) + 128;

/// Sizes in doubles where not said otherwise.
struct GroupShape {
  int items = 1;                            ///< blocks of a group
  int workers = 0;                          ///< threads that compute
  int threads = 0;                          ///< of a thread block, workers filled up to whole warps
  int columns = 0;                          ///< of a block
  int face[3] = {0, 0, 0};                  ///< one face across each axis
  int faces = 0;                            ///< all six: x, x, y, y, z, z
  Divider by_columns, by_row, by_ny, by_x;  ///< columns of a block and of a row; copies of a face across x
};

struct GroupParameters {
  BlockLayout layout;
  PieceParameters pieces;
  GroupShape shape;
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

/// A thread block's group: the tables in shared memory and the steps of its work.
template <int Lanes>
struct GroupOfBlocks {
  const PieceParameters& p;
  const GroupShape& s;
  const DeviceShape<Lanes, 0>& n;
  int chunk;
  double* values;  ///< the blocks, then their faces
  std::uint64_t* barrier;
  int* entries;  ///< [item][8]: BlockEntry, in = -1 behind the last block
  int* inside;   ///< [item][8]: at 1 + face the block of the group behind that face, else -1
  static constexpr int W = kGroupWidth;
  static constexpr int kAcross = Lanes % 2 == 0 ? W : 1;  ///< doubles that move together across x
  /// What is loaded beside a pair across x: a pair, or two values, or, of one lane, one, for the other is its own.
  static constexpr int kBeside = Lanes == 1 || kAcross == W ? 1 : W;

  __device__ void find_inside() const {
    const int t = static_cast<int>(threadIdx.x);
    if (t >= s.items * 8) return;
    int found = -1;
    if (t % 8 >= 1 && t % 8 <= 6 && entries[t] >= 0) {
      for (int g = 0; g < s.items; ++g)
        if (entries[g * 8] == entries[t] >> 1) found = g;
    }
    inside[t] = found;
  }
  [[nodiscard]] __device__ bool outside(int g, int face) const {
    return entries[g * 8] >= 0 && inside[g * 8 + 1 + face] < 0;
  }
  [[nodiscard]] __device__ double* face_at(int g, int face) const {
    const int axis = face / 2, before = axis == 0 ? 0 : 2 * s.face[0] + (axis == 1 ? 0 : 2 * s.face[1]);
    return values + s.items * n.chunk() + g * s.faces + before + face % 2 * s.face[axis];
  }
  /// From a block's first value to the layer that others see behind their face across an axis.
  [[nodiscard]] __device__ int layer(FaceCode code, int axis) const {
    return (code & 1) * (axis == 0 ? n.row() - Lanes : axis == 1 ? n.plane() - n.row() : n.chunk() - n.plane());
  }
  /// Where that layer lies in memory.
  [[nodiscard]] __device__ const double* source(FaceCode code, int axis) const {
    if (face_is_packed(code)) return p.job.packed + packed_offset(code) + static_cast<long long>(chunk) * s.face[axis];
    return p.job.in.at(code >> 1) + static_cast<long long>(chunk) * n.chunk() + layer(code, axis);
  }

  /// Each of a block's bulk copies is one arrival, whether it brings something or not.
  __device__ void copy_bulks() const {
    for (int k = static_cast<int>(threadIdx.x); k < s.items * kGroupBulk; k += static_cast<int>(blockDim.x)) {
      const int g = k / kGroupBulk, face = k % kGroupBulk + 1;  // 1 stands for the block
      double* to = values + g * n.chunk();
      const double* from = nullptr;
      int run = n.chunk(), runs = 1, step = 0;
      if (face > 1) {
        if (outside(g, face)) {
          const FaceCode code = entries[g * 8 + 1 + face];
          from = source(code, face / 2);
          to = face_at(g, face);
          run = s.face[face / 2];
          if (face < 4 && !face_is_packed(code)) {
            run = n.row();
            runs = n.nz();
            step = n.plane();
          }
        }
      } else if (entries[g * 8] >= 0) {
        from = p.job.in.at(entries[g * 8]) + static_cast<long long>(chunk) * n.chunk();
      }
      if (from == nullptr) {
        support::barrier_arrive(barrier);
        continue;
      }
      const auto bytes = static_cast<std::uint32_t>(run * sizeof(double));
      support::barrier_arrive_expect(barrier, bytes * runs);
      for (int r = 0; r < runs; ++r) support::copy_bulk(to + r * run, from + r * step, bytes, barrier);
    }
  }
  /// Faces across x.
  __device__ void copy_across_x() const {
    const int each = s.face[0] / kAcross;
    for (int k = static_cast<int>(threadIdx.x); k < s.items * 2 * each; k += static_cast<int>(blockDim.x)) {
      const int number = s.by_x(k), g = number / 2, face = number % 2, e = (k - number * each) * kAcross;
      if (!outside(g, face)) continue;
      const FaceCode code = entries[g * 8 + 1 + face];
      const int cell = e / Lanes, z = s.by_ny(cell), y = cell - z * n.ny();
      const int away = face_is_packed(code) ? e : z * n.plane() + y * n.row() + e % Lanes;
      support::copy_small<kAcross * sizeof(double)>(face_at(g, face) + e, source(code, 0) + away);
    }
  }

  struct Neighbor {
    const double* at;
    int step;
  };
  /// What a column finds behind a face of its block. in_layer: the column's place in the layer behind, when that block
  /// is in the group; in_face: its place in the copied face otherwise; step: from plane to plane there.
  __device__ Neighbor behind(int g, int face, int in_layer, int in_face, int step) const {
    const int other = inside[g * 8 + 1 + face];
    if (other < 0) return {face_at(g, face) + in_face, step};
    return {values + other * n.chunk() + layer(entries[g * 8 + 1 + face], face / 2) + in_layer, n.plane()};
  }
  /// The neighbour across x of the value at place `at` of a plane.
  __device__ Neighbor across_x(int g, int side, int at, int y) const {
    const int e = at - y * n.row(), x = e / Lanes, lane = e - x * Lanes;
    if (side == 0 ? x > 0 : x + 1 < n.nx())
      return {values + g * n.chunk() + at + (side == 0 ? -Lanes : Lanes), n.plane()};
    return behind(g, side, y * n.row() + lane, y * Lanes + lane, n.ny() * Lanes);
  }

  template <bool Sum>
  __device__ void compute(CellSum (&sums)[W]) const {
    using Vector = DeviceVector<W>;
    for (int k = static_cast<int>(threadIdx.x); k < s.items * s.columns; k += s.workers) {
      const int g = s.by_columns(k), column = k - g * s.columns, at = column * W, y = s.by_row(column);
      if (entries[g * 8] < 0) continue;
      const int e = at - y * n.row();
      const double* own = values + g * n.chunk() + at;
      Neighbor xm[kBeside], xp[kBeside];
#pragma unroll
      for (int i = 0; i < kBeside; ++i) {
        xm[i] = across_x(g, 0, at + i, y);
        xp[i] = across_x(g, 1, at + (Lanes == 1 ? 1 : i), y);
      }
      Neighbor ym = y > 0 ? Neighbor{own - n.row(), n.plane()} : behind(g, 2, e, e, n.row());
      Neighbor yp = y + 1 < n.ny() ? Neighbor{own + n.row(), n.plane()} : behind(g, 3, e, e, n.row());
      Vector below = load_shared<W>(behind(g, 4, at, at, 0).at), centre = load_shared<W>(own);
      const double* const last = behind(g, 5, at, at, 0).at;
      double* out = p.job.out.at(entries[g * 8 + 7]) + static_cast<long long>(chunk) * n.chunk() + at;
      const auto beside = [](Neighbor(&x)[kBeside], const Vector& middle, int side) {
        Vector v;
        if constexpr (Lanes == 1) {
          const double other = *x[0].at;
          v = side == 0 ? Vector{other, middle.v[0]} : Vector{middle.v[1], other};
        } else if constexpr (kAcross == W) {
          v = load_shared<W>(x[0].at);
        } else {
          v = {*x[0].at, *x[kBeside - 1].at};
        }
#pragma unroll
        for (int i = 0; i < kBeside; ++i) x[i].at += x[i].step;
        return v;
      };
#pragma unroll 4
      for (int z = 0; z < n.nz(); ++z) {
        own += n.plane();
        const Vector above = load_shared<W>(z + 1 < n.nz() ? own : last);
        const Vector v = average7_vector<W>(beside(xm, centre, 0), load_shared<W>(ym.at), below, centre, above,
                                            load_shared<W>(yp.at), beside(xp, centre, 1));
        ym.at += ym.step;
        yp.at += yp.step;
        store_global<W>(out, v);
        out += n.plane();
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

template <int Lanes, bool Sum>
__global__ void __launch_bounds__(kGroupMost, Sum ? 4 : 6) average7_group(const __grid_constant__ GroupParameters all) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char memory[];
  const PieceParameters& p = all.pieces;
  const GroupShape& s = all.shape;
  if (blockIdx.x >= p.pieces) return;
  const DeviceShape<Lanes, 0> n(all.layout);
  int* const entries = reinterpret_cast<int*>(memory);
  auto* const barrier = reinterpret_cast<std::uint64_t*>(entries + kGroupBlocks * kGroupTable);
  double* const values = reinterpret_cast<double*>(memory + kGroupHead);
  const WorkOrder::Place place = p.order.place(blockIdx.x);
  const GroupOfBlocks<Lanes> group{p, s, n, place.chunk, values, barrier, entries, entries + kGroupBlocks * 8};
  const int t = static_cast<int>(threadIdx.x), first = place.group * s.items;
  if (t < s.items * 8) {
    const int block = first + t / 8;
    entries[t] = block < p.job.count ? reinterpret_cast<const int*>(p.job.blocks)[block * 8 + t % 8] : -1;
  }
  if (t == 0) {
    support::barrier_init(barrier, blockDim.x + s.items * kGroupBulk);
    support::barrier_init_fence();
  }
  __syncthreads();
  group.find_inside();
  __syncthreads();
  group.copy_bulks();
  group.copy_across_x();
  support::barrier_arrive_after_copies(barrier);
  const int late = t - (s.threads - 32);
  if (late >= 0 && late < s.items) prefetch_piece(p, blockIdx.x, s.items, late, n.chunk());
  CellSum sums[kGroupWidth];
  support::barrier_wait(barrier, 0);
  if (t < s.workers) group.template compute<Sum>(sums);
  if constexpr (Sum) {
    __syncthreads();  // the scratch of sums lies where values lay
    const int cells = min(s.items, p.job.count - first) * n.chunk() / Lanes;
    flush_sums<Lanes, kGroupWidth>(sums, static_cast<std::uint32_t>(cells), place.chunk, p.job.sums,
                                   reinterpret_cast<unsigned long long*>(values));
  }
#else
  __trap();  // call_group() keeps older devices away
#endif
}

/// items: blocks of a group; threads: of a thread block, at most; period: threads after which lanes repeat, where that
/// matters.
inline GroupShape group_shape(const BlockLayout& l, int items, int threads, int period) {
  const int nx = l.cells[0], ny = l.cells[1], nz = l.cells[2], lanes = l.lanes;
  GroupShape s;
  s.items = items;
  s.columns = nx * ny * lanes / kGroupWidth;
  const int all = s.items * s.columns, most = std::clamp(threads, 64, kGroupMost) / period * period;
  const int passes = (all + most - 1) / most;
  s.workers = ((all + passes - 1) / passes + period - 1) / period * period;
  s.threads = std::max(64, (s.workers + 31) / 32 * 32);
  s.face[0] = ny * nz * lanes;
  s.face[1] = nx * nz * lanes;
  s.face[2] = nx * ny * lanes;
  s.faces = 2 * (s.face[0] + s.face[1] + s.face[2]);
  s.by_columns = Divider(s.columns);
  s.by_row = Divider(nx * lanes / kGroupWidth);
  s.by_ny = Divider(ny);
  s.by_x = Divider(s.face[0] / (lanes % 2 == 0 ? kGroupWidth : 1));
  return s;
}

/// Bytes of shared memory.
inline std::size_t group_bytes(const BlockLayout& l, const GroupShape& s) {
  return kGroupHead + s.items * (l.chunk_values() + s.faces) * sizeof(double);
}

template <int Lanes, bool Sum>
void call_group_kernel(const Average7Call& call, int items) {
  const int threads = call.options.threads > 0 ? call.options.threads : kGroupMost;
  const GroupShape s = group_shape(call.layout, items, threads, Sum ? kSumPeriod<Lanes, kGroupWidth> : 1);
  const auto kernel = average7_group<Lanes, Sum>;
  const std::size_t scratch =
      Sum ? sum_scratch_words<Lanes, kGroupWidth>(s.threads) * sizeof(unsigned long long) + kGroupHead : 0;
  const std::size_t bytes = std::max(group_bytes(call.layout, s), scratch);
  allow_shared(kernel, bytes);
  if (call.facts != nullptr) {
    // 2 or 4 blocks that follow one another on the curve form a box: siblings along x, then y.
    const double x = items >= 2 ? 0.5 : 1.0, y = items >= 4 ? 0.5 : 1.0, z = 1.0;
    const int nx = call.layout.cells[0];
    fill_facts(*call.facts, kernel, s.threads, bytes);
    call.facts->l2_values = l2_values(Lanes, nx, x, y, z);
    const double written = 1.0 + 2.0 * (x + y + z) / nx, read = 5.0 + 1.0 / nx;
    call.facts->shared_bytes_a_value = sizeof(double) * (written + read);
    call.facts->flight_bytes = static_cast<std::size_t>(written * items * call.layout.chunk_values() * sizeof(double));
    return;
  }
  const GroupParameters p{call.layout, piece_parameters(call, items), s};
  if (p.pieces.pieces > 0) launch_pieces(call, kernel, p, p.pieces.pieces, s.threads, bytes);
}

}  // namespace amrbench::kernels::detail
