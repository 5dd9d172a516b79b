// Builds with GDAL. Its C interface, which does not change between versions.
#include <cpl_conv.h>
#include <cpl_error.h>
#include <fmt/format.h>
#include <gdal.h>
#include <gdal_frmts.h>

#include <array>
#include <cmath>
#include <limits>

#include "support/error.hpp"
#include "workloads/shallow_water/input/geotiff.hpp"
#include "workloads/shallow_water/input/input_text.hpp"

namespace amrbench::workloads::shallow_water {

namespace {

/// An open file; GDAL's own messages are kept for ours meanwhile.
class OpenTiff {
 public:
  explicit OpenTiff(const std::string& path) : path_(path) {
    const std::array<const char*, 2> drivers{"GTiff", nullptr};
    CPLPushErrorHandler(CPLQuietErrorHandler);
    GDALRegister_GTiff();
    set_ = GDALOpenEx(path.c_str(), GDAL_OF_RASTER | GDAL_OF_READONLY, drivers.data(), nullptr, nullptr);
    if (!set_) {
      const std::string reason = CPLGetLastErrorMsg();
      CPLPopErrorHandler();
      throw support::InputError(fmt::format("{}: cannot be read as GeoTIFF{}{}", path, reason.empty() ? "" : ": ",
                                            reason.empty() ? "; is it one?" : reason));
    }
  }
  ~OpenTiff() {
    GDALClose(set_);
    CPLPopErrorHandler();
  }
  OpenTiff(const OpenTiff&) = delete;
  OpenTiff& operator=(const OpenTiff&) = delete;

  [[noreturn]] void refuse(const std::string& problem) const {
    throw support::InputError(fmt::format("{}: {}", path_, problem));
  }
  [[nodiscard]] GDALDatasetH set() const { return set_; }
  /// The first band, its values as they are stored.
  [[nodiscard]] GDALRasterBandH band() const {
    GDALRasterBandH band = GDALGetRasterCount(set_) > 0 ? GDALGetRasterBand(set_, 1) : nullptr;
    if (!band) refuse("has no band; one is needed");
    if (GDALDataTypeIsComplex(GDALGetRasterDataType(band))) refuse("band 1 is complex; must be of real numbers");
    if (GDALGetRasterScale(band, nullptr) != 1 || GDALGetRasterOffset(band, nullptr) != 0)
      refuse("band 1 has a scale or an offset; apply them first: gdal_translate -unscale");
    return band;
  }

 private:
  std::string path_;
  GDALDatasetH set_ = nullptr;
};

Raster tiff_shape(const OpenTiff& tiff, const std::string& path) {
  Raster raster;
  raster.file = path;
  raster.columns = GDALGetRasterXSize(tiff.set());
  raster.rows = GDALGetRasterYSize(tiff.set());
  std::array<double, 6> g{};
  if (GDALGetGeoTransform(tiff.set(), g.data()) != CE_None)
    tiff.refuse("does not say where it lies (no geotransform); gdal_translate -a_ullr can set it");
  if (g[2] != 0 || g[4] != 0 || !(g[1] > 0) || !(g[5] < 0)) tiff.refuse("is not north up; gdalwarp makes it so");
  raster.dx = g[1];
  raster.dy = -g[5];
  raster.west = g[0];
  raster.south = g[3] - static_cast<double>(raster.rows) * raster.dy;
  if (const std::string problem = shape_problem(raster); !problem.empty()) tiff.refuse(problem);
  return raster;
}

}  // namespace

bool has_geotiff() {
  return true;
}

Raster read_geotiff(const std::string& path) {
  const OpenTiff tiff(path);
  Raster raster = tiff_shape(tiff, path);
  const GDALRasterBandH band = tiff.band();
  const auto count = static_cast<std::size_t>(raster.columns * raster.rows);
  check_memory_left(path, static_cast<double>(count) * sizeof(double));
  raster.cells.resize(count);
  const auto columns = static_cast<int>(raster.columns);
  const auto rows = static_cast<int>(raster.rows);
  if (GDALRasterIO(band, GF_Read, 0, 0, columns, rows, raster.cells.data(), columns, rows, GDT_Float64, 0, 0) !=
      CE_None)
    tiff.refuse(fmt::format("cannot be read: {}", CPLGetLastErrorMsg()));
  int declared = 0;
  const double no_data = GDALGetRasterNoDataValue(band, &declared);
  if (declared) raster.no_data = no_data;
  const bool single = GDALGetRasterDataType(band) == GDT_Float32;
  for (std::size_t i = 0; i < count; ++i) {
    double& value = raster.cells[i];
    const bool none =
        declared && (single ? static_cast<float>(value) == static_cast<float>(no_data) : value == no_data);
    if (none) value = std::numeric_limits<double>::quiet_NaN();
    if (!std::isnan(value) && !(std::abs(value) <= kLargestNumber))
      tiff.refuse(fmt::format("row {}, column {} (from 1, from the north-west): {} must be from -1e100 to 1e100",
                              i / static_cast<std::size_t>(columns) + 1, i % static_cast<std::size_t>(columns) + 1,
                              value));
  }
  return raster;
}

}  // namespace amrbench::workloads::shallow_water
