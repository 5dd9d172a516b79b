#include <algorithm>
#include <vector>

#include "kernels/mixed_cell.hpp"
#include "kernels/mixed_couple.cuh"
#include "kernels/mixed_cuda.hpp"
#include "kernels/mixed_view.cuh"

namespace amrbench::kernels {

namespace {

using namespace detail;

constexpr int kThreads = 256, kCoupleThreads = 512;
/// Kinds 4 and 5: up to so many cells one thread block does all groups of a block.
constexpr std::size_t kWholeCells = 512;

/// Calls f(place, a, b) for each column of the thread: a row of cells along an axis, and a place in the groups. a and b
/// count the cells across, `na` of them along a. Places are beside one another in memory, so they go first.
template <class F>
__device__ void each_column(const MixedParameters& p, int na, int nb, const F& f) {
  const int part = static_cast<int>(blockIdx.x) % p.parts, threads = static_cast<int>(blockDim.x);
  for (int k = part * threads + static_cast<int>(threadIdx.x); k < p.m * na * nb; k += p.parts * threads)
    f(k % p.m, k / p.m % na, k / p.m / na);
}
__device__ int block_number(const MixedParameters& p) {
  return static_cast<int>(blockIdx.x) / p.parts;
}

/// Variable 0 and those behind the groups, and in stages of kinds 0 to 3 variable 1, on which all others wait. A thread
/// a column along z.
__global__ void __launch_bounds__(kThreads) first_variables(const __grid_constant__ MixedParameters p) {
  __shared__ Around pieces[kPieces];
  const BlockView block(p, block_number(p), pieces);
  const int nx = block.cells(0), n = block.cells(2), step = block.step<2>(), m = p.m;
  const int k = static_cast<int>(blockIdx.x) % p.parts * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
  if (k >= nx * block.cells(1)) return;
  const int x = k % nx, y = k / nx;
  const auto average = [&](int variable) {
    const Place v = block.place(variable);
    const double *const xm = block.old(v, x - 1, y, 0), *const xp = block.old(v, x + 1, y, 0);
    const double *const ym = block.old(v, x, y - 1, 0), *const yp = block.old(v, x, y + 1, 0);
    const int step_xm = block.plane_step(x - 1, y), step_xp = block.plane_step(x + 1, y);
    const int step_ym = block.plane_step(x, y - 1), step_yp = block.plane_step(x, y + 1);
    const double* const own = block.old(v, x, y, 0);
    double* const to = block.fresh(v, x, y, 0);
    const double last = *block.old(v, x, y, n);
    double below = *block.old(v, x, y, -1), centre = *own;
    for (int z = 0; z < n; ++z) {
      const double above = z + 1 < n ? own[(z + 1) * step] : last;
      to[z * step] =
          average7<double>(xm[z * step_xm], ym[z * step_ym], below, centre, above, yp[z * step_yp], xp[z * step_xp]);
      below = centre, centre = above;
    }
  };
  average(0);
  for (int v = max(1, kGroups * m); v < p.layout.variables; ++v) average(v);
  for (int v = p.layout.variables; v < p.layout.chunks * p.layout.lanes; ++v)
    for (int z = 0; z < n; ++z) block.fresh(block.place(v), x, y, 0)[z * step] = 0.0;
  if (p.kind > 3 || m == 0) return;
  const double a1 = p.constants[0], a0_first = p.constants[1];
  const double *const first = block.fresh(block.place(0), x, y, 0), *const own = block.old(block.place(1), x, y, 0);
  const Place from = block.place(p.kind == 0 ? m : 2);
  double* const to = block.fresh(block.place(1), x, y, 0);
  for (int z = 0; z < n; ++z) {
    const double p0 = first[z * step];
    double u = own[z * step];
    Place q = from;
    for (int left = m; left > 0; --left) {
      // Of one group only, variable 1 is the one that is added, too.
      u = u + (q.chunk * p.layout.lanes + q.lane == 1 ? u : *block.old(q, x, y, z)) * p0;
      if (++q.lane == p.layout.lanes) q = {q.chunk + 1, 0};
    }
    if (p.kind != 0) u = u / (a1 + u);
    to[z * step] = in_range(u, a1, a0_first);
  }
}

/// Kind 0, behind first_variables: cells and places do not depend on one another.
__global__ void __launch_bounds__(kThreads, 4) react(const __grid_constant__ MixedParameters p) {
  __shared__ Around pieces[kPieces];
  const BlockView block(p, block_number(p), pieces);
  const double a1 = p.constants[0], a0_first = p.constants[1];
  each_column(p, block.cells(0), block.cells(1), [&](int i, int x, int y) {
    const double a0 = p.constants[1 + i];
    const OwnColumn column(block, p.m, i, x, y, 0);
    const double* from = column.old;
    double* to = column.fresh;
    for (int z = 0; z < block.cells(2); ++z) {
      const double p0 = to[column.first], p1 = to[column.second];
      const double u0 = from[column.group[0]], u1 = from[column.group[1]], u2 = from[column.group[2]],
                   u3 = from[column.group[3]];
      if (i > 1) to[column.group[0]] = in_range(reaction0(u0, p0, p1, a1), a1, a0_first);
      const double v1 = p.m + i == 1 ? p1 : in_range(reaction1(u1, p0, p1, u2, u3, a1), a1, a0_first);
      const double v2 = in_range(reaction2(u2, p0, p1, v1, u3, a1, a0), a1, a0_first);
      const double v3 = in_range(reaction3(u3, p0, p1, v1, v2, a1, a0), a1, a0_first);
      to[column.group[1]] = v1;
      to[column.group[2]] = v2;
      to[column.group[3]] = v3;
      from += block.step<2>();
      to += block.step<2>();
    }
  });
}

/// Kinds 1 to 3, behind first_variables: a thread walks along a row of cells. Groups 2 and 3 look at the new values of
/// group 1 before and behind a cell, so they follow a cell later. What the next cell needs is asked for a cell ahead.
template <int Axis>
__global__ void __launch_bounds__(kThreads, 3) transport(const __grid_constant__ MixedParameters p) {
  __shared__ Around pieces[kPieces];
  const BlockView block(p, block_number(p), pieces);
  const double a1 = p.constants[0], a0_first = p.constants[1];
  const auto in_range = [&](double value) { return detail::in_range(value, a1, a0_first); };
  each_column(p, block.cells(Axis == 0 ? 1 : 0), block.cells(Axis == 2 ? 1 : 2), [&](int i, int a, int b) {
    const double a0 = p.constants[1 + i], weight = a1 + a0;
    const int n = block.cells(Axis), step = block.step<Axis>();
    const auto outside = [&](int group, int c) {
      const Place v = block.place(group * p.m + i);
      return *block.old(v, Axis == 0 ? c : a, Axis == 1 ? c : Axis == 0 ? a : b, Axis == 2 ? c : b);
    };
    const OwnColumn column(block, p.m, i, Axis == 0 ? 0 : a, Axis == 1 ? 0 : Axis == 0 ? a : b, Axis == 2 ? 0 : b);
    const double* from = column.old;
    double* to = column.fresh;
    double behind_last[kGroups];
    Triple u[kGroups];
#pragma unroll
    for (int g = 1; g < kGroups; ++g) {
      behind_last[g] = outside(g, n);
      u[g] = {outside(g, -1), 0.0, from[column.group[g]]};
    }
    Triple driver{0.0, 0.0, u[1].before};
    struct Cell {
      double p0, p1, u0, behind[kGroups];
    };
    // Of cell c: variables 0 and 1 and group 0; of the others the value behind it.
    const auto load = [&](int c) {
      Cell cell;
      cell.p0 = to[column.first], cell.p1 = to[column.second], cell.u0 = from[column.group[0]];
#pragma unroll
      for (int g = 1; g < kGroups; ++g) cell.behind[g] = c + 1 < n ? from[column.group[g] + step] : behind_last[g];
      return cell;
    };
    Cell cell = load(0);
    double p1_before = 0.0, behind2 = u[2].behind, behind3 = u[3].behind;  // of groups 2 and 3, a cell late
    for (int c = 0; c <= n; ++c) {
      Cell next = cell;
      double* const here = to;
      from += step, to += step;
      if (c + 1 < n) next = load(c + 1);
      driver.before = driver.here, driver.here = driver.behind;
      if (c < n) {
        if (i > 1) here[column.group[0]] = in_range(transport0(cell.u0, cell.p0, cell.p1, a1, a0));
        u[1].here = u[1].behind, u[1].behind = cell.behind[1];
        const double value = limited(u[1], u[1], cell.p1) / weight1(u[1], weight, cell.p0, cell.p1);
        driver.behind = p.m + i == 1 ? cell.p1 : in_range(value);
        here[column.group[1]] = driver.behind;
        u[1].before = value;
      } else {
        driver.behind = behind_last[1];
      }
      if (c > 0) {
        u[2].here = u[2].behind, u[2].behind = behind2;
        u[3].here = u[3].behind, u[3].behind = behind3;
        const double v2 = limited(u[2], driver, p1_before) / weight23(u[2], weight, driver.here, u[3].here);
        const double ranged = in_range(v2);
        const double v3 = limited(u[3], driver, p1_before) / weight23(u[3], weight, ranged, driver.here);
        u[2].before = v2, u[3].before = v3;
        here[column.group[2] - step] = ranged;
        here[column.group[3] - step] = in_range(v3);
      }
      behind2 = cell.behind[2], behind3 = cell.behind[3], p1_before = cell.p1;
      cell = next;
    }
  });
}

/// The variables at one place of the four groups as those of `group` see them: partner k is that of the k-th group on,
/// its values in the block new where that group comes before.
struct Partners {
  const BlockView& block;
  Place variables[kGroups];
  bool fresh[kGroups];

  __device__ Partners(const BlockView& of, int m, int group, int place) : block(of) {
#pragma unroll
    for (int k = 0; k < kGroups; ++k) {
      const int other = (group + k) % kGroups;
      variables[k] = block.place(other * m + place);
      fresh[k] = other < group;
    }
  }
  /// The value of partner k in plane 0 of a column, which may lie beside the block.
  [[nodiscard]] __device__ const double* first(int k, int x, int y) const {
    return fresh[k] && block.inside(x, y) ? block.fresh(variables[k], x, y, 0) : block.old(variables[k], x, y, 0);
  }
  /// In the plane below (-1) or above (n) the block.
  [[nodiscard]] __device__ double outside(int k, int x, int y, int z) const {
    return *block.old(variables[k], x, y, z);
  }
};

/// One column of kind 4.
__device__ void couple7(const Partners& from, int x, int y, double a1, double a0_first) {
  const BlockView& block = from.block;
  const int n = block.cells(2), step = block.step<2>();
  constexpr int kSides = 4, kDx[kSides] = {-1, 1, 0, 0}, kDy[kSides] = {0, 0, -1, 1};
  const double *u[kSides], *q[kSides];
  int beside[kSides];
#pragma unroll
  for (int k = 0; k < kSides; ++k) {
    const int xx = x + kDx[k], yy = y + kDy[k];
    u[k] = from.first(0, xx, yy);
    q[k] = from.first(k < 2 ? 1 : 2, xx, yy);
    beside[k] = block.plane_step(xx, yy);
  }
  const double *const own = from.first(0, x, y), *const pz = from.first(3, x, y);
  double* const to = block.fresh(from.variables[0], x, y, 0);
  double before = from.outside(0, x, y, -1) * from.outside(3, x, y, -1), here = *own * *pz, centre = *own;
  const double last = from.outside(0, x, y, n) * from.outside(3, x, y, n);
  for (int z = 0; z < n; ++z) {
    const double next = z + 1 < n ? own[(z + 1) * step] : 0.0;
    const double behind = z + 1 < n ? next * pz[(z + 1) * step] : last;
    const auto product = [&](int k) { return u[k][z * beside[k]] * q[k][z * beside[k]]; };
    const double sum = product(0) + product(2) + before + centre * centre + behind + product(3) + product(1);
    to[z * step] = in_range(sum / 7.0 * (a1 + centre), a1, a0_first);
    before = here, here = behind, centre = next;
  }
}

/// One column of kind 5. A cell that differs along k axes comes from partner k, so of a column of cells beside the
/// thread's, one partner's are read at the cell's height, and the next partner's below and above.
__device__ void couple27(const Partners& from, int x, int y, double a1, double a0_first) {
  const BlockView& block = from.block;
  const int n = block.cells(2), step = block.step<2>();
  constexpr int kColumns = 9;
  const double *level[kColumns], *next[kColumns];
  int beside[kColumns];
  double below[kColumns], here[kColumns], above[kColumns];
#pragma unroll
  for (int k = 0; k < kColumns; ++k) {
    const int dx = k / 3 - 1, dy = k % 3 - 1, away = dx * dx + dy * dy;
    level[k] = from.first(away, x + dx, y + dy);
    next[k] = from.first(away + 1, x + dx, y + dy);
    beside[k] = block.plane_step(x + dx, y + dy);
    below[k] = from.outside(away + 1, x + dx, y + dy, -1);
    here[k] = *next[k];
  }
  double* to = block.fresh(from.variables[0], x, y, 0);
  const double divisor = a1 + 27.0;
  const auto one_plane = [&] {
    double sum = 0.0;
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
      sum = k == 0 ? below[k] : sum + below[k];
      sum = sum + *level[k] + above[k];
      level[k] += beside[k];
      below[k] = here[k], here[k] = above[k];
    }
    *to = in_range(sum / divisor, a1, a0_first);
    to += step;
  };
#pragma unroll 1
  for (int z = 1; z < n; ++z) {
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
      next[k] += beside[k];
      above[k] = *next[k];
    }
    one_plane();
  }
#pragma unroll
  for (int k = 0; k < kColumns; ++k) {
    const int dx = k / 3 - 1, dy = k % 3 - 1;
    above[k] = from.outside(dx * dx + dy * dy + 1, x + dx, y + dy, n);
  }
  one_plane();
}

/// Kinds 4 and 5, groups `first` to `last`, each of which needs the ones before it done in its block: more than one
/// only where a thread block has all columns of its places.
template <bool Wide>
__global__ void __launch_bounds__(kCoupleThreads)
    couple(const __grid_constant__ MixedParameters p, int first, int last) {
  __shared__ Around pieces[kPieces];
  const BlockView block(p, block_number(p), pieces);
  const double a1 = p.constants[0], a0_first = p.constants[1];
  for (int group = first; group <= last; ++group) {
    if (group > first) __syncthreads();
    each_column(p, block.cells(0), block.cells(1), [&](int i, int x, int y) {
      if (group == 0 && i == 0) return;  // done by first_variables
      const Partners from(block, p.m, group, i);
      Wide ? couple27(from, x, y, a1, a0_first) : couple7(from, x, y, a1, a0_first);
    });
  }
}

}  // namespace

DeviceMixed::DeviceMixed(const BlockLayout& layout, const support::CudaStream& stream)
    : layout_(layout), m_(layout.variables / kGroups) {
  const MixedConstants constants = mixed_constants(layout.variables);
  std::vector<double> numbers{constants.a1};
  numbers.insert(numbers.end(), constants.a0.begin(), constants.a0.end());
  constants_.resize_discard(numbers.size());
  support::copy_to_device(constants_.data(), numbers.data(), numbers.size(), stream);
  stream.synchronize();
}

int DeviceMixed::launch(std::int64_t stage, const DeviceSurroundings& around, const std::int32_t* blocks, int count,
                        const support::DeviceSlots& out, const support::CudaStream& stream) {
  if (count == 0) return 0;
  MixedParameters p{layout_, around, blocks, constants_.data(), m_, static_cast<int>(stage % 6), 1, out};
  int launches = 0;
  // A thread a column of the block; `whole`: a thread block has them all.
  const auto go = [&](auto kernel, int columns, int most, bool whole, auto... more) {
    const int threads = std::min(most, (columns + 31) / 32 * 32);
    p.parts = whole ? 1 : (columns + threads - 1) / threads;
    kernel<<<static_cast<unsigned int>(count) * static_cast<unsigned int>(p.parts), threads, 0, stream.get()>>>(
        p, more...);
    support::cuda_check_launch("mixed");
    ++launches;
  };
  const auto across = [&](int axis) { return static_cast<int>(layout_.face_cells(axis)); };
  go(first_variables, across(2), kThreads, false);
  if (m_ == 0) return launches;
  const bool whole = layout_.block_cells() <= kWholeCells;
  const int together = whole ? kGroups : 1;
  switch (p.kind) {
    case 0:
      go(react, m_ * across(2), kThreads, false);
      break;
    case 1:
      go(transport<0>, m_ * across(0), kThreads, false);
      break;
    case 2:
      go(transport<1>, m_ * across(1), kThreads, false);
      break;
    case 3:
      go(transport<2>, m_ * across(2), kThreads, false);
      break;
    default:
      if (const CoupleShape shape = couple_shape(layout_, m_, support::current_device_shape().shared_bytes);
          shape.places > 0) {
        p.kind == 4 ? launch_couple_planes<false>(p, shape, count, stream)
                    : launch_couple_planes<true>(p, shape, count, stream);
        support::cuda_check_launch("mixed");
        return launches + 1;
      }
      for (int first = 0; first < kGroups; first += together) {
        const auto kernel = p.kind == 4 ? couple<false> : couple<true>;
        go(kernel, m_ * across(2), kCoupleThreads, whole, first, first + together - 1);
      }
  }
  return launches;
}

}  // namespace amrbench::kernels
