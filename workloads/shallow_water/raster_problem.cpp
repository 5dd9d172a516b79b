#include "workloads/shallow_water/raster_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "support/error.hpp"
#include "workloads/shallow_water/input/raster.hpp"
#include "workloads/shallow_water/input/raster_sampler.hpp"

namespace amrbench::workloads::shallow_water {

namespace {

/// Rock where the bed has no data, above the highest place [m].
constexpr double kRock = 10.0;

Raster read_bed(const ShallowWaterConfig& water) {
  if (water.bed_file.empty())
    throw support::InputError("shallow_water.bed_file: problem \"raster\" needs one, an ESRI ASCII grid or a GeoTIFF");
  Raster bed = read_raster(water.bed_file);
  check_range(bed, kBedRange);
  double highest = -INFINITY;
  for (const double z : bed.cells)
    if (!std::isnan(z)) highest = std::max(highest, z);
  if (std::isinf(highest)) throw support::InputError(bed.file + ": no cell has data");
  for (double& z : bed.cells)
    if (std::isnan(z)) z = highest + kRock;
  return bed;
}

/// A raster beside the bed. Cells without data have 0.
std::optional<Raster> read_other(const std::string& file, const ValueRange& range, const Raster& bed) {
  if (file.empty()) return {};
  Raster raster = read_raster(file);
  check_range(raster, range);
  if (!RasterSampler(raster).covers({bed.west, bed.east(), bed.south, bed.north()}))
    throw support::InputError(fmt::format(
        "{}: covers [{}, {}] x [{}, {}] m, not all of the bed's [{}, {}] x [{}, {}] m", raster.file, raster.west,
        raster.east(), raster.south, raster.north(), bed.west, bed.east(), bed.south, bed.north()));
  for (double& value : raster.cells)
    if (std::isnan(value)) value = 0.0;
  return raster;
}

Setup raster_setup(const ShallowWaterConfig& water, const std::array<bool, 2>& periodic, const Raster& bed) {
  Setup setup;
  setup.low = {bed.west, bed.south};
  setup.high = {bed.east(), bed.north()};
  setup.end_time = 0.0;
  setup.known = false;
  setup.friction = water.roughness > 0.0 || !water.roughness_file.empty();
  const std::array sides{&water.west, &water.east, &water.south, &water.north};
  constexpr std::array kNames{"west", "east", "south", "north"};
  for (std::size_t face = 0; face < 4; ++face) {
    setup.sides[face].kind = *sides[face] == "open" ? Side::open : Side::wall;
    if (periodic[face / 2] && setup.sides[face].kind != Side::wall)
      throw support::InputError(
          fmt::format("shallow_water.{} = \"{}\": with mesh.periodic there is no such side; leave it \"wall\"",
                      kNames[face], *sides[face]));
  }
  return setup;
}

class RasterSolution final : public Solution {
 public:
  RasterSolution(const ShallowWaterConfig& water, const std::array<double, 2>& cells,
                 const std::array<bool, 2>& periodic, Raster bed)
      : Solution("raster", raster_setup(water, periodic, bed)),
        bed_(std::move(bed)),
        depth_(read_other(water.depth_file, kDepthRange, bed_)),
        roughness_(read_other(water.roughness_file, kRoughnessRange, bed_)),
        level_(water.level),
        even_roughness_(water.roughness),
        half_{0.5 * (setup().high[0] - setup().low[0]) / cells[0],
              0.5 * (setup().high[1] - setup().low[1]) / cells[1]} {}
  [[nodiscard]] State at(double x, double y, double /*t*/) const override {
    return {std::max({0.0, level_ - bed(x, y), depth_ ? sample(*depth_, x, y) : 0.0}), 0, 0};
  }
  [[nodiscard]] double bed(double x, double y) const override { return sample(bed_, x, y); }
  [[nodiscard]] double roughness(double x, double y) const override {
    return roughness_ ? sample(*roughness_, x, y) : even_roughness_;
  }

 private:
  /// Of the cell of the deepest level about (x, y), kept inside the domain: cells of strips lie behind its sides.
  [[nodiscard]] double sample(const Raster& raster, double x, double y) const {
    x = std::clamp(x, setup().low[0] + half_[0], setup().high[0] - half_[0]);
    y = std::clamp(y, setup().low[1] + half_[1], setup().high[1] - half_[1]);
    return RasterSampler(raster).value({x - half_[0], x + half_[0], y - half_[1], y + half_[1]});
  }

  Raster bed_;
  std::optional<Raster> depth_, roughness_;
  double level_, even_roughness_;  ///< [m], [s m^(-1/3)]
  std::array<double, 2> half_;     ///< of a cell's sides [m]
};

}  // namespace

std::unique_ptr<Solution> make_raster_problem(const ShallowWaterConfig& water, const std::array<double, 2>& cells,
                                              const std::array<bool, 2>& periodic) {
  return std::make_unique<RasterSolution>(water, cells, periodic, read_bed(water));
}

}  // namespace amrbench::workloads::shallow_water
