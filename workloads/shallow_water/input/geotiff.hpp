#pragma once
// Rasters from GeoTIFF files, by GDAL where the build found it (AMRBENCH_GDAL; Debian package libgdal-dev).
#include <string>

#include "workloads/shallow_water/input/raster.hpp"

namespace amrbench::workloads::shallow_water {

/// Whether this build reads GeoTIFF files.
[[nodiscard]] bool has_geotiff();

/// Band 1 of a file, north up: its rows run from west to east, its columns from north to south. Coordinates are taken
/// for metres; no projection is looked at. support::InputError naming the file, and what would be right, when it is no
/// such file, its cells do not fit into memory or are not finite, or this build has no GDAL. One process may call it
/// from one thread at a time.
[[nodiscard]] Raster read_geotiff(const std::string& path);

}  // namespace amrbench::workloads::shallow_water
