// Bisection on one GPU over kinds of points, seeds and leaves: no input may cost much more than uniform points.
//   orb_seeds_bench [--log2 26] [--seeds 3] [--first-seed 1] [--leaves 1000,4096,65536] [--kinds plummer,line]
//                   [--dims 3] [--double] [--weights] [--sorted] [--rows] [--check] [--host-points]
// A row a kind and number of leaves: the median over seeds, the slowest seed, and the slowest time relative to the
// median of uniform points of as many leaves; the last line has the worst of these. --rows: a row a run too, with its
// phases. --check: tree and labels of each run against the CPU's, status 1 where they differ. Times are CUDA events
// over the whole run, the second of two. Kind "drawn": everything is drawn by the seed, weights too
// (drawn_points.cuh). --dims 2: x and y of the points alone. --sorted: points come in Morton's order. Points are made
// on the GPU, those of --host-points (uniform, cluster, plummer, field, corner) as `amrbench orb --input KIND:N:SEED`
// makes them.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cub/device/device_radix_sort.cuh>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/drawn_points.cuh"
#include "bench/orb_cuda_data.hpp"
#include "sfc/morton.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"

namespace {

using namespace amrbench;
using namespace amrbench::bench;
using namespace amrbench::partitioners;

enum class Kind {
  uniform,
  cluster,
  plummer,
  corner,
  pair,
  line,
  lattice,
  half_equal,
  equal,
  places,
  planes,
  columns,
  shell,
  diagonal,
  half_lattice,
  decades,
  outliers,
  drawn
};
/// edge: of a lattice, in places; or how many places, planes, or powers of ten.
struct NamedKind {
  const char* name;
  Kind kind;
  float edge = 0;
};
constexpr NamedKind kAllKinds[] = {{"uniform", Kind::uniform},
                                   {"cluster", Kind::cluster},
                                   {"plummer", Kind::plummer},
                                   {"corner", Kind::corner},
                                   {"pair", Kind::pair},
                                   {"line", Kind::line},
                                   {"lattice", Kind::lattice, 32},
                                   {"half", Kind::half_equal},
                                   {"equal", Kind::equal},
                                   {"lattice10", Kind::lattice, 10},
                                   {"lattice17", Kind::lattice, 17},
                                   {"lattice64", Kind::lattice, 64},
                                   {"lattice128", Kind::lattice, 128},
                                   {"lattice256", Kind::lattice, 256},
                                   {"places30", Kind::places, 30},
                                   {"places1000", Kind::places, 1000},
                                   {"places1e5", Kind::places, 100000},
                                   {"planes", Kind::planes, 8},
                                   {"columns", Kind::columns, 16},
                                   {"shell", Kind::shell},
                                   {"diagonal", Kind::diagonal},
                                   {"halflattice", Kind::half_lattice, 10},
                                   {"decades", Kind::decades, 30},
                                   {"outliers", Kind::outliers},
                                   {"drawn", Kind::drawn}};

/// uniform; half of the points in a corner's cube of edge 1/16; Plummer's sphere of scale 1/64, cut off at radius 1/2;
/// ever denser towards the origin; two cubes of edge 2^-16 in opposite corners; three lines along the axes; a lattice
/// of edge^3 places; half of the points in one place; all in one place; in so many places at random; on so many
/// planes; on columns of so many coordinates an axis; on a sphere; on the diagonal; half of them on a lattice;
/// logarithms of coordinates uniform over so many powers of ten; all but one of a million points in a corner's cube of
/// edge 2^-24.
__global__ void points_kernel(Kind kind, float edge, const __grid_constant__ Mixture mixture, std::uint64_t seed,
                              std::uint64_t n, float* points) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Stream draws{support::splitmix64(seed) ^ i};
  float x[3] = {draws.next(), draws.next(), draws.next()};
  switch (kind) {
    case Kind::uniform:
      break;
    case Kind::cluster:
      if (draws.next() < 0.5F)
        for (float& c : x) c *= 0x1p-4F;
      break;
    case Kind::plummer: {
      double radius = 1;
      while (!(radius < 0.5)) {
        const double mass = draws.next() + draws.next() * 0x1p-24;
        radius = mass > 0 ? 1.0 / 64 / sqrt(pow(mass, -2.0 / 3) - 1) : 0;
      }
      const double cosine = 2.0 * x[0] - 1;
      const double ring = radius * sqrt(1 - cosine * cosine);
      const double angle = 6.283185307179586 * x[1];
      x[0] = static_cast<float>(0.5 + ring * cos(angle));
      x[1] = static_cast<float>(0.5 + ring * sin(angle));
      x[2] = static_cast<float>(0.5 + radius * cosine);
      break;
    }
    case Kind::corner:
      if (draws.next() < 0.5F)
        for (float& c : x) c = 0.1F * c * draws.next() * draws.next();
      break;
    case Kind::pair: {
      const float at = draws.next() < 0.5F ? 0.0F : 1.0F - 0x1p-16F;
      for (float& c : x) c = at + c * 0x1p-16F;
      break;
    }
    case Kind::line: {
      const int axis = static_cast<int>(3 * draws.next());
      for (int a = 0; a < 3; ++a)
        if (a != axis) x[a] = 0.5F;
      break;
    }
    case Kind::lattice:
      for (float& c : x) c = floorf(c * edge) / edge;
      break;
    case Kind::places: {
      const auto place = static_cast<std::uint64_t>(x[0] * edge);
      for (int a = 0; a < 3; ++a)
        x[a] =
            static_cast<float>(support::splitmix64(seed + 3 * place + static_cast<std::uint64_t>(a)) >> 40U) * 0x1p-24F;
      break;
    }
    case Kind::planes:
      x[0] = floorf(x[0] * edge) / edge;
      break;
    case Kind::columns:
      for (int a = 0; a < 2; ++a) x[a] = floorf(x[a] * edge) / edge;
      break;
    case Kind::shell: {
      const float cosine = 2.0F * x[0] - 1.0F, ring = sqrtf(1.0F - cosine * cosine), angle = 6.2831853F * x[1];
      x[0] = 0.5F + 0.4F * ring * cosf(angle);
      x[1] = 0.5F + 0.4F * ring * sinf(angle);
      x[2] = 0.5F + 0.4F * cosine;
      break;
    }
    case Kind::diagonal:
      x[1] = x[2] = x[0];
      break;
    case Kind::half_lattice:
      if (draws.next() < 0.5F)
        for (float& c : x) c = floorf(c * edge) / edge;
      break;
    case Kind::decades:
      for (float& c : x) c = powf(10.0F, -edge * c);
      break;
    case Kind::outliers:
      if (draws.next() > 1e-6F)
        for (float& c : x) c *= 0x1p-24F;
      break;
    case Kind::half_equal:
      if (draws.next() < 0.5F)
        for (float& c : x) c = 0.3F;
      break;
    case Kind::equal:
      for (float& c : x) c = 0.3F;
      break;
    case Kind::drawn:
      drawn_point(mixture, draws, x);
      break;
  }
  for (int a = 0; a < 3; ++a) points[3 * i + a] = x[a];
}

/// drawn: else they are uniform.
__global__ void weights_kernel(bool drawn, std::uint64_t seed, std::uint64_t n, const float* points, double* weights) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  weights[i] =
      drawn ? drawn_weight(seed, i, points + 3 * i) : 1.0 - Stream{support::splitmix64(seed ^ 0x77656967U) ^ i}.next();
}

__global__ void morton_kernel(const float* points, std::uint32_t n, std::uint32_t* keys, std::uint32_t* order) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  sfc::Coord<3> place;  // 10 bits an axis
  for (unsigned a = 0; a < 3; ++a)
    place[a] = static_cast<std::uint32_t>(fminf(points[3 * std::uint64_t{i} + a] * 1024.0F, 1023.0F));
  keys[i] = static_cast<std::uint32_t>(sfc::morton_encode<3>(place));
  order[i] = i;
}
__global__ void gather_kernel(const float* from, const std::uint32_t* order, std::uint32_t n, float* to) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int a = 0; a < 3; ++a) to[3 * std::uint64_t{i} + a] = from[3 * std::uint64_t{order[i]} + a];
}

template <class T, int Dim>
__global__ void convert_kernel(const float* from, std::uint64_t n, T* to) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int a = 0; a < Dim; ++a) to[Dim * i + a] = static_cast<T>(from[3 * i + a]);
}

struct Arguments {
  int log2 = 26, dims = 3;
  std::uint64_t seeds = 3, first_seed = 1;
  std::vector<std::uint32_t> leaves{1000, 4096, 65536};
  std::vector<std::string> kinds;
  bool doubles = false, weights = false, sorted = false, rows = false, check = false, host_points = false;
};

struct Timed {
  double time_s = 0, wall_s = 0;
  OrbGpuTimes times;
};

template <class T, int Dim>
class Table {
 public:
  explicit Table(Arguments arguments)
      : a_(std::move(arguments)), n_(std::uint64_t{1} << a_.log2), made_(3 * n_), weights_(a_.weights ? n_ : 0) {
    if (!kAsMade) converted_.resize_discard(Dim * n_);
    box_.upper.fill(1);
  }
  /// False: a result differed from the CPU's.
  bool run() {
    for (const std::uint32_t leaves : a_.leaves) run_leaves(leaves);
    return good_;
  }

 private:
  static constexpr bool kAsMade = std::is_same_v<T, float> && Dim == 3;
  [[nodiscard]] const T* points() const {
    if constexpr (kAsMade)
      return made_.data();
    else
      return converted_.data();
  }
  [[nodiscard]] unsigned blocks() const { return static_cast<unsigned>((n_ + 255) / 256); }
  void make(const std::string& kind, std::uint64_t seed) {
    if (a_.host_points) {
      host_.resize(3 * n_);
      make_points<float>(*point_kind(kind), 3, seed, 0, host_);
      upload<float>(made_, host_);
    } else {
      const auto* const found =
          std::find_if(std::begin(kAllKinds), std::end(kAllKinds), [&](const auto& k) { return kind == k.name; });
      points_kernel<<<blocks(), 256>>>(found->kind, found->edge, drawn_mixture(seed), seed, n_, made_.data());
    }
    if (a_.sorted) sort();
    if (a_.weights) weights_kernel<<<blocks(), 256>>>(kind == "drawn", seed, n_, made_.data(), weights_.data());
    if (!kAsMade) convert_kernel<T, Dim><<<blocks(), 256>>>(made_.data(), n_, converted_.data());
    support::cuda_check(cudaDeviceSynchronize(), "making points");
  }
  void sort() {
    const auto n = static_cast<std::uint32_t>(n_);
    support::DeviceBuffer<std::uint32_t> words(4 * n_);
    std::uint32_t* const w = words.data();
    morton_kernel<<<blocks(), 256>>>(made_.data(), n, w, w + 2 * n_);
    std::size_t bytes = 0;
    cub::DeviceRadixSort::SortPairs(nullptr, bytes, w, w + n_, w + 2 * n_, w + 3 * n_, n);
    support::DeviceBuffer<unsigned char> room(bytes);
    support::cuda_check(cub::DeviceRadixSort::SortPairs(room.data(), bytes, w, w + n_, w + 2 * n_, w + 3 * n_, n),
                        "SortPairs");
    support::DeviceBuffer<float> from(3 * n_);
    std::swap(from, made_);
    gather_kernel<<<blocks(), 256>>>(from.data(), w + 3 * n_, n, made_.data());
    support::cuda_check(cudaDeviceSynchronize(), "sorting points");
  }
  Timed time(OrbGpu<T, Dim>& gpu, bool warm) {
    Timed result;
    for (int k = warm ? 1 : 0; k < 2; ++k) {
      const auto start = std::chrono::steady_clock::now();
      tree_ = &gpu.run(points(), box_, a_.weights ? weights_.data() : nullptr);
      result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      result.times = gpu.times();
      result.time_s = result.times.total_s;
    }
    return result;
  }
  void print_row(const std::string& kind, std::uint64_t seed, std::uint32_t leaves, const Timed& t) {
    const OrbGpuTimes& p = t.times;
    std::printf(
        "  %-10s seed %2llu leaves %7u %9.2f ms, wall %9.2f = weights %.2f sample %.2f classify %.2f resolve %.2f "
        "move %.2f labels %.2f small %.2f  rounds %d%s%s again %d in brackets %.1f%% passes %d\n",
        kind.c_str(), static_cast<unsigned long long>(seed), leaves, 1e3 * t.time_s, 1e3 * t.wall_s, 1e3 * p.weights_s,
        1e3 * p.sample_s, 1e3 * p.classify_s, 1e3 * p.resolve_s, 1e3 * p.move_s, 1e3 * p.labels_s, 1e3 * p.small_s,
        p.rounds, p.first_round ? " first" : "",
        p.sites       ? " sites"
        : p.quantiles ? " quantiles"
                      : "",
        p.again, 100.0 * static_cast<double>(p.stopped) / static_cast<double>(n_), p.passes);
    std::fflush(stdout);
  }
  void compare(const std::string& kind, std::uint64_t seed, const OrbGpu<T, Dim>& gpu) {
    const auto points = download(this->points(), Dim * n_);
    const auto weights = a_.weights ? download(weights_.data(), n_) : std::vector<double>{};
    OrbResult<T, Dim> cpu;
    orb<T, Dim>({points, Dim}, weights, {.leaves = tree_->leaves}, cpu, box_);
    const std::string wrong = differences<T, Dim>(gpu, *tree_, cpu, points);
    if (wrong.empty()) return;
    good_ = false;
    std::printf("FAIL %s seed %llu leaves %u:%s\n", kind.c_str(), static_cast<unsigned long long>(seed), tree_->leaves,
                wrong.c_str());
  }
  void run_leaves(std::uint32_t leaves) {
    OrbGpu<T, Dim> gpu(n_, {.leaves = leaves, .permutation = a_.check, .labels = a_.check, .weighted = a_.weights});
    double uniform = 0, worst = 0;
    for (const std::string& kind : a_.kinds) {
      bool warm = false;
      std::vector<std::pair<double, std::uint64_t>> times;
      for (std::uint64_t seed = a_.first_seed; seed < a_.first_seed + a_.seeds; ++seed) {
        make(kind, seed);
        const Timed t = time(gpu, warm);
        warm = a_.seeds > 3;  // the memory that this kind needs has grown by then, mostly
        times.emplace_back(t.time_s, seed);
        if (a_.rows) print_row(kind, seed, leaves, t);
        if (a_.check) compare(kind, seed, gpu);
      }
      std::sort(times.begin(), times.end());
      const double median = times[times.size() / 2].first;
      if (kind == "uniform") uniform = median;
      const double ratio = uniform > 0 ? times.back().first / uniform : 0;
      worst = std::max(worst, ratio);
      std::printf("%-10s 2^%d leaves %7u%s: median %9.2f ms, slowest %9.2f ms (seed %llu), %.2f times uniform\n",
                  kind.c_str(), a_.log2, leaves, a_.weights ? " weights" : "", 1e3 * median, 1e3 * times.back().first,
                  static_cast<unsigned long long>(times.back().second), ratio);
      std::fflush(stdout);
    }
    std::printf("worst of 2^%d, leaves %u%s: %.2f times uniform\n", a_.log2, leaves, a_.weights ? ", weights" : "",
                worst);
  }

  Arguments a_;
  std::uint64_t n_;
  support::DeviceBuffer<float> made_;
  support::DeviceBuffer<T> converted_;
  support::DeviceBuffer<double> weights_;
  std::vector<float> host_;
  OrbBox<T, Dim> box_;
  const OrbTree<T, Dim>* tree_ = nullptr;
  bool good_ = true;
};

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) all.push_back(word);
  return all;
}

bool known(const Arguments& arguments, const std::string& kind) {
  if (arguments.host_points) return point_kind(kind).has_value();
  return std::any_of(std::begin(kAllKinds), std::end(kAllKinds), [&](const auto& k) { return kind == k.name; });
}

Arguments parsed(int argc, char** argv) {
  Arguments a;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const bool more = k + 1 < argc;
    if (word == "--log2" && more)
      a.log2 = std::atoi(argv[++k]);
    else if (word == "--seeds" && more)
      a.seeds = std::strtoull(argv[++k], nullptr, 10);
    else if (word == "--first-seed" && more)
      a.first_seed = std::strtoull(argv[++k], nullptr, 10);
    else if (word == "--kinds" && more)
      a.kinds = words(argv[++k]);
    else if (word == "--leaves" && more) {
      a.leaves.clear();
      for (const std::string& number : words(argv[++k]))
        a.leaves.push_back(static_cast<std::uint32_t>(std::strtoul(number.c_str(), nullptr, 10)));
    } else if (word == "--dims" && more)
      a.dims = std::atoi(argv[++k]);
    else if (word == "--double")
      a.doubles = true;
    else if (word == "--weights")
      a.weights = true;
    else if (word == "--sorted")
      a.sorted = true;
    else if (word == "--rows")
      a.rows = true;
    else if (word == "--check")
      a.check = true;
    else if (word == "--host-points")
      a.host_points = true;
    else
      throw support::InputError(word + ": not an option, or its value is missing");
  }
  if (a.log2 < 10 || a.log2 > 31) throw support::InputError("--log2 takes 10 to 31");
  if (a.dims < 2 || a.dims > 3) throw support::InputError("--dims takes 2 or 3");
  if (a.seeds < 1) throw support::InputError("--seeds is 0; at least 1 is needed");
  if (a.kinds.empty())
    for (const NamedKind& kind : kAllKinds)
      if (known(a, kind.name)) a.kinds.emplace_back(kind.name);
  for (const std::string& kind : a.kinds)
    if (!known(a, kind)) throw support::InputError("--kinds: no points of kind \"" + kind + "\"");
  return a;
}

template <class T>
bool run(const Arguments& a) {
  return a.dims == 2 ? Table<T, 2>(a).run() : Table<T, 3>(a).run();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments a = parsed(argc, argv);
    return (a.doubles ? run<double>(a) : run<float>(a)) ? 0 : 1;
  } catch (const support::InputError& error) {
    std::fprintf(stderr, "orb_seeds_bench: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orb_seeds_bench: %s\n", error.what());
    return 1;
  }
}
