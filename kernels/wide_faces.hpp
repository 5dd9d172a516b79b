#pragma once
// Extended faces on a CPU (kernels/tile.hpp says what they hold): packed for messages, filled from blocks beside them
// and from messages. The twin of kernels/wide_faces_cuda.hpp, with the same values.
//
// A layer that is sent reaches into the ghosts of the axes before its own, so its values are looked up in what lies
// around the block. They go to the cache first, where they are packed, and from there to their places.
#include "kernels/surroundings.hpp"
#include "kernels/wide_jobs.hpp"

namespace amrbench::kernels {

/// The extended faces across one axis. Thread-safe on distinct targets; nothing is allocated. O(values moved).
class WideFaces {
 public:
  WideFaces(const BlockLayout& layout, int axis);

  /// What a block sends across job.face, into `piece`: tile_piece_values() doubles, [chunk][b][a][lane]. Of what lies
  /// around the block only the pieces beside it in the face's plane are read. `scratch`: scratch() doubles.
  void pack(const WideFaceJob& job, const Surroundings& around, double* piece, double* scratch) const;
  /// What a block of another level sends across job.face ^ 1, into an extended face of its neighbour.
  void fill(const WideFaceJob& job, const Surroundings& around, double* extended_face, double* scratch) const;
  /// Asks for what pack or fill will read to be in the caches.
  void fetch(const WideFaceJob& job, const Surroundings& around) const;
  /// A received piece into an extended face.
  void unpack(const WideFaceJob& job, const double* piece, double* extended_face) const;

  [[nodiscard]] std::size_t scratch() const { return std::size_t(na_ + 2) * (nb_ + 2) * layout_.lanes; }
  [[nodiscard]] const FaceLayout& extended() const { return extended_; }

 private:
  template <int Lanes>
  struct Work;

  BlockLayout layout_;
  FaceLayout extended_;
  int axis_, a_, b_;       ///< across the face, and in it
  int na_, nb_, ea_, eb_;  ///< cells in the plane, and by how many the face is extended on either side
};

}  // namespace amrbench::kernels
