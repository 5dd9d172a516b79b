#include "partitioners/block_keys.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "partitioners/kd_tree.hpp"
#include "partitioners/traversal.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

/// Root cells of a grid along GenSFC, numbered with the first axis fastest.
template <int Dim>
std::vector<std::uint32_t> gensfc_cells(const sfc::Coord<Dim>& root) {
  constexpr std::size_t kMostCells = std::size_t{1} << 27;  // their tree takes some 60 bytes a cell
  std::size_t cells = 1;
  for (const std::uint32_t extent : root) cells *= extent;  // at most 2^60
  if (cells > kMostCells)
    throw support::InputError("gensfc by splitter octree: " + std::to_string(cells) + " root cells; at most " +
                              std::to_string(kMostCells) + " are possible");
  std::vector<double> points;
  points.reserve(cells * Dim);
  for (std::size_t c = 0; c < cells; ++c) {
    std::size_t rest = c;
    for (const std::uint32_t extent : root) {
      points.push_back(static_cast<double>(rest % extent));
      rest /= extent;
    }
  }
  KdTreeOptions options;
  options.bucket = 1;
  const auto tree = build_kd_tree<std::uint32_t>(PointView<double>{points, Dim}, {}, options);
  const auto order = curve_order(tree, TreeCurve::gensfc);
  return {order.data(), order.data() + order.size()};
}

}  // namespace

template <int Dim>
sfc::KeySpace<Dim> block_keys(std::string_view method, const sfc::Coord<Dim>& root, int max_level) {
  try {
    const sfc::Curve curve = sfc::curve_from_name(method);
    if (curve != sfc::Curve::gensfc) return {curve, root, max_level};
    const sfc::KeySpace<Dim> checked(sfc::Curve::morton, root, max_level);  // before a tree of its cells is built
    return {std::make_shared<const sfc::RootOrder<Dim>>(root, gensfc_cells<Dim>(root)), root, max_level};
  } catch (const std::invalid_argument& error) {
    throw support::InputError(error.what());
  }
}

template sfc::KeySpace<2> block_keys<2>(std::string_view, const sfc::Coord<2>&, int);
template sfc::KeySpace<3> block_keys<3>(std::string_view, const sfc::Coord<3>&, int);

}  // namespace amrbench::partitioners
