#pragma once
// How kernels of faces move values. Included by faces_cuda.cu and wide_faces_cuda.cu.
//
// A job has few values, from 4 to some thousand, and there are many jobs. Of all jobs of a group the same cells are
// read, counted from where the job's layer lies, and go to the same places, counted from where its face lies. So the
// threads of a warp work out once which cells their values are of. They look up where the layers and the faces of a few
// jobs lie and write that to shared memory; then they move the values, several a thread at a time. A large job is
// shared out among warps.
#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "kernels/divider.hpp"
#include "kernels/extensive.hpp"
#include "support/cuda.hpp"

namespace amrbench::kernels::face_move {

inline constexpr int kWarp = 32, kWarps = 4, kResident = 8;
inline constexpr int kMostJobs = 16;   // of a warp
inline constexpr int kMostRounds = 4;  // of a warp
inline constexpr int kMostPasses = 2;
inline constexpr int kMostGroups = 26;
inline constexpr int kNoJob = 1 << 20;

/// Values of a thread at a time: each is one that is read, or a sum of four.
__host__ __device__ constexpr int values_each(bool sums) {
  return sums ? 2 : 4;
}

/// Which cells of a layer are read along an axis of its plane: for cell k of a job, cell first + ((k + more) >> half),
/// or, in sums, 2 (first + k) and the next one, neither beyond low .. high. Below 0 and from `cells` on they lie in
/// other parts of the layer.
struct Reach {
  int first = 0, more = 0, half = 0, low = 0, high = 0, cells = 0;
};

/// Jobs of one kind, one behind the other in the list. Steps in doubles.
struct Group {
  int first = 0, jobs = 0;
  int cells_a = 0, cells_b = 0;  ///< of a job
  Reach a, b;
  int to_a = 0, to_b = 0;  ///< steps from cell to cell where values go
  bool sums = false, divides = false;
  // The rest is filled in by Groups.
  int values = 0;       ///< of a job and chunk
  int at_once = 1;      ///< jobs of a warp's round
  int rounds = 1;       ///< of a warp, one behind the other
  int passes = 1;       ///< of a warp over them, each with other values of jobs that have more than a round moves
  int stretches = 1;    ///< warps of a job that has still more
  int first_block = 0;  ///< of the grid
  Divider by_values, by_a;
  [[nodiscard]] int warps(int rounds_of_warp) const {
    return (jobs + at_once * rounds_of_warp - 1) / (at_once * rounds_of_warp) * stretches;
  }
};

/// Kernel argument.
struct Groups {
  int lanes = 1;
  Divider by_lanes;
  int count = 0, blocks = 0;
  Group all[kMostGroups];

  explicit Groups(int lanes_of_chunk) : lanes(lanes_of_chunk), by_lanes(lanes_of_chunk) {}
  void add(Group g) {
    if (g.jobs == 0) return;
    if (count == kMostGroups) throw std::logic_error("more kinds of face jobs than there are");
    const int room = values_each(g.sums) * kWarp;
    g.values = g.cells_a * g.cells_b * lanes;
    g.at_once = std::clamp(room / g.values, 1, kMostJobs);
    g.passes = std::clamp((g.values + room - 1) / room, 1, kMostPasses);
    g.stretches = (g.values + g.passes * room - 1) / (g.passes * room);
    g.by_values = Divider(g.values);
    g.by_a = Divider(g.cells_a);
    all[count++] = g;
  }
  /// Shares all groups out among thread blocks: warps have several rounds where there are enough of them.
  void share_out(int chunks) {
    constexpr std::int64_t kEnough = 1 << 14;
    std::int64_t warps = 0;
    for (int k = 0; k < count; ++k) warps += all[k].warps(1);
    const auto most = static_cast<int>(std::clamp<std::int64_t>(warps * chunks / kEnough, 1, kMostRounds));
    for (int k = 0; k < count; ++k) {
      Group& g = all[k];
      g.rounds = std::clamp(kMostJobs / g.at_once, 1, most);
      g.first_block = blocks;
      blocks += (g.warps(g.rounds) + kWarps - 1) / kWarps;
    }
  }
};

/// Cells in a plane, from one on.
struct alignas(16) Plane {
  const double* at;
  int a, b;  ///< steps
};

/// Where the jobs of a warp read and write.
template <int Parts>
struct Places {
  Plane parts[kMostJobs][Parts];
  double* to[kMostJobs];
};

/// A value of a round: its job, a large number if there is none, and N x N cells that are read.
template <int N>
struct Value {
  int job, to, lane;
  int a[N], b[N];  ///< cells
  int part[N][N];
};

/// Value e of a round, counted from value `from` of its first job on.
template <int N, int Parts>
__device__ Value<N> value_of(const Groups& all, const Group& g, int e, int from) {
  Value<N> v;
  v.job = g.at_once == 1 ? 0 : g.by_values(e);
  const int k = e - v.job * g.values + from;
  if (k >= g.values || v.job >= g.at_once) v.job = kNoJob;
  const int cell = all.by_lanes(k), b = g.by_a(cell), a = cell - b * g.cells_a;
  v.lane = k - cell * all.lanes;
  v.to = a * g.to_a + b * g.to_b + v.lane;
  const auto find = [](const Reach& r, int cell_of_job, int i) {
    if constexpr (N == 1) return r.first + ((cell_of_job + r.more) >> r.half);
    return max(r.low, min(2 * (r.first + cell_of_job) + i, r.high));
  };
#pragma unroll
  for (int i = 0; i < N; ++i) v.a[i] = find(g.a, a, i), v.b[i] = find(g.b, b, i);
  const auto side = [](const Reach& r, int at) { return at < 0 ? 0 : at < r.cells ? 1 : 2; };
#pragma unroll
  for (int i = 0; i < N; ++i) {
#pragma unroll
    for (int j = 0; j < N; ++j) v.part[i][j] = Parts == 1 ? 0 : 3 * side(g.b, v.b[j]) + side(g.a, v.a[i]);
  }
  return v;
}

/// Moves a round's values of jobs from `first` on, as far as there are `present` of them.
template <int N, int Parts, int Each>
__device__ void move_values(const Value<N> (&values)[Each], const Places<Parts>& places, int first, int present,
                            bool divides) {
  double read[Each][N][N];
#pragma unroll
  for (int j = 0; j < Each; ++j) {
    const Value<N>& v = values[j];
    if (first + v.job >= present) continue;
#pragma unroll
    for (int ia = 0; ia < N; ++ia) {
#pragma unroll
      for (int ib = 0; ib < N; ++ib) {
        const Plane p = places.parts[first + v.job][v.part[ia][ib]];
        read[j][ia][ib] = p.at[v.a[ia] * p.a + v.b[ib] * p.b + v.lane];
      }
    }
  }
#pragma unroll
  for (int j = 0; j < Each; ++j) {
    const Value<N>& v = values[j];
    if (first + v.job >= present) continue;
    double& to = places.to[first + v.job][v.to];
    if constexpr (N == 1)
      to = divides ? face_quarter(read[j][0][0]) : read[j][0][0];
    else
      to = face_sum(read[j][0][0], read[j][0][1], read[j][1][0], read[j][1][1]);
  }
}

/// Does what warp `warp` of a group's has to do. Work is as for move_kernel.
template <int N, class Work>
__device__ void move_group(const Work& work, const Groups& all, const Group& g, int warp,
                           Places<Work::kParts>& places) {
  constexpr int kParts = Work::kParts, kEach = values_each(N > 1);
  const int t = static_cast<int>(threadIdx.x) % kWarp, chunk = static_cast<int>(blockIdx.y);
  const int run = warp / g.stretches, from = (warp - run * g.stretches) * g.passes * kEach * kWarp;
  const int begin = run * g.at_once * g.rounds, present = min(g.at_once * g.rounds, g.jobs - begin);
  if (present <= 0) return;
  const auto* const jobs = work.jobs + g.first + begin;
  for (int k = t; k < present * kParts; k += kWarp) {
    const int job = k / kParts, part = k - job * kParts;
    places.parts[job][part] = work.part(jobs[job], chunk, part);
  }
  if (t < present) places.to[t] = work.target(jobs[t], chunk);
  __syncwarp();
#pragma unroll 1
  for (int pass = 0; pass < g.passes; ++pass) {
    Value<N> values[kEach];
#pragma unroll
    for (int j = 0; j < kEach; ++j) values[j] = value_of<N, kParts>(all, g, t + j * kWarp, from + pass * kEach * kWarp);
#pragma unroll 1
    for (int first = 0; first < present; first += g.at_once)
      move_values<N>(values, places, first, min(present, first + g.at_once), g.divides);
  }
}

/// All groups of one chunk, blockIdx.y. Work has jobs, and for each: kParts parts of the layer that it reads, 1 or 9
/// (those before the block's cells, its own and those behind, along a and b), and where its first value goes.
template <class Work>
__global__ void __launch_bounds__(kWarps* kWarp, kResident)
    move_kernel(const __grid_constant__ Work work, const __grid_constant__ Groups groups) {
  __shared__ Places<Work::kParts> places[kWarps];
  const int block = static_cast<int>(blockIdx.x), warp = static_cast<int>(threadIdx.x) / kWarp;
  int number = 0;
  while (number + 1 < groups.count && block >= groups.all[number + 1].first_block) ++number;
  const Group& g = groups.all[number];
  const int warp_of_group = (block - g.first_block) * kWarps + warp;
  g.sums ? move_group<2>(work, groups, g, warp_of_group, places[warp])
         : move_group<1>(work, groups, g, warp_of_group, places[warp]);
}

/// Puts the jobs of so many chunks into the stream.
template <class Work>
void launch_moves(const Work& work, Groups groups, int chunks, const support::CudaStream& stream) {
  groups.share_out(chunks);
  const dim3 grid(static_cast<unsigned int>(groups.blocks), static_cast<unsigned int>(chunks));
  move_kernel<<<grid, kWarps * kWarp, 0, stream.get()>>>(work, groups);
  support::cuda_check_launch("faces");
}

}  // namespace amrbench::kernels::face_move
