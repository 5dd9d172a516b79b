#pragma once
// Tables of what lies around blocks, made on a GPU out of what stands beside their faces (kernels/beside.hpp): 24 bytes
// a block are copied to it instead of 216. All pointers are device memory. Asynchronous. Errors: RunError when a launch
// fails.
#include "kernels/beside.hpp"
#include "support/cuda.hpp"

namespace amrbench::kernels {

/// 27 a block, in the order of Surroundings::index.
void launch_piece_sources(const PieceFinder& finder, const Beside* beside, int blocks, PieceSource* sources,
                          const support::CudaStream& stream);

/// 64 an octet, in the order of Octet::index, out of those of all blocks.
void launch_octet_sources(const OctetPlace* octets, int count, const PieceSource* sources, PieceSource* octet_sources,
                          const support::CudaStream& stream);

}  // namespace amrbench::kernels
