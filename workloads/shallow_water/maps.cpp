#include "workloads/shallow_water/maps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/error.hpp"
#include "support/mpi.hpp"
#include "workloads/host_copy.hpp"
#include "workloads/shallow_water/input/ascii_grid.hpp"

namespace amrbench::workloads::shallow_water {

namespace {

namespace water = kernels::shallow_water;

/// A map as it is written: the variable, its file, and what means no data.
struct Map {
  int variable;
  const char* file;
  double nothing;  ///< this and what is less
};

/// This rank's values of one variable in curve order on the root; empty elsewhere. Collective.
std::vector<double> gather(const support::Communicator& comm, const std::vector<double>& mine) {
  const std::vector<std::int64_t> sizes = support::all_gather(comm, static_cast<std::int64_t>(mine.size()));
  constexpr int kTag = 71;
  constexpr std::size_t kPiece = std::size_t{1} << 27;
  std::vector<double> all;
  const auto pieces = [&](auto* data, std::size_t count, auto&& pass) {
    for (std::size_t at = 0; at < count; at += kPiece) pass(data + at, static_cast<int>(std::min(kPiece, count - at)));
  };
  if (!comm.is_root()) {
    pieces(mine.data(), mine.size(), [&](const double* data, int count) {
      support::mpi_check(MPI_Send(data, count, MPI_DOUBLE, 0, kTag, comm.get()), "MPI_Send");
    });
    return all;
  }
  std::size_t total = 0;
  for (const std::int64_t size : sizes) total += static_cast<std::size_t>(size);
  all.resize(total);
  std::copy(mine.begin(), mine.end(), all.begin());
  std::size_t at = mine.size();
  for (int rank = 1; rank < comm.size(); ++rank) {
    const auto size = static_cast<std::size_t>(sizes[std::size_t(rank)]);
    pieces(all.data() + at, size, [&](double* data, int count) {
      support::mpi_check(MPI_Recv(data, count, MPI_DOUBLE, rank, kTag, comm.get(), MPI_STATUS_IGNORE), "MPI_Recv");
    });
    at += size;
  }
  return all;
}

/// The domain in cells of the deepest level, all without data.
Raster empty_raster(const Problem& problem, const amr::Mesh<2>& mesh, int max_level) {
  const Setup& setup = problem.solution().setup();
  const auto shape = problem.shape(max_level);
  Raster raster;
  raster.columns = (std::int64_t{mesh.space().root()[0]} << max_level) * problem.cells();
  raster.rows = (std::int64_t{mesh.space().root()[1]} << max_level) * problem.cells();
  raster.west = setup.low[0];
  raster.south = setup.low[1];
  raster.dx = shape.dx;
  raster.dy = shape.dy;
  const std::string wrong = shape_problem(raster);
  if (!wrong.empty()) throw support::RunError("maps of the run: " + wrong);
  raster.cells.assign(static_cast<std::size_t>(raster.rows * raster.columns), std::numeric_limits<double>::quiet_NaN());
  return raster;
}

/// Paints the cells of a block, `size` cells of the deepest level along an edge each.
void paint(Raster& raster, const Map& map, const std::array<std::int64_t, 2>& corner, std::int64_t size, int n,
           const double* values) {
  for (std::int64_t y = 0; y < n * size; ++y) {
    double* const row = raster.cells.data() + (raster.rows - 1 - (corner[1] + y)) * raster.columns + corner[0];
    for (std::int64_t x = 0; x < n * size; ++x) {
      const double value = values[(y / size) * n + x / size];
      if (value > map.nothing) row[x] = value;
    }
  }
}

}  // namespace

void start_maps(int cells, double arrival_depth, double time, double* block) {
  const std::size_t plane = std::size_t(cells) * std::size_t(cells);
  std::fill_n(block + kLargestDepth * plane, plane, 0.0);
  std::fill_n(block + kArrival * plane, plane, kNever);
  update_maps(cells, arrival_depth, time, block);
}

void update_maps(int cells, double arrival_depth, double time, double* block) {
  const std::size_t plane = std::size_t(cells) * std::size_t(cells);
  double* const largest = block + kLargestDepth * plane;
  double* const arrival = block + kArrival * plane;
  for (std::size_t at = 0; at < plane; ++at) {
    largest[at] = std::max(largest[at], block[at]);
    if (arrival[at] == kNever && block[at] >= arrival_depth) arrival[at] = time;
  }
}

double merge_map(int variable, double a, double b, double c, double d) {
  if (variable == kLargestDepth) return std::max(std::max(a, b), std::max(c, d));
  double first = kNever;
  for (const double time : {a, b, c, d})
    if (time != kNever && (first == kNever || time < first)) first = time;
  return first;
}

void write_rasters(const std::filesystem::path& folder, const amr::Mesh<2>& mesh, const amr::Fields& fields,
                   const Problem& problem, int max_level, support::Existing existing) {
  const HostCopy copy(fields);
  const amr::FieldStore& store = copy.get();
  const int n = problem.cells();
  const std::size_t plane = std::size_t(n) * std::size_t(n);
  std::vector<double> places;  // level and corner of each block, as numbers that doubles hold
  for (std::int32_t i = 0; i < mesh.size(); ++i)
    places.insert(places.end(), {static_cast<double>(mesh.level(i)), static_cast<double>(mesh.coord(i)[0]),
                                 static_cast<double>(mesh.coord(i)[1])});
  places = gather(mesh.comm(), places);
  std::vector<Map> maps{{water::kBed, "bed.asc", -std::numeric_limits<double>::infinity()},
                        {water::kDepth, "depth.asc", 0.0}};
  if (fields.layout().variables == kVariablesWithMaps) {
    maps.push_back({kLargestDepth, "largest_depth.asc", 0.0});
    maps.push_back({kArrival, "arrival_time.asc", kNever});
  }
  for (const Map& map : maps) {
    std::vector<double> values;
    for (std::int32_t i = 0; i < mesh.size(); ++i) {
      const double* const block = store.block(i) + std::size_t(map.variable) * plane;
      values.insert(values.end(), block, block + plane);
    }
    values = gather(mesh.comm(), values);
    support::run_on_root(mesh.comm(), [&] {
      Raster raster = empty_raster(problem, mesh, max_level);
      for (std::size_t b = 0; b < places.size() / 3; ++b) {
        const std::int64_t size = std::int64_t{1} << (max_level - static_cast<int>(places[3 * b]));
        paint(raster, map,
              {static_cast<std::int64_t>(places[3 * b + 1]) * n * size,
               static_cast<std::int64_t>(places[3 * b + 2]) * n * size},
              size, n, values.data() + b * plane);
      }
      write_ascii_grid(folder / map.file, raster, existing);
    });
  }
}

}  // namespace amrbench::workloads::shallow_water
