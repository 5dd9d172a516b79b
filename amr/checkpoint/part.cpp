#include "amr/checkpoint/part.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#define XXH_INLINE_ALL
#if defined(__AVX512F__)
#define XXH_VECTOR XXH_AVX2  // GCC 12 warns of its own AVX-512 header; the digests are the same
#endif
#include <xxhash.h>

#include "amr/checkpoint/block_batches.hpp"
#include "support/error.hpp"

namespace amrbench::amr {

namespace {

namespace fs = std::filesystem;

constexpr int kValueRank = 6;
constexpr const char* kPlaceName = "place";
constexpr const char* kWeightName = "weight";
constexpr const char* kDigestName = "digest";
constexpr const char* kValueName = "value";

static_assert(sizeof(Place) == 4 * sizeof(std::uint32_t));

class Descriptor {
 public:
  Descriptor(const fs::path& file, int flags) : number_(::open(file.c_str(), flags | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

/// An object of the library, closed once.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close closer) : id_(id), close_(closer) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  [[nodiscard]] hid_t get() const { return id_; }
  [[nodiscard]] bool is_valid() const { return id_ >= 0; }
  /// Closes it now: what was written may fail only here.
  [[nodiscard]] bool close() {
    const hid_t id = std::exchange(id_, H5I_INVALID_HID);
    return close_(id) >= 0;
  }

 private:
  hid_t id_;
  Close close_;
};

/// The library is to say nothing by itself while this lives. Make one before any other call: a file that could not be
/// written cannot be closed either, and what the library does about it when the program ends is to crash.
class Silence {
 public:
  Silence() {
    H5dont_atexit();  // counts the first time
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Silence() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

using Shape = std::vector<hsize_t>;

Shape value_shape(const kernels::BlockLayout& l, std::int64_t blocks) {
  return {hsize_t(blocks),     hsize_t(l.chunks),   hsize_t(l.cells[2]),
          hsize_t(l.cells[1]), hsize_t(l.cells[0]), hsize_t(l.lanes)};
}

/// Blocks first .. first + count - 1 of a dataset of values, as a selection in its space.
void select_blocks(hid_t space, const kernels::BlockLayout& layout, std::int64_t first, std::int64_t count) {
  const Shape size = value_shape(layout, count);
  Shape start(kValueRank, 0);
  start[0] = hsize_t(first);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr);
}

/// Digest of the bytes of a file outside [begin, begin + length). False when they cannot be read.
bool frame_digest(int file, std::int64_t bytes, std::int64_t begin, std::int64_t length, std::uint64_t& digest) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 20;
  std::vector<std::byte> piece(std::size_t(std::min(bytes, kPiece)));
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (std::int64_t at = 0; at < bytes;) {
    if (at == begin && length > 0) {
      at += length;
      continue;
    }
    const std::int64_t end = at < begin ? begin : bytes;
    const ssize_t n = ::pread(file, piece.data(), std::size_t(std::min(kPiece, end - at)), at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    XXH3_64bits_update(&state, piece.data(), std::size_t(n));
    at += n;
  }
  digest = XXH3_64bits_digest(&state);
  return true;
}

// ---- Writing --------------------------------------------------------------------------------------------------------

/// The file of a group's blocks, as far as it is written.
class PartWriter {
 public:
  PartWriter(fs::path file, const kernels::BlockLayout& layout, std::int64_t blocks)
      : path_(std::move(file)), layout_(layout), blocks_(blocks) {}

  /// Makes the file, with room for the values.
  void open() {
    errno = 0;
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    constexpr hsize_t kPage = 4096;  // of the file system: values begin at one
    H5Pset_alignment(access.get(), 16 * kPage, kPage);
    file_.emplace(H5Fcreate(path_.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access.get()), H5Fclose);
    require(file_->is_valid());
    const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
    space_.emplace(H5Screate_simple(kValueRank, value_shape(layout_, blocks_).data(), nullptr), H5Sclose);
    set_.emplace(
        H5Dcreate2(file_->get(), kValueName, H5T_IEEE_F64LE, space_->get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
        H5Dclose);
    require(set_->is_valid());
  }

  void write_values(std::int64_t first, std::int64_t count, const double* values) {
    const Handle memory(H5Screate_simple(kValueRank, value_shape(layout_, count).data(), nullptr), H5Sclose);
    select_blocks(space_->get(), layout_, first, count);
    require(H5Dwrite(set_->get(), H5T_NATIVE_DOUBLE, memory.get(), space_->get(), H5P_DEFAULT, values) >= 0);
  }

  /// The tables, and all of it to the disk.
  PartInfo finish(const BlockTables& tables) {
    PartInfo info;
    info.blocks = blocks_;
    const haddr_t begin = H5Dget_offset(set_->get());
    require(blocks_ == 0 || begin != HADDR_UNDEF);
    require(set_->close());
    info.values_begin = blocks_ == 0 ? 0 : static_cast<std::int64_t>(begin);
    write_table(kPlaceName, {hsize_t(blocks_), 4}, H5T_STD_U32LE, H5T_NATIVE_UINT32, tables.places.data());
    write_table(kWeightName, {hsize_t(blocks_)}, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, tables.weights.data());
    write_table(kDigestName, {hsize_t(blocks_)}, H5T_STD_U64LE, H5T_NATIVE_UINT64, tables.digests.data());
    require(file_->close());
    flush(info);
    return info;
  }

 private:
  void require(bool success) const {
    if (!success)
      throw support::RunError(fmt::format("cannot write checkpoint {}: {}", path_.string(),
                                          errno != 0 ? std::strerror(errno) : "HDF5 failed"));
  }

  void write_table(const char* name, const Shape& shape, hid_t stored, hid_t native, const void* data) {
    const Handle space(H5Screate_simple(int(shape.size()), shape.data(), nullptr), H5Sclose);
    Handle set(H5Dcreate2(file_->get(), name, stored, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
    require(set.is_valid());
    require(blocks_ == 0 || H5Dwrite(set.get(), native, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    require(set.close());
  }

  /// To the disk; size and frame as the file now has them.
  void flush(PartInfo& info) const {
    const Descriptor file(path_, O_RDWR);
    require(file.is_open());
    require(::fsync(file.get()) == 0 || errno == EINVAL);  // EINVAL: a file system without it
    struct stat status {};
    require(::fstat(file.get(), &status) == 0);
    info.bytes = status.st_size;
    const auto values = static_cast<std::int64_t>(std::size_t(blocks_) * layout_.block_values() * sizeof(double));
    require(frame_digest(file.get(), info.bytes, info.values_begin, values, info.frame));
  }

  fs::path path_;
  kernels::BlockLayout layout_;
  std::int64_t blocks_;
  std::optional<Handle> file_, space_, set_;
};

/// Rank 0's side: its own blocks, then those of the others. Whatever fails, all that they send is received.
std::string collect(const support::Communicator& group, std::span<const std::int64_t> counts, BlockBatches& own,
                    PartWriter& writer, double* buffer, BlockTables& tables) {
  const std::size_t values = own.layout().block_values();
  std::string failure;
  std::int64_t at = 0;
  for (int rank = 0; rank < group.size(); ++rank) {
    for_each_batch(counts[std::size_t(rank)], own.layout(), [&](std::int64_t first, std::int64_t count) {
      if (rank > 0) receive_values(group, rank, std::size_t(count) * values, buffer);
      if (!failure.empty()) return;
      failure = support::failure_of(
          [&] { writer.write_values(at + first, count, rank > 0 ? buffer : own.gather(first, count)); });
    });
    if (rank > 0) {
      receive_tables(group, rank, counts[std::size_t(rank)], tables);
    } else {
      tables.append(own.tables());
    }
    at += counts[std::size_t(rank)];
  }
  return failure;
}

}  // namespace

std::uint64_t block_digest(const Place& place, double weight, const double* values, std::size_t count) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, &place, sizeof(place));
  XXH3_64bits_update(&state, &weight, sizeof(weight));
  XXH3_64bits_update(&state, values, count * sizeof(double));
  return XXH3_64bits_digest(&state);
}

bool has_checkpoints() {
  return true;
}

std::uint64_t digest_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

template <int Dim>
PartInfo write_part(const fs::path& file, const Mesh<Dim>& mesh, const Fields& fields,
                    const support::Communicator& group) {
  const auto all = [&](auto value) { return group.size() == 1 ? std::vector{value} : all_gather(group, value); };
  const Silence silence;
  std::optional<BlockBatches> own;
  std::string failure = support::failure_of([&] { own.emplace(mesh, fields); });
  const std::vector<std::int64_t> counts = all(failure.empty() ? std::int64_t{mesh.size()} : std::int64_t{-1});
  // Rank 0 takes what it needs of memory and disk before the others send anything.
  std::optional<PartWriter> writer;
  support::PageBuffer<double> buffer;
  BlockTables tables;
  bool goes_on = std::ranges::min(counts) >= 0;
  if (goes_on && group.is_root()) {
    failure = support::failure_of([&] {
      const std::int64_t blocks = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
      tables.reserve(std::size_t(blocks));
      const auto batch = std::min(checkpoint_batch(fields.layout()), std::ranges::max(counts));
      if (group.size() > 1) buffer.resize_discard(std::size_t(batch) * fields.layout().block_values());
      writer.emplace(file, fields.layout(), blocks);
      writer->open();
    });
    goes_on = failure.empty();
  }
  if (group.size() > 1) goes_on = broadcast(group, goes_on);
  if (goes_on && !group.is_root()) {
    send_blocks(group, *own);
    return {};
  }
  if (goes_on) failure = collect(group, counts, *own, *writer, buffer.data(), tables);
  if (!failure.empty()) throw support::RunError(failure);
  return goes_on ? writer->finish(tables) : PartInfo{};
}
template PartInfo write_part(const fs::path&, const Mesh<2>&, const Fields&, const support::Communicator&);
template PartInfo write_part(const fs::path&, const Mesh<3>&, const Fields&, const support::Communicator&);

// ---- Reading --------------------------------------------------------------------------------------------------------

struct PartReader::File {
  File(const fs::path& path, const PartInfo& wanted, const kernels::BlockLayout& l)
      : name(path.filename().string()), info(wanted), layout(l) {
    check_frame(path);
    file = std::make_unique<Handle>(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    require(file->is_valid(), "HDF5 cannot open it");
    values = open(kValueName, value_shape(layout, info.blocks));
    require(info.blocks == 0 || static_cast<std::int64_t>(H5Dget_offset(values->get())) == info.values_begin,
            "its values lie elsewhere");
    places.resize(std::size_t(info.blocks));
    weights.resize(std::size_t(info.blocks));
    digests.resize(std::size_t(info.blocks));
    read_table(kPlaceName, {hsize_t(info.blocks), 4}, H5T_NATIVE_UINT32, places.data());
    read_table(kWeightName, {hsize_t(info.blocks)}, H5T_NATIVE_DOUBLE, weights.data());
    read_table(kDigestName, {hsize_t(info.blocks)}, H5T_NATIVE_UINT64, digests.data());
  }

  void require(bool fits, const char* problem) const {
    if (!fits) throw DamagedError(fmt::format("{}: {}", name, problem));
  }

  void check_frame(const fs::path& path) const {
    const Descriptor bytes(path, O_RDONLY | O_NONBLOCK);  // a pipe is refused, not waited for
    if (!bytes.is_open()) throw DamagedError(fmt::format("{}: {}", name, std::strerror(errno)));
    struct stat status {};
    require(::fstat(bytes.get(), &status) == 0 && S_ISREG(status.st_mode), "it is no file");
    require(status.st_size == info.bytes, "its size is another");
    // Subtractions and quotients only: sums of what a file says might overflow.
    const auto block = static_cast<std::int64_t>(layout.block_values() * sizeof(double));
    require(info.blocks >= 0 && info.blocks <= info.bytes / block && info.values_begin >= 0 &&
                info.values_begin <= info.bytes - info.blocks * block,
            "it has no room for its blocks");
    std::uint64_t digest = 0;
    require(frame_digest(bytes.get(), info.bytes, info.values_begin, info.blocks * block, digest), "cannot be read");
    require(digest == info.frame, "a digest differs");
  }

  std::unique_ptr<Handle> open(const char* set_name, const Shape& shape) const {
    auto set = std::make_unique<Handle>(H5Dopen2(file->get(), set_name, H5P_DEFAULT), H5Dclose);
    require(set->is_valid(), "a dataset is missing");
    const Handle space(H5Dget_space(set->get()), H5Sclose);
    Shape found(shape.size());
    require(H5Sget_simple_extent_ndims(space.get()) == int(shape.size()), "a dataset has another shape");
    H5Sget_simple_extent_dims(space.get(), found.data(), nullptr);
    require(found == shape, "a dataset has another shape");
    return set;
  }

  void read_table(const char* set_name, const Shape& shape, hid_t native, void* to) const {
    const auto set = open(set_name, shape);
    require(info.blocks == 0 || H5Dread(set->get(), native, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) >= 0,
            "a dataset cannot be read");
  }

  Silence silence;
  std::string name;
  PartInfo info;
  kernels::BlockLayout layout;
  std::unique_ptr<Handle> file, values;
  std::vector<Place> places;
  std::vector<double> weights;
  std::vector<std::uint64_t> digests;
};

PartReader::PartReader(const fs::path& file, const PartInfo& info, const kernels::BlockLayout& layout)
    : file_(std::make_unique<File>(file, info, layout)) {}

PartReader::~PartReader() = default;

std::span<const Place> PartReader::places() const {
  return file_->places;
}
std::span<const double> PartReader::weights() const {
  return file_->weights;
}

void PartReader::read_values(std::int64_t first, std::int64_t count, double* to) const {
  const File& f = *file_;
  const Handle memory(H5Screate_simple(kValueRank, value_shape(f.layout, count).data(), nullptr), H5Sclose);
  const Handle space(H5Dget_space(f.values->get()), H5Sclose);
  select_blocks(space.get(), f.layout, first, count);
  f.require(H5Dread(f.values->get(), H5T_NATIVE_DOUBLE, memory.get(), space.get(), H5P_DEFAULT, to) >= 0,
            "its values cannot be read");
  const std::size_t values = f.layout.block_values();
  std::int64_t bad = 0;
#pragma omp parallel for schedule(static) reduction(+ : bad)
  for (std::int64_t k = 0; k < count; ++k) {
    const auto i = std::size_t(first + k);
    bad += block_digest(f.places[i], f.weights[i], to + std::size_t(k) * values, values) != f.digests[i] ? 1 : 0;
  }
  f.require(bad == 0, "the digest of a block differs");
}

}  // namespace amrbench::amr
