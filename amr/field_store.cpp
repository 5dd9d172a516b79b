#include "amr/field_store.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "kernels/initial.hpp"
#include "kernels/refine_data.hpp"

namespace amrbench::amr {

namespace {

constexpr int kTag = 72;

/// Memory of a message as MPI sees it: keys, weights and changes in one piece each, then block by block where the
/// values lie. So nothing is packed, and no buffer as large as the message is needed. Owns the datatype.
class MessageType {
 public:
  MessageType(const BlockMessage& message, FieldStore& fields) {
    const std::size_t values = fields.layout().block_values();
    constexpr std::size_t kLists = 3;
    const std::size_t pieces = message.slots.size() + kLists;
    std::vector<MPI_Aint> places(pieces);
    std::vector<int> lengths(pieces, support::mpi_count(values, "block"));
    std::vector<MPI_Datatype> types(pieces, MPI_DOUBLE);
    support::mpi_check(MPI_Get_address(message.keys.data(), &places[0]));
    support::mpi_check(MPI_Get_address(message.weights.data(), &places[1]));
    support::mpi_check(MPI_Get_address(message.changes.data(), &places[2]));
    lengths[0] = lengths[1] = lengths[2] = support::mpi_count(message.slots.size(), "migration message");
    types[0] = MPI_UINT64_T;
    types[2] = MPI_INT8_T;
    for (std::size_t k = 0; k < message.slots.size(); ++k) {
      support::mpi_check(MPI_Get_address(fields.slot_values(message.slots[k]), &places[k + kLists]));
    }
    support::mpi_check(MPI_Type_create_struct(support::mpi_count(pieces, "migration message"), lengths.data(),
                                              places.data(), types.data(), &type_));
    support::mpi_check(MPI_Type_commit(&type_));
  }
  ~MessageType() { MPI_Type_free(&type_); }
  MessageType(const MessageType&) = delete;
  MessageType& operator=(const MessageType&) = delete;
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Only pointers.
class HostReading final : public BlockReading {
 public:
  void point(const FieldStore& fields, std::span<const std::int32_t> blocks) {
    values_.clear();
    for (const std::int32_t i : blocks) values_.push_back(fields.block(i));
  }
};

}  // namespace

void FieldStore::make_ready(std::int64_t blocks) {
  const std::int64_t extent = in_.extent_slots();
  const std::int64_t each = (blocks + extent - 1) / extent * extent;
  out_.grow(std::max(each, 2 * each - in_.capacity()));
  out_.touch(0, size());
  if (blocks <= size()) return;
  // Whole extents pass from one buffer to the other, the last ones first.
  in_.touch(book().used(), in_.capacity());
  out_.touch(size(), out_.capacity());
}

void FieldStore::reset(std::int64_t count) {
  book().reset(count);
  in_.clear();
  out_.clear();
  in_.grow(count);
}

void FieldStore::swap_buffers() {
  in_.swap(out_);
  book().reset(size());
}

void FieldStore::put_in_order() {
  if (in_order()) return;
  prepare_output();
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < size(); ++i) std::copy_n(block(i), layout().block_values(), output(i));
  swap_buffers();
}

void FieldStore::set_initial(const Mesh<3>& mesh, bool ones, std::uint64_t seed) {
  const kernels::BlockLayout& l = layout();
  reset(mesh.size());
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    double* values = block(i);
    const auto& c = mesh.coord(i);
    for (int v = 0; v < l.lanes * l.chunks; ++v) {
      for (int z = 0; z < l.cells[2]; ++z) {
        for (int y = 0; y < l.cells[1]; ++y) {
          for (int x = 0; x < l.cells[0]; ++x) {
            double value = 0.0;
            if (v < l.variables) {
              value = ones ? 1.0
                           : kernels::random_value(seed, v, std::uint64_t(c[0]) * l.cells[0] + x,
                                                   std::uint64_t(c[1]) * l.cells[1] + y,
                                                   std::uint64_t(c[2]) * l.cells[2] + z);
            }
            values[l.offset(v, x, y, z)] = value;
          }
        }
      }
    }
  }
}

void FieldStore::merge(std::span<const kernels::MergeJob> jobs) {
  const int family = 1 << layout().dims();
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    std::array<const double*, 8> children{};
    for (int octant = 0; octant < family; ++octant) children[octant] = slot_values(jobs[k].from[octant]);
    if (transfer_) {
      transfer_->merge(layout(), std::span(children).first(std::size_t(family)), slot_values(jobs[k].to));
    } else {
      kernels::merge_blocks(layout(), children, slot_values(jobs[k].to));
    }
  }
}

void FieldStore::split(std::span<const kernels::SplitJob> jobs) {
  const int family = 1 << layout().dims();
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    const double* const parent = slot_values(jobs[k].from);
    // The child of octant 0 may lie where its parent does.
    for (int octant = family - 1; octant >= 0; --octant) {
      double* const child = slot_values(jobs[k].to[octant]);
      if (transfer_) {
        transfer_->split(layout(), parent, octant, child);
      } else {
        kernels::split_block(layout(), parent, octant, child);
      }
    }
  }
}

void FieldStore::move(const support::Communicator& comm, std::span<const BlockMessage> sends,
                      std::span<const BlockMessage> receives) {
  support::Requests requests;
  for (const BlockMessage& message : receives) {
    const MessageType type(message, *this);
    support::mpi_check(MPI_Irecv(MPI_BOTTOM, 1, type.get(), message.rank, kTag, comm.get(), requests.add()));
  }
  for (const BlockMessage& message : sends) {
    const MessageType type(message, *this);
    support::mpi_check(MPI_Isend(MPI_BOTTOM, 1, type.get(), message.rank, kTag, comm.get(), requests.add()));
  }
  requests.wait_all();
}

std::vector<support::FieldStats> FieldStore::statistics(std::span<const std::uint64_t> hashes,
                                                        std::span<const double> measures) const {
  const kernels::BlockLayout& l = layout();
  std::vector<support::FieldStats> stats(l.variables);
#pragma omp parallel
  {
    std::vector<support::FieldStats> mine(l.variables);
#pragma omp for schedule(static) nowait
    for (std::int32_t i = 0; i < size(); ++i) {
      const double* values = block(i);
      const double measure = measures.empty() ? 1.0 : measures[i];
      for (int chunk = 0; chunk < l.chunks; ++chunk) {
        for (std::size_t cell = 0; cell < l.block_cells(); ++cell) {
          const std::uint64_t place = support::mix64(hashes[i], cell);
          const double* lanes = values + chunk * l.chunk_values() + cell * l.lanes;
          const int first = chunk * l.lanes, last = std::min(first + l.lanes, l.variables);
          for (int v = first; v < last; ++v) mine[v].add(lanes[v - first], place, measure);
        }
      }
    }
#pragma omp critical
    for (int v = 0; v < l.variables; ++v) stats[v].merge(mine[v]);
  }
  return stats;
}

std::unique_ptr<BlockReading> FieldStore::make_reading() const {
  return std::make_unique<HostReading>();
}

void FieldStore::read(std::span<const std::int32_t> blocks, BlockReading& reading) const {
  dynamic_cast<HostReading&>(reading).point(*this, blocks);
}

void FieldStore::write(std::int32_t first, std::int32_t count, const double* values) {
  const std::size_t n = layout().block_values();
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < count; ++i) std::copy_n(values + i * n, n, block(first + i));
}

FieldStore& host_fields(Fields& fields) {
  auto* const host = dynamic_cast<FieldStore*>(&fields);
  if (host == nullptr) throw std::logic_error("these fields do not lie in host memory");
  return *host;
}

const FieldStore& host_fields(const Fields& fields) {
  const auto* const host = dynamic_cast<const FieldStore*>(&fields);
  if (host == nullptr) throw std::logic_error("these fields do not lie in host memory");
  return *host;
}

}  // namespace amrbench::amr
