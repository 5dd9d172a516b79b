#pragma once
// Reader of TetGen's meshes: PATH.node, PATH.ele and PATH.neigh, which `tetgen -n` writes beside each other.
//
// Text; # begins a comment, blank lines count for nothing. The first line of each file is a header: of .node `points 3
// attributes markers`, of .ele `elements corners attributes` with 4 or 10 corners, of .neigh `elements 4`. Then a line
// a point (number x y z ...), an element (number and corners ...) or an element's neighbours (number and four, -1 at
// the hull). Numbers count from 0 or from 1, as the first line of .node does, and ascend by one. Source: TetGen 1.5
// manual, chapter 5.
#include <string>

#include "partitioners/inputs/mesh_input.hpp"

namespace amrbench::partitioners {

/// Elements' centroids and the graph of their common faces. path: of the .ele file. Throws support::InputError
/// "<file>:<line>: ..." for a header that is none or asks for more lines than the file can hold, a number that is none
/// or out of range, a missing or surplus line, coordinates that are not finite, neighbours that do not name each other
/// or share no three corners. O(bytes); memory: the three files and the mesh. Local.
MeshInput read_tetgen(const std::string& path);

}  // namespace amrbench::partitioners
