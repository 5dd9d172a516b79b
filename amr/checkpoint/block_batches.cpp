#include "amr/checkpoint/block_batches.hpp"

#include <algorithm>
#include <cstring>

#include "support/error.hpp"

namespace amrbench::amr {

namespace {

constexpr int kBlocksTag = 0;

template <class T>
void send_all(const support::Communicator& group, const std::vector<T>& values) {
  const support::BytesType type(sizeof(T));
  support::mpi_check(
      MPI_Send(values.data(), support::mpi_count(values.size(), "MPI_Send"), type.get(), 0, kBlocksTag, group.get()),
      "MPI_Send");
}

template <class T>
void receive_all(const support::Communicator& group, int rank, std::int64_t count, std::vector<T>& to) {
  const support::BytesType type(sizeof(T));
  const std::size_t at = to.size();
  to.resize(at + std::size_t(count));
  support::mpi_check(MPI_Recv(to.data() + at, support::mpi_count(std::size_t(count), "MPI_Recv"), type.get(), rank,
                              kBlocksTag, group.get(), MPI_STATUS_IGNORE),
                     "MPI_Recv");
}

}  // namespace

void BlockTables::reserve(std::size_t blocks) {
  places.reserve(blocks);
  weights.reserve(blocks);
  digests.reserve(blocks);
}

void BlockTables::append(const BlockTables& other) {
  places.insert(places.end(), other.places.begin(), other.places.end());
  weights.insert(weights.end(), other.weights.begin(), other.weights.end());
  digests.insert(digests.end(), other.digests.begin(), other.digests.end());
}

std::int64_t checkpoint_batch(const kernels::BlockLayout& layout) {
  return static_cast<std::int64_t>(
      std::max<std::size_t>(1, kCheckpointBatch / (layout.block_values() * sizeof(double))));
}

template <int Dim>
BlockBatches::BlockBatches(const Mesh<Dim>& mesh, const Fields& fields)
    : fields_(fields), reading_(fields.make_reading()) {
  const std::int64_t blocks = mesh.size();
  staging_.resize_discard(std::size_t(std::min(checkpoint_batch(layout()), blocks)) * layout().block_values());
  tables_.places.resize(std::size_t(blocks));
  tables_.digests.resize(std::size_t(blocks));
  tables_.weights.assign(mesh.weights().begin(), mesh.weights().end());
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    Place& place = tables_.places[std::size_t(i)];
    place.level = std::uint32_t(mesh.level(i));
    for (std::size_t d = 0; d < Dim; ++d) place.coord[d] = mesh.coord(i)[d];
  }
}
template BlockBatches::BlockBatches(const Mesh<2>&, const Fields&);
template BlockBatches::BlockBatches(const Mesh<3>&, const Fields&);

const double* BlockBatches::gather(std::int64_t first, std::int64_t count) {
  list_.clear();
  for (std::int64_t i = first; i < first + count; ++i) list_.push_back(static_cast<std::int32_t>(i));
  fields_.read(list_, *reading_);
  const std::size_t values = layout().block_values();
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < count; ++k) {
    const auto i = static_cast<std::size_t>(first + k);
    double* const to = staging_.data() + std::size_t(k) * values;
    std::memcpy(to, reading_->values(std::size_t(k)), values * sizeof(double));
    tables_.digests[i] = block_digest(tables_.places[i], tables_.weights[i], to, values);
  }
  return staging_.data();
}

void send_blocks(const support::Communicator& group, BlockBatches& own) {
  std::string failure;
  for_each_batch(own.blocks(), own.layout(), [&](std::int64_t first, std::int64_t count) {
    if (failure.empty()) failure = support::failure_of([&] { own.gather(first, count); });
    const std::size_t values = std::size_t(count) * own.layout().block_values();
    support::mpi_check(
        MPI_Send(own.values(), support::mpi_count(values, "MPI_Send"), MPI_DOUBLE, 0, kBlocksTag, group.get()),
        "MPI_Send");
  });
  send_all(group, own.tables().places);
  send_all(group, own.tables().weights);
  send_all(group, own.tables().digests);
  if (!failure.empty()) throw support::RunError(failure);
}

void receive_values(const support::Communicator& group, int rank, std::size_t count, double* to) {
  support::mpi_check(
      MPI_Recv(to, support::mpi_count(count, "MPI_Recv"), MPI_DOUBLE, rank, kBlocksTag, group.get(), MPI_STATUS_IGNORE),
      "MPI_Recv");
}

void receive_tables(const support::Communicator& group, int rank, std::int64_t blocks, BlockTables& tables) {
  receive_all(group, rank, blocks, tables.places);
  receive_all(group, rank, blocks, tables.weights);
  receive_all(group, rank, blocks, tables.digests);
}

}  // namespace amrbench::amr
