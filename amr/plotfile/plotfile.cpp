#include "amr/plotfile/plotfile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "amr/directory.hpp"
#include "amr/plotfile/files.hpp"
#include "amr/plotfile/grid.hpp"
#include "support/error.hpp"

namespace amrbench::amr {

namespace {

namespace fs = std::filesystem;
using kernels::BlockLayout;

static_assert(std::endian::native == std::endian::little, "the descriptor of reals below says little endian");
constexpr std::string_view kRealDescriptor = "((8, (64 11 52 0 1 12 0 1023)),(8, (8 7 6 5 4 3 2 1)))";
constexpr int kExtraComponents = 2;  ///< rank, block
constexpr std::size_t kBatchBytes = std::size_t(2) << 20;
constexpr std::size_t kTextPiece = std::size_t(1) << 20;

// ---- The levels -----------------------------------------------------------------------------------------------------

/// A grid of this rank on one level.
struct Grid {
  Key key = 0;
  std::int32_t block = -1;         ///< the leaf's index in the mesh; -1 for an ancestor
  const double* values = nullptr;  ///< of an ancestor
};

/// The parents of a level's grids. Of those that other ranks own, the values are parts to send.
struct Parents {
  std::vector<Key> keys;
  std::vector<int> owners;
  std::unique_ptr<double[]> values;
};

/// Memory that is touched for the first time costs more than what is done with it here, so it is used again and again.
struct Workspace {
  std::vector<char> bytes;                   ///< grids on their way to the file
  std::vector<std::vector<double>> scratch;  ///< a grid for each thread
  std::unique_ptr<BlockReading> reading;     ///< the leaves of a batch
};

/// This rank's part of a Cell_H.
struct LevelText {
  std::int64_t grids = 0;
  std::string boxes, places, minima, maxima;
};

template <int Dim>
class Writer {
 public:
  using Coord = sfc::Coord<Dim>;

  Writer(fs::path folder, const Mesh<Dim>& mesh, const Fields& fields, const PlotInfo& info)
      : folder_(std::move(folder)), mesh_(mesh), fields_(fields), layout_(fields.layout()), info_(info) {
    for (std::int32_t i = 0; i < mesh_.size(); ++i) finest_ = std::max(finest_, mesh_.level(i));
    finest_ = support::all_max(mesh_.comm(), finest_);
    keys_.resize(finest_ + 1);
    work_.scratch.resize(omp_get_max_threads());
    work_.reading = fields_.make_reading();
  }
  [[nodiscard]] int finest() const { return finest_; }

  /// All Cell_D and Cell_H, the finest level first: a level's grids are all there is to know for the next coarser one.
  void write_levels() {
    Parents ancestors;
    for (int level = finest_; level >= 0; --level) {
      const std::vector<Grid> grids = level_grids(level, ancestors);
      Parents parents = level > 0 ? parents_of(grids) : Parents{};
      LevelText text;
      const std::string error = write_grids(level, grids, parents, text);
      support::agree_on_error(mesh_.comm(), error);
      if (level > 0) exchange_octants(grids, parents);
      write_cell_header(level, text);
      ancestors = std::move(parents);
    }
  }
  void write_header(std::int64_t step, double time);

 private:
  [[nodiscard]] int components() const { return layout_.variables + kExtraComponents; }
  [[nodiscard]] std::size_t grid_values() const { return layout_.block_cells() * layout_.variables; }
  [[nodiscard]] std::size_t grid_bytes() const { return layout_.block_cells() * components() * sizeof(double); }
  [[nodiscard]] int octant(Key key) const {
    const Coord c = mesh_.space().coord(key);
    int octant = 0;
    for (int d = 0; d < Dim; ++d) octant |= static_cast<int>(c[d] & 1) << d;
    return octant;
  }
  /// "(i,j,k)".
  template <class Number>
  [[nodiscard]] static std::string point(const std::array<Number, Dim>& c) {
    return fmt::format("({})", fmt::join(c, ","));
  }
  [[nodiscard]] std::string box(const Coord& c) const {
    std::array<std::int64_t, Dim> low{}, high{};
    for (std::size_t d = 0; d < Dim; ++d) {
      low[d] = std::int64_t{c[d]} * layout_.cells[d];
      high[d] = low[d] + layout_.cells[d] - 1;
    }
    return fmt::format("({} {} {})", point(low), point(high), point(std::array<int, Dim>{}));
  }

  std::vector<Grid> level_grids(int level, const Parents& ancestors);
  [[nodiscard]] Parents parents_of(const std::vector<Grid>& grids) const;
  std::string write_grids(int level, const std::vector<Grid>& grids, Parents& parents, LevelText& text);
  void write_batch(std::span<const Grid> grids, Parents& parents, std::size_t& offset, plotfile::OutputFile& file,
                   LevelText& text);
  void fill_grid(const Grid& grid, const double* leaf, Parents& parents, std::vector<double>& scratch, char* out,
                 std::string& minima, std::string& maxima) const;
  void exchange_octants(const std::vector<Grid>& grids, Parents& parents) const;
  [[nodiscard]] std::size_t place_of(Key parent, const Parents& parents) const {
    return std::lower_bound(parents.keys.begin(), parents.keys.end(), parent) - parents.keys.begin();
  }
  void write_cell_header(int level, const LevelText& text) const;
  void append_text(plotfile::OutputFile& file, std::string_view mine) const;

  fs::path folder_;
  const Mesh<Dim>& mesh_;
  const Fields& fields_;
  const BlockLayout& layout_;
  const PlotInfo& info_;
  int finest_ = 0;
  Workspace work_;
  std::vector<std::vector<Key>> keys_;  ///< of this rank's grids, by level
};

template <int Dim>
std::vector<Grid> Writer<Dim>::level_grids(int level, const Parents& ancestors) {
  std::vector<Grid> leaves, averaged, grids;
  for (std::int32_t i = 0; i < mesh_.size(); ++i) {
    if (mesh_.level(i) == level) leaves.push_back({mesh_.keys()[i], i, nullptr});
  }
  for (std::size_t a = 0; a < ancestors.keys.size(); ++a) {
    if (ancestors.owners[a] != mesh_.comm().rank()) continue;
    averaged.push_back({ancestors.keys[a], -1, ancestors.values.get() + a * grid_values()});
  }
  std::merge(leaves.begin(), leaves.end(), averaged.begin(), averaged.end(), std::back_inserter(grids),
             [](const Grid& a, const Grid& b) { return a.key < b.key; });
  for (const Grid& grid : grids) keys_[level].push_back(grid.key);
  return grids;
}

/// A parent belongs to the rank that has its first child. Where that is not this one, the directory knows. Collective.
template <int Dim>
Parents Writer<Dim>::parents_of(const std::vector<Grid>& grids) const {
  const auto& space = mesh_.space();
  Parents parents;
  std::vector<Key> firsts, asked;
  std::vector<std::size_t> unknown;
  for (const Grid& grid : grids) {
    const Key parent = space.parent(grid.key);
    const bool first = space.child_index(grid.key) == 0;
    if (first) firsts.push_back(grid.key);
    if (!parents.keys.empty() && parents.keys.back() == parent) continue;
    parents.keys.push_back(parent);
    parents.owners.push_back(mesh_.comm().rank());
    if (first) continue;
    asked.push_back(space.child(parent, 0));
    unknown.push_back(parents.owners.size() - 1);
  }
  Directory directory;
  directory.build(mesh_.comm(), firsts);
  const std::vector<int> owners = directory.owners(mesh_.comm(), asked);
  for (std::size_t k = 0; k < unknown.size(); ++k) parents.owners[unknown[k]] = owners[k];
  parents.values = std::make_unique_for_overwrite<double[]>(parents.keys.size() * grid_values());
  return parents;
}

template <int Dim>
std::string Writer<Dim>::write_grids(int level, const std::vector<Grid>& grids, Parents& parents, LevelText& text) {
  if (grids.empty()) return {};
  plotfile::OutputFile file(folder_ / fmt::format("Level_{}", level) /
                            fmt::format("Cell_D_{:05}", mesh_.comm().rank()));
  const std::size_t batch = std::max<std::size_t>(1, kBatchBytes / grid_bytes());
  std::size_t offset = 0;
  for (std::size_t begin = 0; begin < grids.size(); begin += batch) {
    const std::size_t count = std::min(batch, grids.size() - begin);
    write_batch(std::span(grids).subspan(begin, count), parents, offset, file, text);
  }
  text.grids = static_cast<std::int64_t>(grids.size());
  return file.close();
}

template <int Dim>
void Writer<Dim>::write_batch(std::span<const Grid> grids, Parents& parents, std::size_t& offset,
                              plotfile::OutputFile& file, LevelText& text) {
  const std::size_t count = grids.size();
  std::vector<std::size_t> data(count);
  std::vector<std::string> headers(count), minima(count), maxima(count);
  std::vector<std::int32_t> leaves;
  std::vector<std::size_t> leaf_of(count);  // place among the leaves
  std::size_t end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    leaf_of[i] = leaves.size();
    if (grids[i].values == nullptr) leaves.push_back(grids[i].block);
    const std::string where = box(mesh_.space().coord(grids[i].key));
    headers[i] = fmt::format("FAB {}{} {}\n", kRealDescriptor, where, components());
    text.boxes += where + '\n';
    text.places += fmt::format("FabOnDisk: Cell_D_{:05} {}\n", mesh_.comm().rank(), offset + end);
    data[i] = end + headers[i].size();
    end = data[i] + grid_bytes();
  }
  fields_.read(leaves, *work_.reading);
  if (work_.bytes.size() < end) work_.bytes.resize(end);
  char* bytes = work_.bytes.data();
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(bytes + data[i] - headers[i].size(), headers[i].data(), headers[i].size());
    const double* const leaf = grids[i].values == nullptr ? work_.reading->values(leaf_of[i]) : nullptr;
    fill_grid(grids[i], leaf, parents, work_.scratch[omp_get_thread_num()], bytes + data[i], minima[i], maxima[i]);
  }
  for (const std::string& line : minima) text.minima += line;
  for (const std::string& line : maxima) text.maxima += line;
  file.write({bytes, end});
  offset += end;
}

/// `leaf`: values of the grid's block, when it is a leaf.
template <int Dim>
void Writer<Dim>::fill_grid(const Grid& grid, const double* leaf, Parents& parents, std::vector<double>& scratch,
                            char* out, std::string& minima, std::string& maxima) const {
  const std::size_t cells = layout_.block_cells();
  const double* values = grid.values;
  if (values == nullptr) {
    scratch.resize(grid_values());
    plotfile::pack_block(layout_, leaf, scratch.data());
    values = scratch.data();
  }
  if (!parents.keys.empty()) {
    const Key parent = mesh_.space().parent(grid.key);
    plotfile::restrict_grid(layout_, values, octant(grid.key), info_.is_extensive,
                            parents.values.get() + place_of(parent, parents) * grid_values());
  }
  std::memcpy(out, values, grid_values() * sizeof(double));
  for (int v = 0; v < layout_.variables; ++v) {
    const auto [lo, hi] = plotfile::finite_extremes(values + v * cells, cells);
    fmt::format_to(std::back_inserter(minima), "{},", lo);
    fmt::format_to(std::back_inserter(maxima), "{},", hi);
  }
  const std::array<double, kExtraComponents> extra{double(mesh_.comm().rank()), double(grid.block)};
  char* to = out + grid_values() * sizeof(double);  // where doubles need not be aligned
  for (const double value : extra) {
    for (std::size_t cell = 0; cell < cells; ++cell, to += sizeof(double)) std::memcpy(to, &value, sizeof(double));
    fmt::format_to(std::back_inserter(minima), "{},", value);
    fmt::format_to(std::back_inserter(maxima), "{},", value);
  }
  minima += '\n';
  maxima += '\n';
}

/// Parts of ancestors that other ranks computed go to the owners, with the keys of the grids they come from.
template <int Dim>
void Writer<Dim>::exchange_octants(const std::vector<Grid>& grids, Parents& parents) const {
  const support::Communicator& comm = mesh_.comm();
  const std::size_t part = grid_values() / mesh_.space().kChildren;
  std::vector<std::pair<int, Key>> leaving;  // owner of the parent, grid
  for (const Grid& grid : grids) {
    const int owner = parents.owners[place_of(mesh_.space().parent(grid.key), parents)];
    if (owner != comm.rank()) leaving.emplace_back(owner, grid.key);
  }
  std::sort(leaving.begin(), leaving.end());
  std::vector<Key> keys, arrived;
  std::vector<int> counts(comm.size(), 0), value_counts(comm.size(), 0);
  std::vector<double> values(leaving.size() * part), parts;
  for (const auto& [owner, key] : leaving) {
    const double* from = parents.values.get() + place_of(mesh_.space().parent(key), parents) * grid_values();
    plotfile::take_octant(layout_, from, octant(key), values.data() + keys.size() * part);
    keys.push_back(key);
    value_counts[owner] = support::mpi_count(++counts[owner] * part, "plotfile: parts of ancestors");
  }
  support::all_to_all_v<Key>(comm, keys, counts, arrived);
  support::all_to_all_v<double>(comm, values, value_counts, parts);
  for (std::size_t k = 0; k < arrived.size(); ++k) {
    double* to = parents.values.get() + place_of(mesh_.space().parent(arrived[k]), parents) * grid_values();
    plotfile::put_octant(layout_, parts.data() + k * part, octant(arrived[k]), to);
  }
}

// ---- The headers ----------------------------------------------------------------------------------------------------

/// Writes the ranks' texts one after another, on rank 0. Collective.
template <int Dim>
void Writer<Dim>::append_text(plotfile::OutputFile& file, std::string_view mine) const {
  const support::Communicator& comm = mesh_.comm();
  if (!comm.is_root()) {
    const std::uint64_t size = mine.size();
    support::mpi_check(MPI_Send(&size, 1, MPI_UINT64_T, 0, 0, comm.get()), "MPI_Send");
    for (; !mine.empty(); mine.remove_prefix(std::min(mine.size(), kTextPiece))) {
      const int n = support::mpi_count(std::min(mine.size(), kTextPiece));
      support::mpi_check(MPI_Send(mine.data(), n, MPI_CHAR, 0, 0, comm.get()), "MPI_Send");
    }
    return;
  }
  file.write(mine);
  std::string piece;
  for (int rank = 1; rank < comm.size(); ++rank) {
    std::uint64_t left = 0;
    support::mpi_check(MPI_Recv(&left, 1, MPI_UINT64_T, rank, 0, comm.get(), MPI_STATUS_IGNORE), "MPI_Recv");
    for (; left > 0; left -= piece.size()) {
      piece.resize(std::min<std::size_t>(left, kTextPiece));
      support::mpi_check(
          MPI_Recv(piece.data(), support::mpi_count(piece.size()), MPI_CHAR, rank, 0, comm.get(), MPI_STATUS_IGNORE),
          "MPI_Recv");
      file.write(piece);
    }
  }
}

template <int Dim>
void Writer<Dim>::write_cell_header(int level, const LevelText& text) const {
  const bool root = mesh_.comm().is_root();
  const std::int64_t grids = support::all_sum(mesh_.comm(), text.grids);
  std::unique_ptr<plotfile::OutputFile> file =
      root ? std::make_unique<plotfile::OutputFile>(folder_ / fmt::format("Level_{}", level) / "Cell_H")
           : std::make_unique<plotfile::OutputFile>();
  const auto section = [&](const std::string& head, std::string_view body, std::string_view tail) {
    if (root) file->write(head);
    append_text(*file, body);
    if (root) file->write(tail);
  };
  // Version 1, "one file a processor or so", components, ghost cells.
  section(fmt::format("1\n1\n{}\n0\n({} 0\n", components(), grids), text.boxes, ")\n");
  section(fmt::format("{}\n", grids), text.places, "\n");
  section(fmt::format("{},{}\n", grids, components()), text.minima, "\n");
  section(fmt::format("{},{}\n", grids, components()), text.maxima, "\n");
  support::agree_on_error(mesh_.comm(), file->close());
}

template <int Dim>
void Writer<Dim>::write_header(std::int64_t step, double time) {
  const bool root = mesh_.comm().is_root();
  std::unique_ptr<plotfile::OutputFile> file =
      root ? std::make_unique<plotfile::OutputFile>(folder_ / "Header") : std::make_unique<plotfile::OutputFile>();
  std::array<std::int64_t, Dim> cells{}, zero{}, last{};
  std::array<double, Dim> extent{};
  for (std::size_t d = 0; d < Dim; ++d) {
    cells[d] = std::int64_t(mesh_.space().root()[d]) * layout_.cells[d];
    extent[d] = info_.extent[d];
  }

  std::string head = fmt::format("HyperCLaw-V1.1\n{}\n", components());
  for (int v = 0; v < layout_.variables; ++v)
    head += info_.names.empty() ? fmt::format("var{:03}\n", v) : info_.names[std::size_t(v)] + '\n';
  head += fmt::format("rank\nblock\n{}\n{}\n{}\n{} \n{} \n", Dim, time, finest_, fmt::join(zero, " "),
                      fmt::join(extent, " "));
  std::string ratios, domains, steps, sizes;
  for (int level = 0; level <= finest_; ++level) {
    if (level > 0) ratios += "2 ";
    for (std::size_t d = 0; d < Dim; ++d) last[d] = (cells[d] << level) - 1;
    domains += fmt::format("({} {} {}) ", point(zero), point(last), point(zero));
    steps += fmt::format("{} ", step);
    for (std::size_t d = 0; d < Dim; ++d)
      sizes += fmt::format("{} ", extent[d] / static_cast<double>(cells[d] << level));
    sizes += '\n';
  }
  // Cartesian coordinates, no border around the grids.
  head += fmt::format("{}\n{}\n{}\n{}0\n0\n", ratios, domains, steps, sizes);
  if (root) file->write(head);

  for (int level = 0; level <= finest_; ++level) {
    const std::int64_t grids = support::all_sum(mesh_.comm(), static_cast<std::int64_t>(keys_[level].size()));
    std::string places;
    for (const Key key : keys_[level]) {
      const Coord c = mesh_.space().coord(key);
      for (std::size_t d = 0; d < Dim; ++d) {
        const double blocks = static_cast<double>(std::int64_t(mesh_.space().root()[d]) << level);
        places += fmt::format("{} {}\n", extent[d] * (c[d] / blocks), extent[d] * ((c[d] + 1) / blocks));
      }
    }
    if (root) file->write(fmt::format("{} {} {}\n{}\n", level, grids, time, step));
    append_text(*file, places);
    if (root) file->write(fmt::format("Level_{}/Cell\n", level));
  }
  support::agree_on_error(mesh_.comm(), file->close());
}

}  // namespace

template <int Dim>
void write_plotfile(const fs::path& dir, const Mesh<Dim>& mesh, const Fields& fields, const PlotInfo& info,
                    std::int64_t step, double time) {
  const std::size_t names = info.names.size();
  if ((names != 0 && names != std::size_t(fields.layout().variables)) || fields.layout().dims() != Dim ||
      fields.size() != mesh.size()) {
    throw support::RunError("plotfile: the mesh, its fields and their names are not of one run");
  }
  plotfile::TemporaryFolder folder(mesh.comm(), dir.has_filename() ? dir : dir.parent_path());
  Writer<Dim> writer(folder.path(), mesh, fields, info);
  folder.make(writer.finest());
  writer.write_levels();
  writer.write_header(step, time);
  folder.publish();
}

template void write_plotfile(const fs::path&, const Mesh<2>&, const Fields&, const PlotInfo&, std::int64_t, double);
template void write_plotfile(const fs::path&, const Mesh<3>&, const Fields&, const PlotInfo&, std::int64_t, double);

}  // namespace amrbench::amr
