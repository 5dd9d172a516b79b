#pragma once
// What lies around every block (amr/wide_sources.hpp), and the exchange that fills the extended faces where a face
// crosses a rank or a level.
//
// Extended faces are filled axis by axis: pieces for remote neighbours across that axis are packed and sent, one
// message a neighbour rank, those from local neighbours are filled (while the messages fly, if asked for), received
// pieces are put in place. The next axis begins when the one before is complete. Sources and plans are made when the
// mesh changes and only then.
#include <array>
#include <cstdint>
#include <vector>

#include "amr/field_store.hpp"
#include "amr/halo_plan.hpp"
#include "amr/mesh.hpp"
#include "amr/octets.hpp"
#include "amr/wide_sources.hpp"
#include "amr/wide_tables.hpp"
#include "kernels/wide_faces.hpp"
#include "support/mpi.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::amr {

class WideHalo {
 public:
  explicit WideHalo(const kernels::BlockLayout& layout);
  WideHalo(const WideHalo&) = delete;
  WideHalo& operator=(const WideHalo&) = delete;

  /// Sources, plans and buffers for `mesh`, which must outlive the next call. Local work only, O(blocks).
  void rebuild(const Mesh<3>& mesh);

  /// Fills all extended faces from the fields. `overlap`: from local neighbours before waiting for the messages, else
  /// after. The same bits either way. The seconds that it waited. Collective over neighbours.
  double exchange(const Mesh<3>& mesh, const FieldStore& fields, bool overlap);
  /// Blocks [begin, end).
  struct BlockRange {
    std::int32_t begin = 0, end = 0;
  };
  /// What lies around block i, of the fields last exchanged and good until they change. Pieces [first, last) only; far
  /// are those that are no part of the blocks in `near`, none where all stay in the caches. Made where it is kept: a
  /// copy would load what was just stored.
  void find_around(std::int32_t i, int first, int last, const BlockRange& near, kernels::Surroundings& around) const;
  [[nodiscard]] kernels::Surroundings around(std::int32_t i) const {
    kernels::Surroundings around;
    find_around(i, 0, 27, {}, around);
    return around;
  }
  /// The same of an octet.
  void find_around(const Octets::Sources& sources, const BlockRange& near, kernels::Octet& octet) const;
  [[nodiscard]] const WideSources& sources() const { return sources_; }

  /// Per exchange, all axes together.
  [[nodiscard]] const HaloSize& size() const { return size_; }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  /// Of one axis.
  struct Axis {
    Axis(const kernels::BlockLayout& layout, int axis) : faces(layout, axis) {}
    kernels::WideFaces faces;
    WideMessageJobs messages;
    support::PageBuffer<kernels::WideFaceJob> local;  ///< of which local_count are used
    std::size_t local_count = 0;
    MessageCounts sends, receives;
    support::PageBuffer<double> values;  ///< of its extended faces
    [[nodiscard]] double* target(const kernels::WideFaceJob& job) {
      return values.data() + std::size_t(job.to) * faces.extended().values();
    }
  };
  [[nodiscard]] kernels::Piece piece(const kernels::PieceSource& s) const {
    return {places_[first_place_[s.kind] + std::size_t(s.index)] + s.offset, &steps_[s.kind]};
  }
  void find_around_job(const kernels::WideFaceJob& job, kernels::Surroundings& around) const;
  template <class Work>
  void run(const Axis& axis, std::span<const kernels::WideFaceJob> jobs, const Work& work);
  void start(Axis& axis);
  double finish(Axis& axis);
  void fill_local(Axis& axis);

  kernels::BlockLayout layout_;
  std::array<Axis, 3> axes_;
  std::array<kernels::PieceSteps, 4> steps_;  ///< by kind of source
  WideSources sources_;
  std::vector<const double*> places_;         ///< of the blocks, then of the extended faces across each axis
  std::array<std::size_t, 4> first_place_{};  ///< by kind of source
  const support::DistGraph* graph_ = nullptr;
  support::PageBuffer<double> send_buffer_, receive_buffer_;  ///< of one axis at a time
  std::vector<std::vector<double>> scratch_;                  ///< one a thread
  bool fetches_ = false;                                      ///< are there more blocks than caches keep?
  HaloSize size_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace amrbench::amr
