#pragma once
// Inputs that are meshes with a graph of their own: spheres, tetrahedra, files of TetGen.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "partitioners/graph.hpp"

namespace amrbench::partitioners {

struct InputSpec;

/// Points of three dimensions, and which of them are neighbours.
struct MeshInput {
  std::vector<double> points;
  Graph graph;
};

inline constexpr std::uint64_t kMostTetraPoints = std::uint64_t{1} << 24;

/// Bytes that load_mesh() holds at most: a bound from what `spec` says, 0 for files, whose reader checks by itself.
double mesh_bytes(const InputSpec& spec);

/// The mesh that `spec` names (forms sphere, sphere_adaptive, tetrahedra, tetgen), on this process alone: the whole, on
/// every rank that calls it. Throws support::InputError for files that are none.
MeshInput load_mesh(const InputSpec& spec, int threads = 0);

/// Points number 0 .. n - 1 of `tetrahedra`, before they are joined: uniform in the cube, three coordinates of 20 bits
/// each. They come from the stream of generated points (generated_points.hpp, `uniform`).
std::vector<std::array<std::int32_t, 3>> tetra_points(std::uint64_t n, std::uint64_t seed);

}  // namespace amrbench::partitioners
