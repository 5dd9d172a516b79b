#include "amr/wide_halo.hpp"

#include <omp.h>

#include <algorithm>

#include "amr/stage_passes.hpp"
#include "support/metrics.hpp"

namespace amrbench::amr {

using kernels::PieceSource;
using kernels::WideFaceJob;

namespace {
/// So many lines are asked for ahead at most, in so many jobs at most: more would leave the cache before their turn.
constexpr std::size_t kLinesAhead = 2048, kJobsAhead = 8;
}  // namespace

WideHalo::WideHalo(const kernels::BlockLayout& layout)
    : layout_(layout), axes_{Axis(layout, 0), Axis(layout, 1), Axis(layout, 2)}, sources_(layout) {
  for (int axis = 0; axis < 3; ++axis) steps_[axis] = kernels::piece_steps(sources_.faces(axis));
  steps_[PieceSource::kBlock] = kernels::piece_steps(layout);
}

void WideHalo::rebuild(const Mesh<3>& mesh) {
  graph_ = &mesh.graph();
  sources_.rebuild(mesh);
  sources_.find_pieces();
  fetches_ = thread_bytes(layout_, std::size_t(mesh.size())) > held_bytes().surely;
  size_ = {};
  places_.resize(std::size_t(mesh.size()));
  first_place_[PieceSource::kBlock] = 0;
  const PieceSizes sizes = tile_piece_sizes(kernels::make_tile_layout(layout_));
  for (int a = 0; a < 3; ++a) {
    Axis& axis = axes_[a];
    const HaloPlan plan = make_halo_plan(mesh, sizes, a, a + 1);
    axis.messages = make_message_jobs(sources_, plan);
    const auto local = support::make_ordered<1>(
        sources_.crossings(a).size(),
        [&](std::size_t begin, std::size_t end, const auto& give) {
          make_local_jobs(mesh, sources_, a, begin, end, give);
        },
        [](const WideFaceJob&) { return std::size_t{0}; },
        [&](std::size_t count) {
          axis.local.grow(count);
          return axis.local.data();
        });
    axis.local_count = static_cast<std::size_t>(local.back());
    axis.sends = mpi_counts(plan.sends);
    axis.receives = mpi_counts(plan.receives);
    send_buffer_.grow(plan.sends.values + 1);
    receive_buffer_.grow(plan.receives.values + 1);
    add_sends(plan.sends, size_);
    const std::size_t faces = sources_.crossings(a).size(), values = sources_.faces(a).values();
    axis.values.grow(faces * values + kernels::kPadding);
    first_place_[a] = places_.size();
    for (std::size_t k = 0; k < faces; ++k) places_.push_back(axis.values.data() + k * values);
  }
}

void WideHalo::find_around(std::int32_t i, int first, int last, const BlockRange& near,
                           kernels::Surroundings& around) const {
  around.far = 0;
  const PieceSource* const sources = sources_.sources().data() + std::size_t(i) * 27;
  for (int k = first; k < last; ++k) {
    const PieceSource s = sources[k];
    around.pieces[k] = piece(s);
    const bool is_near = s.kind == PieceSource::kBlock && s.index >= near.begin && s.index < near.end;
    around.far |= (is_near ? 0U : 1U) << k;
  }
  if (!fetches_) around.far = 0;
}

void WideHalo::find_around(const Octets::Sources& sources, const BlockRange& near, kernels::Octet& octet) const {
  octet.far = 0;
  for (std::size_t k = 0; k < 64; ++k) {
    const PieceSource s = sources[k];
    octet.pieces[k] = piece(s);
    const bool is_near = s.kind == PieceSource::kBlock && s.index >= near.begin && s.index < near.end;
    octet.far |= std::uint64_t{is_near ? 0U : 1U} << k;
  }
  if (!fetches_) octet.far = 0;
}

/// What a job looks at: the pieces beside its block in the plane of its face.
void WideHalo::find_around_job(const WideFaceJob& job, kernels::Surroundings& around) const {
  constexpr std::array<int, 3> kReach{0, 1, 4};  // ghosts lie across the axes before: 1, 3 or 9 pieces
  constexpr int kCentre = kernels::Surroundings::index(0, 0, 0);
  const int reach = kReach[job.face / 2];
  find_around(job.block, kCentre - reach, kCentre + reach + 1, {}, around);
}

/// work(job, what lies around its block, scratch) for all jobs. What the next ones read is asked for meanwhile: faces
/// lie in many places, and nothing but a job tells where.
template <class Work>
void WideHalo::run(const Axis& axis, std::span<const WideFaceJob> jobs, const Work& work) {
  const std::size_t lines = axis.faces.extended().values() / layout_.lanes;  // a line a cell, at most
  const std::size_t ahead = fetches_ ? std::min(kLinesAhead / lines, kJobsAhead) : 0;
#pragma omp parallel
  {
    const std::size_t threads = omp_get_num_threads(), me = omp_get_thread_num();
    const std::size_t end = jobs.size() * (me + 1) / threads;
    std::array<kernels::Surroundings, kJobsAhead + 1> ring;
    std::size_t coming = jobs.size() * me / threads;
    for (std::size_t k = coming; k < end; ++k) {
      if (fetches_ && k + 2 * kJobsAhead < end) {
        const PieceSource* const sources = sources_.sources().data() + std::size_t(jobs[k + 2 * kJobsAhead].block) * 27;
        for (const int piece : {9, 17}) __builtin_prefetch(sources + piece);  // what a job looks at lies between
      }
      for (; coming < end && coming <= k + ahead; ++coming) {
        kernels::Surroundings& around = ring[coming % ring.size()];
        find_around_job(jobs[coming], around);
        if (coming > k) axis.faces.fetch(jobs[coming], around);
      }
      work(jobs[k], ring[k % ring.size()], scratch_[me].data());
    }
  }
}

void WideHalo::start(Axis& axis) {
  double* const buffer = send_buffer_.data();
  run(axis, axis.messages.packs, [&](const WideFaceJob& job, const kernels::Surroundings& around, double* scratch) {
    axis.faces.pack(job, around, buffer + job.at, scratch);
  });
  const MessageCounts &out = axis.sends, &in = axis.receives;
  support::mpi_check(MPI_Ineighbor_alltoallv(buffer, out.counts.data(), out.starts.data(), MPI_DOUBLE,
                                             receive_buffer_.data(), in.counts.data(), in.starts.data(), MPI_DOUBLE,
                                             graph_->comm().get(), &request_));
}

double WideHalo::finish(Axis& axis) {
  const double begin = support::Metrics::steady_seconds();
  support::mpi_check(MPI_Wait(&request_, MPI_STATUS_IGNORE));
  const double waited = support::Metrics::steady_seconds() - begin;
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < axis.messages.unpacks.size(); ++k) {
    const WideFaceJob& job = axis.messages.unpacks[k];
    axis.faces.unpack(job, receive_buffer_.data() + job.at, axis.target(job));
  }
  return waited;
}

/// Reads blocks and faces across the axes before, writes faces across this one: faces do not disturb each other.
void WideHalo::fill_local(Axis& axis) {
  run(axis, {axis.local.data(), axis.local_count},
      [&](const WideFaceJob& job, const kernels::Surroundings& around, double* scratch) {
        axis.faces.fill(job, around, axis.target(job), scratch);
      });
}

double WideHalo::exchange(const Mesh<3>& mesh, const FieldStore& fields, bool overlap) {
  scratch_.resize(std::max(scratch_.size(), std::size_t(omp_get_max_threads())));
  for (auto& scratch : scratch_)
    for (const Axis& axis : axes_) scratch.resize(std::max(scratch.size(), axis.faces.scratch()));
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size(); ++i) places_[std::size_t(i)] = fields.block(i);
  double waited = 0.0;
  for (Axis& axis : axes_) {
    start(axis);
    if (overlap) fill_local(axis);
    waited += finish(axis);
    if (!overlap) fill_local(axis);
  }
  return waited;
}

std::size_t WideHalo::memory_bytes() const {
  std::size_t bytes = send_buffer_.bytes() + receive_buffer_.bytes() + sources_.memory_bytes();
  bytes += places_.capacity() * sizeof(places_[0]);
  for (const Axis& axis : axes_) {
    const std::size_t messages = axis.messages.packs.size() + axis.messages.unpacks.size();
    bytes += messages * sizeof(WideFaceJob) + axis.local.bytes() + axis.values.bytes();
  }
  for (const auto& scratch : scratch_) bytes += scratch.size() * sizeof(double);
  return bytes;
}

}  // namespace amrbench::amr
