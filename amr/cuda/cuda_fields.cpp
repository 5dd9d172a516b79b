#include "amr/cuda/cuda_fields.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "amr/field_store.hpp"
#include "kernels/field_stats_cuda.hpp"
#include "kernels/initial_cuda.hpp"
#include "support/error.hpp"

namespace amrbench::amr {

namespace {

constexpr int kTag = 73;
/// Of values that travel between two ranks in one round of a migration.
constexpr std::size_t kRoundBytes = std::size_t{64} << 20;

int launch_count(std::size_t n) {
  return support::mpi_count(n, "GPU launch");
}

/// Blocks copied into pinned memory.
class CudaReading final : public BlockReading {
 public:
  /// Room for `blocks` blocks of `values` doubles.
  void resize(std::size_t blocks, std::size_t values) {
    device_.resize_discard(std::max(device_.size(), blocks * values));
    host_.resize_discard(std::max(host_.size(), blocks * values));
    values_.clear();
    for (std::size_t k = 0; k < blocks; ++k) values_.push_back(host_.data() + k * values);
  }
  [[nodiscard]] double* device() { return device_.data(); }
  [[nodiscard]] double* host() { return host_.data(); }

 private:
  support::DeviceBuffer<double> device_;
  support::PinnedBuffer<double> host_;
};

/// How values of a layout lie in slots, in doubles.
kernels::BlockLayout stored_layout(const kernels::BlockLayout& layout, bool is_single) {
  if (!is_single) return layout;
  auto half = layout.cells;
  if (layout.lanes != 1 || half[1] % 2 != 0) throw std::logic_error("no single precision for these blocks");
  half[1] /= 2;
  return kernels::make_layout(half, layout.variables);
}

/// `count` floats, from the first byte on, become as many doubles in their place.
void widen(double* values, std::size_t count) {
  const auto* const bytes = reinterpret_cast<const char*>(values);
  for (std::size_t i = count; i-- > 0;) {
    float x = 0.0F;
    std::memcpy(&x, bytes + i * sizeof(x), sizeof(x));
    values[i] = x;
  }
}

/// Keys, weights and changes of the blocks that move; values travel apart.
void move_lists(const support::Communicator& comm, std::span<const BlockMessage> sends,
                std::span<const BlockMessage> receives) {
  support::Requests requests;
  for (const BlockMessage& m : receives) {
    const int n = support::mpi_count(m.keys.size(), "migration message");
    support::mpi_check(MPI_Irecv(m.keys.data(), n, MPI_UINT64_T, m.rank, kTag, comm.get(), requests.add()));
    support::mpi_check(MPI_Irecv(m.weights.data(), n, MPI_DOUBLE, m.rank, kTag, comm.get(), requests.add()));
    support::mpi_check(MPI_Irecv(m.changes.data(), n, MPI_INT8_T, m.rank, kTag, comm.get(), requests.add()));
  }
  for (const BlockMessage& m : sends) {
    const int n = support::mpi_count(m.keys.size(), "migration message");
    support::mpi_check(MPI_Isend(m.keys.data(), n, MPI_UINT64_T, m.rank, kTag, comm.get(), requests.add()));
    support::mpi_check(MPI_Isend(m.weights.data(), n, MPI_DOUBLE, m.rank, kTag, comm.get(), requests.add()));
    support::mpi_check(MPI_Isend(m.changes.data(), n, MPI_INT8_T, m.rank, kTag, comm.get(), requests.add()));
  }
  requests.wait_all();
}

/// What of each message travels in a round: slots one after another, and where each rank's values lie in the buffer.
struct Round {
  std::vector<std::int64_t> slots;
  std::vector<support::LinkPiece> pieces;
};

Round round_of(std::span<const BlockMessage> messages, std::size_t number, std::size_t blocks, std::size_t values) {
  Round round;
  for (const BlockMessage& m : messages) {
    const std::size_t begin = std::min(m.slots.size(), number * blocks);
    const std::size_t count = std::min(blocks, m.slots.size() - begin);
    if (count == 0) continue;
    round.pieces.push_back({m.rank, round.slots.size() * values, count * values});
    round.slots.insert(round.slots.end(), m.slots.begin() + begin, m.slots.begin() + begin + count);
  }
  return round;
}

std::string blocks_text(std::int64_t blocks) {
  return "the fields of " + std::to_string(blocks) + " blocks";
}

}  // namespace

CudaFields::CudaFields(const kernels::BlockLayout& layout, std::unique_ptr<CudaDevice> device,
                       std::shared_ptr<const LevelTransfer> transfer, bool is_single)
    : Fields(layout),
      device_(std::move(device)),
      transfer_(std::move(transfer)),
      is_single_(is_single),
      stored_(stored_layout(layout, is_single)),
      in_(stored_.block_values()),
      out_(stored_.block_values()) {}

void CudaFields::make_room(std::int64_t slots) {
  const std::size_t more = in_.growth_bytes(slots);
  if (more == 0) return;
  const std::size_t spare = out_.memory_bytes();
  if (more > spare) support::require_device_memory(more - spare, blocks_text(slots));
  in_.grow_from(out_, slots);
}

void CudaFields::prepare_output() {
  const std::size_t more = out_.growth_bytes(size());
  if (more == 0) return;
  support::require_device_memory(more, blocks_text(size()) + ", second buffer");
  out_.grow(size());
}

void CudaFields::swap_buffers() {
  in_.swap(out_);
  book().reset(size());
}

void CudaFields::put_in_order() {
  if (in_order()) return;
  prepare_output();
  std::vector<kernels::CopyJob> jobs;
  for (std::int32_t i = 0; i < size(); ++i) jobs.push_back({static_cast<std::int32_t>(slot(i)), i});
  kernels::launch_copies(stored_, copy_list_.store(jobs, *device_), launch_count(jobs.size()), input(), output(),
                         device_->main());
  swap_buffers();
}

void CudaFields::fetch(std::span<const std::int64_t> slots, std::vector<double>& values) const {
  values.resize(slots.size() * layout().block_values());
  if (slots.empty()) return;
  support::DeviceBuffer<double> buffer;
  buffer.resize_discard(slots.size() * stored_.block_values());
  gather(slots, buffer.data(), values.data());
}

void CudaFields::gather(std::span<const std::int64_t> slots, double* buffer, double* values) const {
  kernels::launch_gather(stored_, upload_slots(slots), launch_count(slots.size()), input(), buffer, device_->main());
  support::copy_to_host(values, buffer, slots.size() * stored_.block_values(), device_->main());
  device_->main().synchronize();
  if (is_single_) widen(values, slots.size() * layout().block_values());
}

void CudaFields::store(std::span<const std::int64_t> slots, const double* values) {
  if (slots.empty()) return;
  const std::size_t n = slots.size() * stored_.block_values();
  device_->reserve(coming_, n);
  std::vector<float> narrow;
  if (is_single_) {
    narrow.assign(values, values + slots.size() * layout().block_values());
    support::copy_to_device(reinterpret_cast<float*>(coming_.data()), narrow.data(), narrow.size(), device_->main());
  } else {
    support::copy_to_device(coming_.data(), values, n, device_->main());
  }
  kernels::launch_scatter(stored_, upload_slots(slots), launch_count(slots.size()), input(), coming_.data(),
                          device_->main());
  device_->main().synchronize();  // the caller's memory goes
}

void CudaFields::reset(std::int64_t count) {
  device_->main().synchronize();
  book().reset(count);
  in_.clear();
  out_.clear();
  make_room(count);
}

const std::int32_t* CudaFields::upload_slots(std::span<const std::int64_t> slots) const {
  return slot_list_.store(slots, *device_);
}

void CudaFields::set_initial(const Mesh<3>& mesh, bool ones, std::uint64_t seed) {
  if (is_single_) throw std::logic_error("these values are made on the host");
  reset(mesh.size());
  std::vector<kernels::RootBlock> roots;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const auto& c = mesh.coord(i);
    roots.push_back({i, {c[0], c[1], c[2]}});
  }
  DeviceList<kernels::RootBlock> list;
  kernels::launch_initial(layout(), list.store(roots, *device_), launch_count(roots.size()), input(), ones, seed,
                          device_->main());
  device_->main().synchronize();  // the list goes
}

void CudaFields::merge(std::span<const kernels::MergeJob> jobs) {
  if (jobs.empty()) return;
  if (transfer_) {
    const std::size_t family = std::size_t{1} << layout().dims(), n = layout().block_values();
    std::vector<std::int64_t> from, to;
    for (const kernels::MergeJob& job : jobs) {
      from.insert(from.end(), job.from.begin(), job.from.begin() + std::ptrdiff_t(family));
      to.push_back(job.to);
    }
    std::vector<double> children, parents(jobs.size() * n);
    fetch(from, children);
#pragma omp parallel for schedule(static)
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      std::array<const double*, 8> family_of{};
      for (std::size_t c = 0; c < family; ++c) family_of[c] = children.data() + (k * family + c) * n;
      transfer_->merge(layout(), std::span(family_of).first(family), parents.data() + k * n);
    }
    return store(to, parents.data());
  }
  kernels::launch_merges(layout(), merge_list_.store(jobs, *device_), launch_count(jobs.size()), input(),
                         device_->main());
  device_->count_launches(1);
}

void CudaFields::split(std::span<const kernels::SplitJob> jobs) {
  if (jobs.empty()) return;
  if (transfer_) {
    const std::size_t family = std::size_t{1} << layout().dims(), n = layout().block_values();
    std::vector<std::int64_t> from, to;
    for (const kernels::SplitJob& job : jobs) {
      from.push_back(job.from);
      to.insert(to.end(), job.to.begin(), job.to.begin() + std::ptrdiff_t(family));
    }
    std::vector<double> parents, children(jobs.size() * family * n);
    fetch(from, parents);
#pragma omp parallel for schedule(static)
    for (std::size_t k = 0; k < jobs.size() * family; ++k)
      transfer_->split(layout(), parents.data() + k / family * n, static_cast<int>(k % family),
                       children.data() + k * n);
    return store(to, children.data());
  }
  kernels::launch_splits(layout(), split_list_.store(jobs, *device_), launch_count(jobs.size()), input(),
                         device_->main());
  device_->count_launches(2);
}

void CudaFields::move(const support::Communicator& comm, std::span<const BlockMessage> sends,
                      std::span<const BlockMessage> receives) {
  move_lists(comm, sends, receives);
  move_values(sends, receives);
}

/// That travel from one rank to another in one round of a migration; the same on all ranks.
std::size_t CudaFields::round_blocks() const {
  return std::max<std::size_t>(1, kRoundBytes / (stored_.block_values() * sizeof(double)));
}

/// Room for the values of `blocks` blocks. Growing waits for the stages under way, and then the GPU for the rest of the
/// refinement: so at once as much as two neighbours on the curve need.
void CudaFields::reserve_round(support::DeviceBuffer<double>& buffer, std::size_t blocks) {
  const std::size_t values = stored_.block_values();
  if (blocks * values > buffer.size())
    blocks = std::max(blocks, std::min(2 * round_blocks(), static_cast<std::size_t>(size())));
  device_->reserve(buffer, std::max(blocks * values, buffer.size()));
}

/// Both ranks of a pair count rounds of as many blocks, so their rounds meet.
void CudaFields::move_values(std::span<const BlockMessage> sends, std::span<const BlockMessage> receives) {
  const std::size_t values = stored_.block_values(), blocks = round_blocks();
  const support::CudaStream& stream = device_->main();
  for (std::size_t number = 0;; ++number) {
    const Round leaving = round_of(sends, number, blocks, values);
    const Round coming = round_of(receives, number, blocks, values);
    if (leaving.pieces.empty() && coming.pieces.empty()) break;
    reserve_round(leaving_, leaving.slots.size());
    reserve_round(coming_, coming.slots.size());
    kernels::launch_gather(stored_, upload_slots(leaving.slots), launch_count(leaving.slots.size()), input(),
                           leaving_.data(), stream);
    device_->link().start(leaving_.data(), leaving.pieces, coming_.data(), coming.pieces, stream);
    device_->link().finish();
    kernels::launch_scatter(stored_, upload_slots(coming.slots), launch_count(coming.slots.size()), input(),
                            coming_.data(), stream);
    device_->count_launches(2);
  }
}

std::vector<support::FieldStats> CudaFields::statistics(std::span<const std::uint64_t> hashes,
                                                        std::span<const double> measures) const {
  if (!measures.empty() || is_single_) {
    // On the host, a batch at a time: meant for the start and the end of a run.
    constexpr std::int32_t kBatch = 4096;
    FieldStore batch(layout());
    std::vector<support::FieldStats> all(static_cast<std::size_t>(layout().variables));
    std::vector<double> values;
    for (std::int32_t first = 0; first < size(); first += kBatch) {
      const std::int32_t count = std::min(kBatch, size() - first);
      const auto from = static_cast<std::size_t>(first), n = static_cast<std::size_t>(count);
      fetch(slots().subspan(from, n), values);
      batch.reset(count);
      batch.write(0, count, values.data());
      const auto some =
          batch.statistics(hashes.subspan(from, n), measures.empty() ? measures : measures.subspan(from, n));
      for (std::size_t v = 0; v < all.size(); ++v) all[v].merge(some[v]);
    }
    return all;
  }
  const std::int32_t* const list = upload_slots(slots());
  return kernels::device_field_stats(layout(), list, hash_list_.store(hashes, *device_), size(), input(),
                                     device_->main());
}

std::unique_ptr<BlockReading> CudaFields::make_reading() const {
  return std::make_unique<CudaReading>();
}

void CudaFields::read(std::span<const std::int32_t> blocks, BlockReading& reading) const {
  auto& to = dynamic_cast<CudaReading&>(reading);
  const std::size_t values = layout().block_values();
  to.resize(blocks.size(), values);
  if (blocks.empty()) return;
  std::vector<std::int64_t> slots;
  for (const std::int32_t i : blocks) slots.push_back(slot(i));
  gather(slots, to.device(), to.host());
}

void CudaFields::write(std::int32_t first, std::int32_t count, const double* values) {
  if (count == 0) return;
  store(slots().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), values);
}

std::size_t CudaFields::memory_bytes() const {
  return in_.memory_bytes() + out_.memory_bytes() + slot_list_.bytes() + hash_list_.bytes() + merge_list_.bytes() +
         split_list_.bytes() + copy_list_.bytes() + leaving_.bytes() + coming_.bytes();
}

CudaFields& cuda_fields(Fields& fields) {
  auto* const device = dynamic_cast<CudaFields*>(&fields);
  if (device == nullptr) throw std::logic_error("these fields do not lie on a GPU");
  return *device;
}

}  // namespace amrbench::amr
