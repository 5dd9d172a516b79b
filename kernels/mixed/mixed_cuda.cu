#include <algorithm>
#include <stdexcept>
#include <vector>

#include "kernels/mixed/mixed_cell.hpp"
#include "kernels/mixed/mixed_couple.cuh"
#include "kernels/mixed/mixed_cuda.hpp"
#include "kernels/mixed/mixed_first.cuh"
#include "kernels/mixed/mixed_rows.cuh"
#include "kernels/mixed/mixed_view.cuh"
#include "kernels/mixed/mixed_walk.cuh"

namespace amrbench::kernels {

namespace {

using namespace detail;

constexpr int kThreads = 256, kCoupleThreads = 512, kMostPlaces = 64;
/// Kinds 0 to 3: old values of the cells that a thread block has at a time, which the first-level cache is to hold.
constexpr int kWalkBytes = 64 << 10;
/// Cells of a column that is over before what it prefetches comes; so another thread block has done that. Places with
/// which longer columns gain by prefetching: with more the values of a cell are far from one another, and some lose.
constexpr int kShortColumn = 12, kFewPlaces = 6;

__device__ int block_number(const MixedParameters& p) {
  return static_cast<int>(blockIdx.x) / p.parts;
}

/// In stages of kinds 4 and 5, and where there are no groups, all variables that have none. A thread a column of cells
/// along z and variable.
__global__ void __launch_bounds__(kThreads) first_columns(const __grid_constant__ MixedParameters p) {
  __shared__ Around pieces[kPieces];
  const BlockView block(p, block_number(p), pieces);
  const int k = static_cast<int>(blockIdx.x) % p.parts * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
  const int nx = block.cells(0), ny = block.cells(1), y = k / nx % ny, number = k / nx / ny;
  const int behind = max(1, kGroups * p.m), variable = number == 0 ? 0 : behind + number - 1;
  if (variable < p.layout.variables) average_column(block, variable, k % nx, y);
}

/// Kinds 0, 2 and 3, some cells of all columns at a time: all threads find their variables 0 and 1, a thread a cell;
/// then the groups follow, a thread a column and place. What was read for the one is still at hand for the other.
template <int Axis, class Walk, int Resident>
__global__ void __launch_bounds__(kThreads, Resident) walk_columns(const __grid_constant__ MixedParameters p) {
  __shared__ Around pieces[kPieces];
  __shared__ double2 first[2][kThreads];  // in turn: [cell of a column][column]
  const BlockView block(p, block_number(p), pieces);
  prefetch_ahead(p);
  const int part = static_cast<int>(blockIdx.x) % p.parts, place_parts = (p.m + p.places - 1) / p.places;
  const int first_column = part / place_parts * p.columns, nx = block.cells(0), n = block.cells(Axis);
  const int here = min(p.columns, nx * block.cells(3 - Axis) - first_column);
  // Cells are beside one another in memory, so columns go first.
  const int thread = static_cast<int>(threadIdx.x), number = min(thread % p.columns, here - 1);
  const int of_part = thread / p.columns, place = part % place_parts * p.places + of_part;
  const bool is_there = thread % p.columns < here && of_part < p.places && place < p.m;
  const auto x = [&](int column) { return (first_column + column) % nx; };
  const auto y = [&](int column, int along) { return Axis == 1 ? along : (first_column + column) / nx; };
  const auto z = [&](int column, int along) { return Axis == 2 ? along : (first_column + column) / nx; };
  const int own = is_there ? place : 0;
  Walk walk(p, block, own, own_column<Axis>(block, p.m, own, x(number), y(number, 0), z(number, 0)), x(number),
            y(number, 0), z(number, 0));
  for (int from = 0, turn = 0; from < n; from += p.depth, turn ^= 1) {
    const int depth = min(p.depth, n - from);
    if (thread < here * depth) {
      const int c = thread / here, k = thread % here;
      first[turn][thread] = first_variables(p, block, x(k), y(k, from + c), z(k, from + c));
    }
    __syncthreads();
    for (int c = 0; is_there && c < depth; ++c) {
      const double2 values = first[turn][c * here + number];
      walk.next(values.x, values.y);
    }
  }
  if (is_there) walk.finish();
}

/// How many of the `all` columns of a block the thread blocks of walk_columns take: those that leave few threads idle,
/// and many on a multiprocessor.
int walk_columns_of(int all, int places) {
  constexpr int kSector = 4;                  // as many columns as begin with whole sectors of memory
  constexpr int kWarps = 16, kBestWarps = 4;  // that a multiprocessor has registers for; of a thread block
  constexpr double kFewer = 0.97, kMore = 0.95;
  int best = kSector;
  double most = 0.0;
  for (int columns = kSector; columns * places <= kThreads; columns += kSector) {
    const int warps = (columns * places + 31) / 32, parts = (all + columns - 1) / columns;
    const double busy = static_cast<double>(all * places) / (parts * warps), resident = kWarps / warps * warps;
    const double score = busy * resident * (warps < kBestWarps ? kFewer : warps > kBestWarps ? kMore : 1.0);
    if (score > most) best = columns, most = score;
  }
  return best;
}

/// The variables at one place of the four groups as those of `group` see them: partner k is that of the k-th group on,
/// its values in the block new where that group comes before.
struct Partners {
  const BlockView& block;
  int variables[kGroups];
  bool fresh[kGroups];

  __device__ Partners(const BlockView& of, int m, int group, int place) : block(of) {
#pragma unroll
    for (int k = 0; k < kGroups; ++k) {
      const int other = (group + k) % kGroups;
      variables[k] = other * m + place;
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
    to[z * step] = Range{a1, a0_first}(seventh(sum) * (a1 + centre));
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
  const Divisor divisor(a1 + 27.0);
  const auto one_plane = [&] {
    double sum = 0.0;
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
      sum = k == 0 ? below[k] : sum + below[k];
      sum = sum + *level[k] + above[k];
      level[k] += beside[k];
      below[k] = here[k], here[k] = above[k];
    }
    *to = Range{a1, a0_first}(divisor.divide(sum));
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

/// Kinds 4 and 5, a group, which needs the ones before it done in its block.
template <bool Wide>
__global__ void __launch_bounds__(kCoupleThreads) couple(const __grid_constant__ MixedParameters p, int group) {
  __shared__ Around pieces[kPieces];
  const BlockView block(p, block_number(p), pieces);
  const int part = static_cast<int>(blockIdx.x) % p.parts, nx = block.cells(0);
  const int k = part * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
  const int x = k % nx, y = k / nx % block.cells(1), place = k / nx / block.cells(1);
  if (place >= p.m || (group == 0 && place == 0)) return;  // that was done by first_columns
  const Partners from(block, p.m, group, place);
  Wide ? couple27(from, x, y, p.constants[0], p.constants[1]) : couple7(from, x, y, p.constants[0], p.constants[1]);
}

}  // namespace

DeviceMixed::DeviceMixed(const BlockLayout& layout, const support::CudaStream& stream, std::size_t most_shared)
    : layout_(layout),
      m_(layout.variables / kGroups),
      shared_(std::min(most_shared, support::current_device_shape().shared_bytes)),
      couple_(couple_shape(layout, m_, shared_)) {
  if (layout.lanes != 1) throw std::logic_error("mixed work on a GPU is for layouts of one lane");
  const MixedConstants constants = mixed_constants(layout.variables);
  a1_ = constants.a1;
  a0_first_ = constants.a0.empty() ? 0.0 : constants.a0.front();
  std::vector<double> numbers{constants.a1};
  numbers.insert(numbers.end(), constants.a0.begin(), constants.a0.end());
  constants_.resize_discard(numbers.size());
  support::copy_to_device(constants_.data(), numbers.data(), numbers.size(), stream);
  stream.synchronize();
}

GhostChunks DeviceMixed::ghosts(std::int64_t stage, int axis) const {
  const int kind = static_cast<int>(stage % 6), behind = std::max(1, kGroups * m_);
  if (kind >= 4 || kind == axis + 1) return {layout_.chunks};
  if (behind == layout_.variables) return {1};
  const int from = std::max(1, behind / layout_.lanes);
  return {1 + layout_.chunks - from, from};
}

int DeviceMixed::launch(std::int64_t stage, const DeviceSurroundings& around, const std::int32_t* blocks, int count,
                        const support::DeviceSlots& out, const support::CudaStream& stream) {
  if (count == 0) return 0;
  MixedParameters p{layout_, around, blocks, constants_.data(), m_, static_cast<int>(stage % 6), 1, 1, 0, 0, out};
  int launches = 0;
  const auto go = [&](auto kernel, int parts, int threads, auto... more) {
    p.parts = parts;
    kernel<<<static_cast<unsigned int>(count) * static_cast<unsigned int>(parts), threads, 0, stream.get()>>>(p,
                                                                                                              more...);
    support::cuda_check_launch("mixed");
    ++launches;
  };
  const auto across = [&](int axis) { return static_cast<int>(layout_.face_cells(axis)); };
  const auto parts_of = [](int all, int of_part) { return (all + of_part - 1) / of_part; };
  const auto in_warps = [&](int threads) { return parts_of(threads, 32) * 32; };
  // A thread a column and place, in all thread blocks of a block, which have about as many columns each.
  const auto walk = [&](auto kernel, int axis) {
    const int place_parts = parts_of(m_, kMostPlaces);
    p.places = parts_of(m_, place_parts);
    p.columns = walk_columns_of(across(axis), p.places);
    const int threads = in_warps(p.places * p.columns);
    const auto cell_bytes = static_cast<int>(sizeof(double)) * layout_.variables;
    p.depth = std::max(1, std::min(threads, kWalkBytes / cell_bytes) / p.columns);
    p.parts = place_parts * parts_of(across(axis), p.columns);
    if (layout_.cells[axis] <= kShortColumn)
      p.ahead = thread_blocks_ahead(p);
    else if (m_ <= kFewPlaces)
      p.cells_ahead = kCellsAhead;
    go(kernel, p.parts, threads);
  };
  if (m_ > 0) {
    // The shortest columns are over before registers that hold what comes next are of use; along z more threads are.
    const bool is_small = layout_.block_cells() <= 64;
    if (p.kind == 0) walk(is_small ? walk_columns<2, Reaction, 3> : walk_columns<2, Reaction, 2>, 2);
    if (p.kind == 1) {
      launch_walk_rows(p, shared_, count, stream);
      support::cuda_check_launch("mixed");
      ++launches;
    }
    if (p.kind == 2) walk(walk_columns<1, Transport<1>, 2>, 1);
    if (p.kind == 3) walk(is_small ? walk_columns<2, Transport<2>, 3> : walk_columns<2, Transport<2>, 2>, 2);
    if (p.kind < 4) return launches;
  }
  const int averages = across(2) * (1 + layout_.variables - std::max(1, kGroups * m_));
  const int threads = std::min(kThreads, in_warps(averages));
  go(first_columns, parts_of(averages, threads), threads);
  if (m_ == 0) return launches;
  if (couple_.places > 0) {
    const CoupleParameters c{p, couple_, Divisor(a1_ + 27.0), {a1_, a0_first_}};
    p.kind == 4 ? launch_couple<false>(c, count, stream) : launch_couple<true>(c, count, stream);
    return launches + 1;
  }
  // Planes that shared memory does not hold: a launch a group.
  const int columns = m_ * across(2), most = std::min(kCoupleThreads, in_warps(columns));
  for (int group = 0; group < kGroups; ++group)
    go(p.kind == 4 ? couple<false> : couple<true>, parts_of(columns, most), most, group);
  return launches;
}

}  // namespace amrbench::kernels
