#pragma once
// Faces that cross a rank or a change of level: copied, restricted (fine to coarse) or prolonged (coarse to fine).
//
// Values are extensive. Of a coarse face value each of the 4 fine cells behind it sees a quarter; a coarse cell sees
// the sum of the 4 fine cells before it (docs/miniamr.md). What crosses a level is always a quarter of a coarse face,
// so messages carry quarters:
//
//   same level:  the face,              packed [chunk][b][a][lane]
//   level change: (na/2) x (nb/2) cells, packed likewise; restricted by the sender when the sender is fine
//
// (qa, qb) in {0,1}^2 names the quarter of the coarse face along its axes a and b.
// All functions: no allocation, thread-safe on distinct outputs; cost O(face cells * variables).
#include "kernels/layout.hpp"

namespace amrbench::kernels {

// ---- Whole blocks: what a sender packs. `block` points to a block, `out` gets all chunks. ----

/// Copies face `face` of `block` into `out` (face_values doubles).
void pack_face(const BlockLayout& layout, const double* block, int face, double* out);
/// Quarter (qa, qb) of a coarse block's face, each value divided by 4, into `out` (quarter_values doubles).
void pack_quarter(const BlockLayout& layout, const double* block, int face, int qa, int qb, double* out);
/// A fine block's face summed 2 x 2 into `out` (quarter_values doubles).
void pack_restricted(const BlockLayout& layout, const double* block, int face, double* out);

// ---- Some chunks: what a stencil needs of a neighbour of another level. Sources point to their first chunk that is
// wanted; `out` gets chunks * face_cells * lanes doubles. ----

/// A whole packed face of a fine block, made of quarter (qa, qb) of face `face` of the coarse neighbour.
void prolong_face(const BlockLayout& layout, const double* coarse, int face, int qa, int qb, int chunks, double* out);
/// The same from that quarter as it was packed by pack_quarter.
void expand_quarter(const BlockLayout& layout, const double* quarter, int axis, int chunks, double* out);
/// Quarter (qa, qb) of a whole packed face of a coarse block, made of face `face` of the fine neighbour.
void restrict_face(const BlockLayout& layout, const double* fine, int face, int qa, int qb, int chunks, double* out);
/// The same from that quarter as it was packed by pack_restricted.
void insert_quarter(const BlockLayout& layout, const double* quarter, int axis, int qa, int qb, int chunks,
                    double* out);

}  // namespace amrbench::kernels
