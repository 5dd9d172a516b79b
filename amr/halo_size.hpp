#pragma once
// What a stage's halo exchange costs a rank on the present mesh.
#include <cstdint>
#include <vector>

namespace amrbench::amr {

/// What goes to one neighbour in a stage.
struct HaloMessageSize {
  std::int64_t bytes = 0;
  std::int64_t pieces = 0;  ///< faces that cross to it
};

struct HaloSize {
  std::int64_t bytes_sent = 0;            ///< a stage
  std::int64_t pieces = 0;                ///< faces that cross to other ranks
  int neighbors = 0;                      ///< ranks exchanged with
  std::vector<HaloMessageSize> messages;  ///< to each of them, in the order of Mesh::neighbors()
};

}  // namespace amrbench::amr
