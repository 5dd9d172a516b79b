// Builds without GDAL.
#include <fmt/format.h>

#include "support/error.hpp"
#include "workloads/shallow_water/input/geotiff.hpp"

namespace amrbench::workloads::shallow_water {

bool has_geotiff() {
  return false;
}

Raster read_geotiff(const std::string& path) {
  throw support::InputError(fmt::format(
      "{}: this build does not read GeoTIFF: install GDAL (Debian package libgdal-dev) and build again with "
      "-DAMRBENCH_GDAL=ON, or convert the file: gdal_translate -of AAIGrid {} map.asc",
      path, path));
}

}  // namespace amrbench::workloads::shallow_water
