#pragma once
// Kernels of a further round (gpu/multiway.cu): guess its cuts from a sample, and resolve them exactly. Words as in
// gpu/kernels.cuh.
//
// Sample, level by level: sort the sample's points by node and by coordinate on the node's axis; the wanted rank of
// each node is its guess, ranks a few standard deviations to either side are its bracket; send the sample down a level.
//
// Resolve, level by level: count each node's entries in a histogram over its bracket; find the bin that holds the first
// point right of the cut and the one before it; order the candidates in these bins, which gives the cut; send the
// node's entries on, to a node of the last level or to a bracket further down.
#include "partitioners/orb/gpu/cut.cuh"

namespace amrbench::partitioners::gpu {

/// Half-width of a bracket in standard deviations of the sample's rank: about 1 cut in 150000 is missed.
constexpr float kSigmas = 4.5F;
constexpr std::uint32_t kLeastSegment = 128;

// ---- The sample -----------------------------------------------------------------------------------------------------

/// One position at random out of each of cell.samples equal stretches of every cell.
template <class T, int Dim>
__global__ void sample_kernel(const T* __restrict__ points, const Cell* cells, std::uint32_t n_cells, std::uint32_t n,
                              T* __restrict__ sample, std::uint32_t* order, std::uint32_t* node) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  std::uint32_t low = 0;
  std::uint32_t high = n_cells;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    if (cells[middle].sample_begin <= i)
      low = middle;
    else
      high = middle;
  }
  const Cell cell = cells[low];
  const std::uint64_t k = i - cell.sample_begin;
  const std::uint64_t begin = k * cell.count / cell.samples;
  const std::uint64_t end = (k + 1) * cell.count / cell.samples;
  const std::uint64_t at = cell.begin + begin + support::splitmix64(i) % (end > begin ? end - begin : 1);
  for (int a = 0; a < Dim; ++a) sample[std::uint64_t{i} * Dim + a] = points[at * Dim + a];
  order[i] = i;
  node[i] = low * kNodes + 1;
}

/// Sort keys of a level: node, then coordinate on its axis, rounded to float for doubles. Outer nodes keep any order.
template <class T, int Dim>
__global__ void sample_keys_kernel(const T* __restrict__ sample, const std::uint32_t* order, const std::uint32_t* node,
                                   const Guess<T, Dim>* guesses, std::uint32_t n, std::uint64_t* keys) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const std::uint32_t g = node[i];
  const auto x = static_cast<float>(sample[std::uint64_t{order[i]} * Dim + guesses[g].axis]);
  keys[i] = (std::uint64_t{g} << 32U) | order_key(x);
}

/// Where each node's part of the sorted sample begins and ends.
template <class T, int Dim>
__global__ void segments_kernel(const std::uint64_t* __restrict__ keys, std::uint32_t n, Guess<T, Dim>* guesses) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const auto g = static_cast<std::uint32_t>(keys[i] >> 32U);
  if (i == 0 || static_cast<std::uint32_t>(keys[i - 1] >> 32U) != g) guesses[g].begin = i;
  if (i + 1 == n || static_cast<std::uint32_t>(keys[i + 1] >> 32U) != g) guesses[g].end = i + 1;
}

/// Roots of a round: exact, for the sample and for the resolution.
template <class T, int Dim>
__global__ void start_round_kernel(const Cell* cells, const OrbBox<T, Dim>* boxes, std::uint32_t n_cells,
                                   double side_tolerance, Guess<T, Dim>* guesses, Node<T, Dim>* nodes) {
  const std::uint32_t c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= n_cells) return;
  Guess<T, Dim>& guess = guesses[std::uint64_t{c} * kNodes + 1];
  guess.box = boxes[c];
  guess.leaves = cells[c].leaves;
  guess.axis = cut_axis(guess.box, side_tolerance);
  Node<T, Dim>& node = nodes[std::uint64_t{c} * kNodes + 1];
  node.box = boxes[c];
  node.leaves = cells[c].leaves;
  node.count = cells[c].count;
  node.known = 1;
}

__device__ inline float below(float x) {
  return nextafterf(x, -INFINITY);
}
__device__ inline float above(float x) {
  return nextafterf(x, INFINITY);
}

/// Brackets of a level's nodes from ranks of the sorted sample; prepares the children.
template <class T, int Dim>
__global__ void guess_kernel(const std::uint64_t* __restrict__ keys, std::uint32_t n_cells, int level,
                             double side_tolerance, Guess<T, Dim>* guesses) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n_cells << level) return;
  const std::uint64_t first = std::uint64_t{k >> level} * kNodes;
  const std::uint32_t v = (1U << level) + (k & ((1U << level) - 1U));
  Guess<T, Dim>& guess = guesses[first + v];
  if (guess.leaves < 2 || guess.end < guess.begin + kLeastSegment) return;
  const std::uint32_t left = left_leaves(guess.leaves);
  const std::uint32_t size = guess.end - guess.begin;
  const double share = static_cast<double>(left) / guess.leaves;
  const auto reach = static_cast<std::uint32_t>(kSigmas * sqrt(size * share * (1 - share))) + 2;
  const auto cut = min(max(static_cast<std::uint32_t>(size * share), 1U), size - 1);
  const auto at = [&](std::uint32_t rank) { return key_float(static_cast<std::uint32_t>(keys[guess.begin + rank])); };
  const int axis = guess.axis;
  constexpr bool kRounded = sizeof(T) > sizeof(float);
  guess.low = guess.box.lower[axis];
  guess.high = guess.box.upper[axis];
  if (cut >= reach) guess.low = kRounded ? below(at(cut - reach)) : at(cut - reach);
  if (cut + reach < size) guess.high = kRounded ? above(at(cut + reach)) : at(cut + reach);
  guess.cut = cut;
  guess.inner = 1;
  const T plane = at(cut);
  guess_children(guess, &guesses[first + 2 * v], plane, side_tolerance);
}

/// Sends the sorted sample down a level.
template <class T, int Dim>
__global__ void sample_down_kernel(const std::uint64_t* __restrict__ keys, std::uint32_t n,
                                   const Guess<T, Dim>* guesses, std::uint32_t* node) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const auto g = static_cast<std::uint32_t>(keys[i] >> 32U);
  const Guess<T, Dim>& guess = guesses[g];
  const std::uint32_t v = g % kNodes;
  node[i] = guess.inner != 0 ? g - v + 2 * v + (i - guess.begin >= guess.cut ? 1U : 0U) : g;
}

// ---- Exact resolution, level by level -----------------------------------------------------------------------------

/// Points known to be in node v's cell, those at brackets of its descendants and its own included.
__device__ inline std::uint32_t points_below(const std::uint32_t* counts, std::uint32_t v, int levels) {
  const std::uint32_t first = 1U << levels;
  std::uint32_t sum = 0;
  std::uint32_t begin = v;
  std::uint32_t end = v + 1;
  for (; begin < first; begin *= 2, end *= 2)
    for (std::uint32_t u = begin; u < end; ++u) sum += counts[kStoppedCode + u];
  for (std::uint32_t u = begin; u < end; ++u) sum += counts[u - first];
  return sum;
}

/// Which of a level's nodes can be cut: known, guessed on the right axis, target inside the bracket's entries.
template <class T, int Dim>
__global__ void prepare_kernel(std::uint32_t n_cells, int level, int levels, double side_tolerance,
                               const Guess<T, Dim>* guesses, const std::uint32_t* code_counts, Node<T, Dim>* nodes) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n_cells << level) return;
  const std::uint64_t first = std::uint64_t{k >> level} * kNodes;
  const std::uint32_t v = (1U << level) + (k & ((1U << level) - 1U));
  const Guess<T, Dim>& guess = guesses[first + v];
  Node<T, Dim>& node = nodes[first + v];
  if (!guessed_right(node, guess, side_tolerance)) return;
  const std::uint32_t* counts = code_counts + first;
  const std::int64_t before = points_below(counts, 2 * v, levels);
  const auto target = static_cast<std::int64_t>(unit_target(node.count, left_leaves(node.leaves), node.leaves));
  const std::int64_t rank = target - before;
  if (rank < 1 || rank >= static_cast<std::int64_t>(counts[kStoppedCode + v])) return;
  node.rank = static_cast<std::uint32_t>(rank);
  const T width = guess.high - guess.low;
  const T scale = static_cast<T>(kBins >> level) / width;
  node.bin_low = guess.low;
  node.bin_scale = width > T(0) && scale <= T(1e30) ? scale : T(0);
  node.active = 1;
}

/// Bin of a coordinate inside a node's bracket: never falls as the coordinate rises.
template <class T, int Dim>
__device__ inline std::uint32_t bin_of(const Node<T, Dim>& node, T x, int level) {
  const T position = (x - node.bin_low) * node.bin_scale;
  const auto last = static_cast<T>((kBins >> level) - 1U);
  return static_cast<std::uint32_t>(position < last ? (position > T(0) ? position : T(0)) : last);
}

/// Calls f(entry, active) for all entries of a list, in blocks of kEntryThreads * kEntryItems; whole warps call.
template <class F>
__device__ inline void for_entries(const Entry* entries, std::uint32_t n, F&& f) {
  constexpr std::uint32_t kChunk = kEntryThreads * kEntryItems;
  for (std::uint64_t chunk = std::uint64_t{blockIdx.x} * kChunk; chunk < n; chunk += std::uint64_t{gridDim.x} * kChunk)
    for (int j = 0; j < kEntryItems; ++j) {
      const std::uint64_t i = chunk + j * kEntryThreads + threadIdx.x;
      if (i < n) f(entries[i]);
    }
}

/// Bins of a level's node among all of the round.
__device__ inline std::uint64_t bins_begin(std::uint32_t g, int level) {
  const std::uint32_t v = g % kNodes - (1U << level);
  return std::uint64_t{g / kNodes} * kBins + std::uint64_t{v} * (kBins >> level);
}

template <class T, int Dim>
__global__ void __launch_bounds__(kEntryThreads)
    histogram_kernel(const T* __restrict__ points, Lists lists, int level, const Guess<T, Dim>* guesses,
                     const Node<T, Dim>* nodes, std::uint32_t* bins) {
  for_entries(lists.entries[level], min(lists.counts[level], lists.capacity), [&](Entry entry) {
    const Node<T, Dim>& node = nodes[entry.node];
    if (node.active == 0) return;
    const T x = points[std::uint64_t{entry.position} * Dim + guesses[entry.node].axis];
    atomicAdd(&bins[bins_begin(entry.node, level) + bin_of(node, x, level)], 1U);
  });
}

/// One block a node: the bins that hold the first right point and the one before it.
template <class T, int Dim>
__global__ void __launch_bounds__(kCutThreads)
    find_bin_kernel(int level, const std::uint32_t* bins, Node<T, Dim>* nodes) {
  __shared__ CutBins found;
  const std::uint32_t k = blockIdx.x;
  const std::uint32_t g = (k >> level) * kNodes + (1U << level) + (k & ((1U << level) - 1U));
  Node<T, Dim>& node = nodes[g];
  if (node.active == 0) return;
  find_cut_bins(bins + bins_begin(g, level), kBins >> level, node.rank, &found);
  if (threadIdx.x != 0) return;
  node.first_bin = found.first;
  node.last_bin = found.last;
  node.rank -= found.before;
  node.candidates = 0;
  if (found.inside > kCandidates) node.active = 0;
}

template <class T, int Dim>
__global__ void __launch_bounds__(kEntryThreads)
    collect_kernel(const T* __restrict__ points, Lists lists, int level, const Guess<T, Dim>* guesses,
                   Node<T, Dim>* nodes, std::uint32_t* candidates) {
  for_entries(lists.entries[level], min(lists.counts[level], lists.capacity), [&](Entry entry) {
    Node<T, Dim>& node = nodes[entry.node];
    if (node.active == 0) return;
    const T x = points[std::uint64_t{entry.position} * Dim + guesses[entry.node].axis];
    const std::uint32_t bin = bin_of(node, x, level);
    if (bin < node.first_bin || bin > node.last_bin) return;
    const std::uint32_t place = atomicAdd(&node.candidates, 1U);
    const std::uint32_t v = entry.node % kNodes - (1U << level);
    const std::uint64_t k = (std::uint64_t{entry.node / kNodes} << level) + v;
    if (place < kCandidates) candidates[k * kCandidates + place] = entry.position;
  });
}

/// One block a node: orders its candidates, cuts it, makes its children known.
template <class T, int Dim>
__global__ void __launch_bounds__(kCutThreads)
    select_kernel(const T* __restrict__ points, int level, const Guess<T, Dim>* guesses,
                  const std::uint32_t* candidates, Node<T, Dim>* nodes) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const found = reinterpret_cast<OrbPoint<T, Dim>*>(memory);
  __shared__ T last_left;
  __shared__ OrbPoint<T, Dim> pivot;
  const std::uint32_t k = blockIdx.x;
  const std::uint32_t v = (1U << level) + (k & ((1U << level) - 1U));
  const std::uint64_t first = std::uint64_t{k >> level} * kNodes;
  Node<T, Dim>& node = nodes[first + v];
  if (node.active == 0) return;
  const std::uint32_t n = min(node.candidates, kCandidates);
  const int axis = guesses[first + v].axis;
  for (std::uint32_t i = threadIdx.x; i < n; i += blockDim.x)
    found[i] = load_point<T, Dim>(points, candidates[std::uint64_t{k} * kCandidates + i]);
  __syncthreads();
  order_candidates(found, n, node.rank, axis, &pivot, &last_left);
  __syncthreads();
  if (threadIdx.x == 0) cut_at(node, nodes + first + 2 * v, axis, pivot, last_left);
}

/// code_from() for a cell whose brackets are not in shared memory.
template <class T, int Dim>
__device__ inline int far_code(const Guess<T, Dim>* guesses, int v, const T (&x)[Dim], int levels) {
  const int first = 1 << levels;
  while (v < first) {
    const Guess<T, Dim>& guess = guesses[v];
    if (guess.inner == 0) {
      v = 2 * v;
      continue;
    }
    const T c = x[guess.axis];
    if (c >= guess.low && c <= guess.high) return kStoppedCode + v;
    v = 2 * v + (c < guess.low ? 0 : 1);
  }
  return v - first;
}

/// Sends the entries of cut nodes on: to a node of the last level or to a bracket further down.
template <class T, int Dim>
__global__ void __launch_bounds__(kEntryThreads)
    route_kernel(const T* __restrict__ points, std::uint8_t* codes, Lists lists, int level, int levels,
                 const Guess<T, Dim>* guesses, const Node<T, Dim>* nodes, std::uint32_t* code_counts) {
  __shared__ Brackets<T> brackets;
  __shared__ std::uint32_t counts[kNodes];
  __shared__ std::uint32_t places_memory[2 * kLevels];
  constexpr std::uint32_t kChunk = kEntryThreads * kEntryItems;
  ListPlaces places{places_memory};
  const std::uint32_t n = min(lists.counts[level], lists.capacity);
  const Entry* entries = lists.entries[level];
  for (std::uint64_t chunk = std::uint64_t{blockIdx.x} * kChunk; chunk < n;
       chunk += std::uint64_t{gridDim.x} * kChunk) {
    // Neighbours in the list mostly belong to one cell; others read their brackets from memory.
    const std::uint32_t home = entries[chunk].node / kNodes;
    __syncthreads();
    load_brackets(brackets, guesses, home);
    for (unsigned k = threadIdx.x; k < kNodes; k += kEntryThreads) counts[k] = 0;
    places.clear();
    int to[kEntryItems];
    std::uint32_t place[kEntryItems];
    Entry entry[kEntryItems];
#pragma unroll
    for (int j = 0; j < kEntryItems; ++j) {
      const std::uint64_t i = chunk + j * kEntryThreads + threadIdx.x;
      to[j] = -1;
      if (i < n) {
        entry[j] = entries[i];
        const Node<T, Dim>& node = nodes[entry[j].node];
        if (node.active != 0 && node.resolved != 0) {
          const OrbPoint<T, Dim> p = load_point<T, Dim>(points, entry[j].position);
          const std::uint32_t cell = entry[j].node / kNodes;
          const auto v = static_cast<int>(entry[j].node % kNodes);
          const int child = 2 * v + (orb_before(p, node.pivot, guesses[entry[j].node].axis) ? 0 : 1);
          if (cell == home) {
            to[j] = code_from<T, Dim>(brackets, child, p.x, levels);
            atomicAdd(&counts[to[j]], 1U);
            atomicSub(&counts[kStoppedCode + v], 1U);
          } else {
            to[j] = far_code(guesses + std::uint64_t{cell} * kNodes, child, p.x, levels);
            atomicAdd(&code_counts[std::uint64_t{cell} * kNodes + to[j]], 1U);
            atomicSub(&code_counts[std::uint64_t{cell} * kNodes + kStoppedCode + v], 1U);
          }
          codes[entry[j].position] = static_cast<std::uint8_t>(to[j]);
        }
      }
    }
#pragma unroll
    for (int j = 0; j < kEntryItems; ++j)
      place[j] = places.take(to[j] > kStoppedCode ? 31 - __clz(to[j] - kStoppedCode) : -1);
    places.reserve(lists);
#pragma unroll
    for (int j = 0; j < kEntryItems; ++j)
      if (to[j] > kStoppedCode) {
        const auto u = static_cast<std::uint32_t>(to[j] - kStoppedCode);
        places.put(lists, 31 - __clz(static_cast<int>(u)), place[j],
                   {entry[j].position, entry[j].node / kNodes * kNodes + u});
      }
    for (unsigned k = threadIdx.x; k < kNodes; k += kEntryThreads)
      if (counts[k] != 0) atomicAdd(&code_counts[std::uint64_t{home} * kNodes + k], counts[k]);
  }
}

}  // namespace amrbench::partitioners::gpu
