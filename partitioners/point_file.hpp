#pragma once
// Inputs that come from files; the forms and errors are those of point_input.hpp.
#include <cstddef>
#include <string_view>
#include <vector>

#include "partitioners/point_input.hpp"

namespace amrbench::partitioners {

/// Text, a point a line, perhaps with a header of names.
PointInput csv_input(std::string_view path);
/// float64 of this machine, dim a point.
PointInput raw_input(std::string_view path, int dim);
/// A graph; weights of its vertices when it has one weight a vertex, a note when it has several.
PointInput graph_input(std::string_view path);
/// n weights, text or float64.
std::vector<double> weights_of_file(std::string_view path, std::size_t n);

}  // namespace amrbench::partitioners
