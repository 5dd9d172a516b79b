// vtk_file (apps/partition/files.hpp). Format: "VTK File Formats", Kitware, section Simple Legacy Formats.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "apps/partition/files.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

namespace {

/// Legacy binary data are big-endian.
template <class T>
void put(std::string& out, T value) {
  auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
  if constexpr (std::endian::native == std::endian::little) std::reverse(bytes.begin(), bytes.end());
  out.append(bytes.data(), bytes.size());
}

void put_points(std::string& out, const Drawing& drawing) {
  const std::size_t n = drawing.points.size();
  out += fmt::format("POINTS {} double\n", n);
  for (std::size_t i = 0; i < n; ++i)
    for (int d = 0; d < 3; ++d) put(out, d < drawing.points.dim ? drawing.points[i][d] : 0.0);
  out += '\n';
}

/// Arrays of a field: readers take them all, while of several SCALARS some keep the first only.
void put_data(std::string& out, const Drawing& drawing) {
  const std::size_t n = drawing.part.size();
  out += fmt::format("FIELD FieldData {}\npart 1 {} int\n", drawing.order.empty() ? 1 : 2, n);
  for (const std::int32_t part : drawing.part) put(out, part);
  out += '\n';
  if (drawing.order.empty()) return;
  std::vector<std::int32_t> position(n);
  for (std::size_t k = 0; k < n; ++k) position[drawing.order[k]] = static_cast<std::int32_t>(k);
  out += fmt::format("position 1 {} int\n", n);
  for (const std::int32_t place : position) put(out, place);
  out += '\n';
}

void put_grid(std::string& out, const Drawing& drawing) {
  const auto& extent = drawing.grid->extent;
  const bool flat = drawing.grid->dim == 2;
  out += "DATASET STRUCTURED_POINTS\n";
  out += fmt::format("DIMENSIONS {} {} {}\n", extent[0] + 1, extent[1] + 1, flat ? 1 : extent[2] + 1);
  out += "ORIGIN 0 0 0\nSPACING 1 1 1\n";
  out += fmt::format("CELL_DATA {}\n", drawing.part.size());
}

void put_vertices(std::string& out, const Drawing& drawing) {
  const std::size_t n = drawing.points.size();
  out += "DATASET POLYDATA\n";
  put_points(out, drawing);
  if (drawing.curve) {
    out += fmt::format("LINES 1 {}\n", n + 1);
    put(out, static_cast<std::int32_t>(n));
    for (const std::uint32_t i : drawing.order) put(out, static_cast<std::int32_t>(i));
  } else {
    out += fmt::format("VERTICES {} {}\n", n, 2 * n);
    for (std::size_t i = 0; i < n; ++i) {
      put(out, std::int32_t{1});
      put(out, static_cast<std::int32_t>(i));
    }
  }
  out += fmt::format("\nPOINT_DATA {}\n", n);
}

}  // namespace

std::string vtk_file(const Drawing& drawing) {
  using support::InputError;
  if (drawing.points.dim != 2 && drawing.points.dim != 3)
    throw InputError(fmt::format("--vtk: points of {} dimensions; must be 2 or 3", drawing.points.dim));
  if (drawing.curve && drawing.order.size() != drawing.points.size())
    throw InputError("--draw curve: this method has no curve; use --draw parts");
  if (drawing.points.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) - 1)
    throw InputError("--vtk: the format numbers points in 31 bits");
  std::string out = "# vtk DataFile Version 3.0\namrbench partition\nBINARY\n";
  if (drawing.grid != nullptr && !drawing.curve)
    put_grid(out, drawing);
  else
    put_vertices(out, drawing);
  put_data(out, drawing);
  return out;
}

}  // namespace amrbench::apps
