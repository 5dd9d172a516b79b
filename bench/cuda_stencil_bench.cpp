// CUDA kernels over a cube of blocks in Morton order, faces in place: the 7-point average in its forms, the 27-point
// average, split, merge.
// Times are those of CUDA events around one launch for all blocks. Items = cell updates (cells times variables); bytes
// = one read and one write of each value; copy_share = bytes a second over the copy bandwidth measured at the start.
// What a kernel needs is printed beside it: thread blocks a multiprocessor, registers and spilled bytes a thread, bytes
// it can have under way from memory a multiprocessor (KB), and for each value the values read from the second-level
// cache and the bytes written to and read from shared memory.
//
// Repeat: cuda_stencil_bench --benchmark_counters_tabular=true [--once] [--case WORDS]...
// --once runs every case a single time, for profilers. --case replaces the list of average7 cases, in the order given:
// edge,variables,variant,setting and any of ahead=KB tile=BLOCKS cluster=N threads=N sums=1, with commas.
// Other arguments are Google Benchmark's; the context of its JSON holds the device, the copy bandwidth of the same run
// and the command.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/average27/average27_cuda.hpp"
#include "kernels/average7/average7_cuda.hpp"
#include "kernels/initial_cuda.hpp"
#include "kernels/refine_data_cuda.hpp"
#include "support/cuda_info.hpp"
#include "support/device_bandwidth.hpp"
#include "support/error.hpp"

namespace {

using namespace amrbench;
using kernels::Average7Options;
using kernels::Average7Variant;
using kernels::BlockLayout;

constexpr double kMeshBytes = 4.1e9;  // of one buffer: well beyond the caches

/// edge^3 blocks in Morton order with two buffers.
class DeviceGrid {
 public:
  explicit DeviceGrid(const BlockLayout& layout)
      : layout_(layout), in_(layout.block_values()), out_(layout.block_values()), sum_(layout) {
    const double block_bytes = static_cast<double>(layout.block_values() * sizeof(double));
    edge_ = static_cast<std::uint32_t>(std::ceil(std::cbrt(kMeshBytes / block_bytes)));
    edge_ += edge_ % 2;  // blocks of refined meshes come in eights
    std::vector<std::array<std::uint32_t, 3>> coords;
    for (std::uint32_t z = 0; z < edge_; ++z)
      for (std::uint32_t y = 0; y < edge_; ++y)
        for (std::uint32_t x = 0; x < edge_; ++x) coords.push_back({x, y, z});
    std::sort(coords.begin(), coords.end(), [](const auto& a, const auto& b) { return key(a) < key(b); });
    std::vector<std::int32_t> slot(coords.size());
    for (std::size_t i = 0; i < coords.size(); ++i) slot[at(coords[i])] = static_cast<std::int32_t>(i);
    std::vector<kernels::RootBlock> roots;
    std::vector<kernels::BlockEntry> entries;
    std::vector<kernels::PieceSource> sources;
    for (std::size_t i = 0; i < coords.size(); ++i) {
      roots.push_back({static_cast<std::int32_t>(i), coords[i]});
      kernels::BlockEntry entry;
      entry.in = entry.out = static_cast<std::int32_t>(i);
      for (int face = 0; face < 6; ++face) {
        auto c = coords[i];
        const int axis = face / 2, side = face % 2;
        const bool outside = side != 0 ? c[axis] + 1 == edge_ : c[axis] == 0;
        if (!outside) c[axis] += side != 0 ? 1U : ~0U;
        entry.faces[face] = kernels::face_in_place(slot[at(c)], outside ? side : 1 - side);
      }
      entries.push_back(entry);
      for (int k = 0; k < 27; ++k) sources.push_back(source(slot, coords[i], {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1}));
    }
    sources_.resize_discard(sources.size());
    support::copy_to_device(sources_.data(), sources.data(), sources.size(), stream_);
    in_.grow(blocks());
    out_.grow(blocks());
    entries_.resize_discard(entries.size());
    support::copy_to_device(entries_.data(), entries.data(), entries.size(), stream_);
    support::DeviceBuffer<kernels::RootBlock> list(roots.size());
    support::copy_to_device(list.data(), roots.data(), roots.size(), stream_);
    kernels::launch_initial(layout, list.data(), blocks(), in_.view(stream_), false, 1, stream_);
    stream_.synchronize();
  }

  [[nodiscard]] int blocks() const { return static_cast<int>(edge_ * edge_ * edge_); }
  [[nodiscard]] const BlockLayout& layout() const { return layout_; }
  [[nodiscard]] const support::CudaStream& stream() const { return stream_; }
  [[nodiscard]] support::DeviceSlots in() { return in_.view(stream_); }
  [[nodiscard]] support::DeviceSlots out() { return out_.view(stream_); }

  /// Seconds of one stage.
  double average7(const Average7Options& options, bool summing) {
    kernels::Average7Job job{entries_.data(), blocks(), in(), out(), nullptr, {}};
    if (summing) job.sums = sum_.start(scale_, stream_);
    const double seconds = timed([&] { kernels::launch_average7(layout_, job, stream_, options); });
    in_.swap(out_);
    return seconds;
  }
  double average27(bool summing) {
    kernels::Average27Job job;
    job.around.sources = sources_.data();
    job.around.blocks = in();
    job.around.steps = kernels::device_steps(layout_);
    job.count = blocks();
    job.out = out();
    if (summing) job.sums = sum_.start(scale_, stream_);
    const double seconds = timed([&] { kernels::launch_average27(layout_, job, stream_); });
    in_.swap(out_);
    return seconds;
  }
  template <class Launch>
  double timed(const Launch& launch) {
    start_.record(stream_);
    launch();
    stop_.record(stream_);
    stop_.synchronize();
    return stop_.seconds_since(start_);
  }

 private:
  static std::uint64_t key(const std::array<std::uint32_t, 3>& c) {
    std::uint64_t k = 0;
    for (int bit = 10; bit >= 0; --bit)
      for (int axis = 2; axis >= 0; --axis) k = k << 1 | (c[axis] >> bit & 1);
    return k;
  }
  [[nodiscard]] std::size_t at(const std::array<std::uint32_t, 3>& c) const {
    return (std::size_t(c[2]) * edge_ + c[1]) * edge_ + c[0];
  }

  /// The piece in direction d; beyond the cube the block's own outermost cells.
  [[nodiscard]] kernels::PieceSource source(const std::vector<std::int32_t>& slot, std::array<std::uint32_t, 3> c,
                                            const std::array<int, 3>& d) const {
    std::array<int, 3> cell{};
    for (int axis = 0; axis < 3; ++axis) {
      const bool outside = d[axis] > 0 ? c[axis] + 1 == edge_ : d[axis] < 0 && c[axis] == 0;
      if (d[axis] != 0) cell[axis] = (d[axis] < 0) == outside ? 0 : layout_.cells[axis] - 1;
      if (!outside) c[axis] += static_cast<std::uint32_t>(d[axis]);
    }
    const auto offset = static_cast<std::uint32_t>(layout_.offset(0, cell[0], cell[1], cell[2]));
    return {slot[at(c)], kernels::PieceSource::kBlock, offset & ((1U << 30) - 1)};
  }

  BlockLayout layout_;
  std::uint32_t edge_ = 1;
  support::CudaStream stream_;
  support::CudaEvent start_{true}, stop_{true};
  support::DeviceSlotArray in_, out_;
  support::DeviceBuffer<kernels::BlockEntry> entries_;
  support::DeviceBuffer<kernels::PieceSource> sources_;
  kernels::DeviceSum sum_;
  support::FixedPointScale scale_ = support::FixedPointScale::for_bound(4.0);
};

/// Keeps the grid of the case before: most cases come several to a grid.
class Grids {
 public:
  DeviceGrid& get(const BlockLayout& layout) {
    if (!grid_ || grid_->layout().cells != layout.cells || grid_->layout().variables != layout.variables) {
      grid_.reset();
      grid_ = std::make_unique<DeviceGrid>(layout);
    }
    return *grid_;
  }
  double copy_bandwidth = 0.0;
  bool once = false;

 private:
  std::unique_ptr<DeviceGrid> grid_;
};

void report(benchmark::State& state, const Grids& grids, double bytes, double seconds) {
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes * static_cast<double>(state.iterations())));
  state.counters["copy_share"] = bytes * static_cast<double>(state.iterations()) / seconds / grids.copy_bandwidth;
  state.counters["GB"] = bytes * 0.5e-9;
}

/// Times work() of `bytes` each.
template <class Work>
void time_case(benchmark::State& state, const Grids& grids, double bytes, const Work& work) {
  if (!grids.once) work();
  double seconds = 0.0;
  for (auto unused : state) {
    const double s = work();
    state.SetIterationTime(s);
    seconds += s;
  }
  report(state, grids, bytes, seconds);
}

void report_facts(benchmark::State& state, const kernels::Average7Facts& facts) {
  state.counters["regs"] = facts.registers;
  state.counters["spilled"] = facts.spilled_bytes;
  state.counters["blocks_mp"] = facts.thread_blocks;
  state.counters["flight_KB"] = 1e-3 * static_cast<double>(facts.flight_bytes) * facts.thread_blocks;
  state.counters["l2_values"] = facts.l2_values;
  state.counters["shared_B"] = facts.shared_bytes_a_value;
}

/// What is measured: a layout, how, and whether with sums.
struct Average7Case {
  int edge = 0, variables = 0;
  Average7Options options;
  bool summing = false;
};

void add_average7(Grids& grids, const Average7Case& c) {
  const Average7Options& o = c.options;
  std::string name = fmt::format("average7/edge:{}/variables:{}/{}/setting:{}/ahead:{}/tile:{}", c.edge, c.variables,
                                 kernels::name_of(o.variant), o.setting, o.ahead_bytes >> 10, o.tile);
  name += fmt::format("/cluster:{}/sums:{}", o.cluster, c.summing ? 1 : 0);
  if (o.threads > 0) name += fmt::format("/threads:{}", o.threads);
  const BlockLayout layout = kernels::make_layout({c.edge, c.edge, c.edge}, c.variables);
  auto* entry = benchmark::RegisterBenchmark(name.c_str(), [&grids, layout, c](benchmark::State& state) {
    DeviceGrid& grid = grids.get(layout);
    const double updates = static_cast<double>(layout.block_cells() * layout.variables) * grid.blocks();
    time_case(state, grids, 16.0 * updates, [&] { return grid.average7(c.options, c.summing); });
    state.SetItemsProcessed(static_cast<std::int64_t>(updates * static_cast<double>(state.iterations())));
    report_facts(state, kernels::average7_facts(layout, c.options, c.summing));
  });
  entry->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(grids.once ? 1 : 20);
}

void add_average27(Grids& grids, int edge, int variables, bool summing) {
  const std::string name = fmt::format("average27/edge:{}/variables:{}/sums:{}", edge, variables, summing ? 1 : 0);
  auto* entry = benchmark::RegisterBenchmark(name.c_str(), [&grids, edge, variables, summing](benchmark::State& state) {
    const BlockLayout layout = kernels::make_layout({edge, edge, edge}, variables);
    DeviceGrid& grid = grids.get(layout);
    const double updates = static_cast<double>(layout.block_cells() * layout.variables) * grid.blocks();
    time_case(state, grids, 16.0 * updates, [&] { return grid.average27(summing); });
    state.SetItemsProcessed(static_cast<std::int64_t>(updates * static_cast<double>(state.iterations())));
  });
  entry->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(grids.once ? 1 : 20);
}

/// Of a layout: what a user gets, and every setting of every kernel with prefetching.
void add_average7_cases(Grids& grids, int edge, int variables) {
  const BlockLayout layout = kernels::make_layout({edge, edge, edge}, variables);
  for (const bool summing : {false, true}) add_average7(grids, {edge, variables, {}, summing});
  constexpr int kAhead = 4 << 20;
  for (const Average7Variant variant :
       {Average7Variant::march, Average7Variant::group, Average7Variant::planes, Average7Variant::ring}) {
    for (int setting = 0; setting < kernels::average7_settings(layout, variant); ++setting) {
      for (const bool summing : {false, true})
        add_average7(grids, {edge, variables, {variant, setting, kAhead, 1}, summing});
    }
  }
}

std::vector<std::string> split(const std::string& words, char separator) {
  std::vector<std::string> parts;
  std::size_t first = 0;
  for (std::size_t at = 0; at != std::string::npos; first = at + 1) {
    at = words.find(separator, first);
    parts.push_back(words.substr(first, at == std::string::npos ? at : at - first));
  }
  return parts;
}

/// InputError with the words when they are not a case.
Average7Case read_case(const std::string& words) {
  const auto fail = [&](const std::string& what) -> Average7Case {
    throw support::InputError(fmt::format("--case {}: {}", words, what));
  };
  const auto number = [&](const std::string& word) {
    if (word.empty() || word.size() > 8 || word.find_first_not_of("0123456789") != std::string::npos)
      fail(fmt::format("\"{}\" is not a number", word));
    return std::stoi(word);
  };
  const std::vector<std::string> parts = split(words, ',');
  constexpr std::size_t kFixed = 4;
  if (parts.size() < kFixed) return fail("give edge,variables,variant,setting");
  Average7Case c{number(parts[0]), number(parts[1]), {}, false};
  bool known = false;
  for (const Average7Variant variant : {Average7Variant::automatic, Average7Variant::march, Average7Variant::group,
                                        Average7Variant::planes, Average7Variant::ring}) {
    if (parts[2] != kernels::name_of(variant)) continue;
    c.options.variant = variant;
    known = true;
  }
  if (!known) return fail("the variant is automatic, march, group, planes or ring");
  c.options.setting = number(parts[3]);
  constexpr int kKilo = 1 << 10;
  for (std::size_t i = kFixed; i < parts.size(); ++i) {
    const std::size_t equal = parts[i].find('=');
    const std::string key = parts[i].substr(0, equal);
    const int value = equal == std::string::npos ? 1 : number(parts[i].substr(equal + 1));
    if (key == "ahead")
      c.options.ahead_bytes = value * kKilo;
    else if (key == "tile")
      c.options.tile = value;
    else if (key == "cluster")
      c.options.cluster = value;
    else if (key == "threads")
      c.options.threads = value;
    else if (key == "sums")
      c.summing = value != 0;
    else
      return fail(fmt::format("\"{}\" is none of ahead, tile, cluster, threads, sums", key));
  }
  return c;
}

/// Split reads an eighth of a block and writes one; merge the other way round.
void add_refine(Grids& grids, int edge, int variables, bool split) {
  const std::string name = fmt::format("{}/edge:{}/variables:{}", split ? "split" : "merge", edge, variables);
  auto* entry = benchmark::RegisterBenchmark(name.c_str(), [&grids, edge, variables, split](benchmark::State& state) {
    const BlockLayout layout = kernels::make_layout({edge, edge, edge}, variables);
    DeviceGrid& grid = grids.get(layout);
    // One block in nine is the coarse one of the eight behind it.
    const int families = grid.blocks() / 9;
    std::vector<kernels::SplitJob> splits;
    std::vector<kernels::MergeJob> merges;
    for (int k = 0; k < families; ++k) {
      kernels::MergeJob merge{{}, 9 * k};
      for (int octant = 0; octant < 8; ++octant) merge.from[octant] = 9 * k + 1 + octant;
      splits.push_back({9 * k, merge.from});
      merges.push_back(merge);
    }
    support::DeviceBuffer<kernels::SplitJob> split_list(splits.size());
    support::DeviceBuffer<kernels::MergeJob> merge_list(merges.size());
    support::copy_to_device(split_list.data(), splits.data(), splits.size(), grid.stream());
    support::copy_to_device(merge_list.data(), merges.data(), merges.size(), grid.stream());
    const support::DeviceSlots slots = grid.in();
    const double bytes = 9.0 * families * static_cast<double>(layout.block_values() * sizeof(double));
    time_case(state, grids, bytes, [&] {
      return grid.timed([&] {
        if (split)
          kernels::launch_splits(layout, split_list.data(), static_cast<int>(splits.size()), slots, grid.stream());
        else
          kernels::launch_merges(layout, merge_list.data(), families, slots, grid.stream());
      });
    });
  });
  entry->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(grids.once ? 1 : 20);
}

void add_all(Grids& grids, const std::vector<Average7Case>& cases) {
  constexpr std::array<std::array<int, 2>, 9> kLayouts{
      {{4, 40}, {8, 10}, {8, 40}, {16, 10}, {16, 40}, {8, 1}, {16, 1}, {32, 1}, {4, 10}}};
  for (const Average7Case& c : cases) add_average7(grids, c);
  if (cases.empty())
    for (const auto& [edge, variables] : kLayouts) add_average7_cases(grids, edge, variables);
  constexpr std::array<std::array<int, 2>, 19> kShapes27{{{4, 1},
                                                          {4, 10},
                                                          {4, 40},
                                                          {6, 1},
                                                          {6, 10},
                                                          {8, 1},
                                                          {8, 10},
                                                          {8, 40},
                                                          {10, 3},
                                                          {10, 40},
                                                          {12, 5},
                                                          {14, 7},
                                                          {16, 10},
                                                          {16, 40},
                                                          {18, 13},
                                                          {22, 4},
                                                          {24, 8},
                                                          {32, 1},
                                                          {32, 40}}};
  if (cases.empty())
    for (const auto& [edge, variables] : kShapes27)
      for (const bool summing : {false, true}) add_average27(grids, edge, variables, summing);
  for (const bool splits : {true, false}) add_refine(grids, 8, 10, splits);
}

/// Into the context of the JSON: what a record of the run needs besides the figures.
void describe(const support::DeviceCopyBandwidth& copy, int argc, char** argv) {
  for (const auto& device : support::usable_cuda_devices()) {
    fmt::print("GPU {}: {}, {} multiprocessors\n", device.index, device.name, device.multiprocessors);
    benchmark::AddCustomContext(fmt::format("gpu_{}", device.index), device.name);
  }
  const support::CudaInfo info = support::cuda_info();
  benchmark::AddCustomContext("cuda_toolkit", info.toolkit);
  benchmark::AddCustomContext("cuda_driver", info.driver);
  fmt::print("copy bandwidth: {:.4g} TB/s (runtime {:.4g}, kernel {:.4g})\n", copy.bytes_per_s * 1e-12,
             copy.runtime_bytes_per_s * 1e-12, copy.kernel_bytes_per_s * 1e-12);
  benchmark::AddCustomContext("copy_bandwidth_bytes_per_s", fmt::format("{:.6g}", copy.bytes_per_s));
  std::string command = "cuda_stencil_bench";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.find("benchmark_out=") == std::string_view::npos) command += fmt::format(" {}", word);
  }
  benchmark::AddCustomContext("repeat", command);
}

}  // namespace

int main(int argc, char** argv) {
  Grids grids;
  std::vector<Average7Case> cases;
  try {
    std::vector<char*> words;
    for (int i = 0; i < argc; ++i) {
      const std::string word = argv[i];
      if (word == "--once")
        grids.once = true;
      else if (word == "--case" && i + 1 < argc)
        cases.push_back(read_case(argv[++i]));
      else
        words.push_back(argv[i]);
    }
    int count = static_cast<int>(words.size());
    benchmark::Initialize(&count, words.data());
    if (benchmark::ReportUnrecognizedArguments(count, words.data())) return 2;
    const auto copy = support::measure_device_copy(std::size_t{4} << 30, grids.once ? 1 : 9);
    grids.copy_bandwidth = copy.bytes_per_s;
    describe(copy, argc, argv);
    add_all(grids, cases);
    benchmark::RunSpecifiedBenchmarks();
  } catch (const support::InputError& error) {
    fmt::print(stderr, "cuda_stencil_bench: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cuda_stencil_bench: {}\n", error.what());
    return EXIT_FAILURE;
  }
  benchmark::Shutdown();
  return EXIT_SUCCESS;
}
