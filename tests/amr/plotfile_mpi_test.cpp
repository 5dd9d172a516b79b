// Plotfiles parsed back by code that shares nothing with the writer, and held against the mesh and fields of a run on
// one rank. tests/plotfile/ reads them with yt.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "amr/field_store.hpp"
#include "amr/plotfile/plotfile.hpp"
#include "amr/simulation.hpp"
#include "apps/config.hpp"
#include "kernels/refine_data.hpp"
#include "loadbalance/balancer.hpp"
#include "support/error.hpp"
#include "tests/amr/plotfile_parser.hpp"
#include "tests/amr/scatter.hpp"
#include "workloads/averages/averages.hpp"

namespace amrbench::amr {
namespace {

namespace fs = std::filesystem;
using test::parse;
using test::Parsed;
using test::ParsedGrid;
using test::read_file;
using Place = std::array<int, 4>;  ///< level, then block coordinates

/// A folder that all ranks see and rank 0 removes. Collective.
class SharedFolder {
 public:
  explicit SharedFolder(const support::Communicator& comm) : comm_(comm) {
    std::string name = (fs::temp_directory_path() / "amrbench-plotfile-XXXXXX").string();
    if (comm.is_root() && mkdtemp(name.data()) == nullptr) name.clear();
    path_ = support::broadcast_string(comm, name);
    if (path_.empty()) throw std::runtime_error("no temporary folder");
  }
  ~SharedFolder() {
    support::barrier(comm_);
    if (comm_.is_root()) fs::remove_all(path_);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] int entries() const { return int(std::distance(fs::directory_iterator(path_), {})); }

 private:
  const support::Communicator& comm_;
  fs::path path_;
};

// ---- What must be found ---------------------------------------------------------------------------------------------

/// Values of every leaf and ancestor of a whole mesh, as blocks, by place.
using Blocks = std::map<Place, std::vector<double>>;

Blocks all_blocks(const Mesh<3>& mesh, const FieldStore& fields) {
  Blocks blocks;
  int finest = 0;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const auto& c = mesh.coord(i);
    const double* values = fields.block(i);
    blocks[{mesh.level(i), int(c[0]), int(c[1]), int(c[2])}].assign(values, values + fields.layout().block_values());
    finest = std::max(finest, mesh.level(i));
  }
  for (int level = finest; level > 0; --level) {
    std::map<Place, std::array<const double*, 8>> families;
    for (const auto& [p, values] : blocks) {
      if (p[0] != level) continue;
      const int octant = (p[1] & 1) | (p[2] & 1) << 1 | (p[3] & 1) << 2;
      families[{level - 1, p[1] / 2, p[2] / 2, p[3] / 2}][octant] = values.data();
    }
    for (const auto& [p, children] : families) {
      std::vector<double> parent(fields.layout().block_values());
      kernels::merge_blocks(fields.layout(), children, parent.data());
      blocks[p] = std::move(parent);
    }
  }
  return blocks;
}

/// Owner and index of every leaf of a mesh on several ranks. Collective.
std::map<Place, std::pair<int, int>> owners(const Mesh<3>& mesh) {
  const auto keys = support::all_gather_v(mesh.comm(), mesh.keys());
  std::map<Place, std::pair<int, int>> found;
  std::size_t at = 0;
  for (int rank = 0; rank < mesh.comm().size(); ++rank) {
    for (int i = 0; i < mesh.rank_sizes()[rank]; ++i, ++at) {
      const auto c = mesh.space().coord(keys[at]);
      found[{mesh.space().level(keys[at]), int(c[0]), int(c[1]), int(c[2])}] = {rank, i};
    }
  }
  return found;
}

void expect_grid(const ParsedGrid& grid, const Place& place, const kernels::BlockLayout& l, const Parsed& file,
                 const std::vector<double>& block) {
  const auto& cells = file.cells[place[0]];
  for (int d = 0; d < 3; ++d) {
    EXPECT_EQ(grid.hi[d] - grid.lo[d] + 1, l.cells[d]);
    EXPECT_EQ(grid.extent[2 * d], double(grid.lo[d]) / double(cells[d]));
    EXPECT_EQ(grid.extent[2 * d + 1], double(grid.hi[d] + 1) / double(cells[d]));
  }
  std::size_t at = 0, wrong = 0;
  for (int v = 0; v < l.variables; ++v) {
    const auto component = grid.values.begin() + std::ptrdiff_t(v * l.block_cells());
    for (int z = 0; z < l.cells[2]; ++z) {
      for (int y = 0; y < l.cells[1]; ++y) {
        for (int x = 0; x < l.cells[0]; ++x) wrong += grid.values[at++] != block[l.offset(v, x, y, z)];
      }
    }
    EXPECT_EQ(grid.minima[v], *std::min_element(component, component + std::ptrdiff_t(l.block_cells())));
    EXPECT_EQ(grid.maxima[v], *std::max_element(component, component + std::ptrdiff_t(l.block_cells())));
  }
  EXPECT_EQ(wrong, 0U);
}

/// The last two components: constant over the grid.
void expect_owner(const ParsedGrid& grid, int variables, std::size_t cells, double rank, double block) {
  for (int extra = 0; extra < 2; ++extra) {
    const double value = extra == 0 ? rank : block;
    const auto component = grid.values.begin() + std::ptrdiff_t((variables + extra) * cells);
    EXPECT_EQ(std::count(component, component + std::ptrdiff_t(cells), value), std::ptrdiff_t(cells));
    EXPECT_EQ(grid.minima[variables + extra], value);
    EXPECT_EQ(grid.maxima[variables + extra], value);
  }
  EXPECT_EQ(grid.file, fmt::format("Cell_D_{:05}", int(rank)));
}

void expect_plotfile(const Parsed& file, const Mesh<3>& whole, const FieldStore& fields,
                     const std::map<Place, std::pair<int, int>>& owner) {
  const kernels::BlockLayout& l = fields.layout();
  const Blocks blocks = all_blocks(whole, fields);
  std::size_t seen = 0;
  for (std::size_t level = 0; level < file.levels.size(); ++level) {
    std::pair<std::string, Key> before;
    for (const ParsedGrid& grid : file.levels[level]) {
      Place place{int(level), 0, 0, 0};
      for (int d = 0; d < 3; ++d) {
        EXPECT_EQ(grid.lo[d] % l.cells[d], 0);
        place[d + 1] = int(grid.lo[d] / l.cells[d]);
      }
      SCOPED_TRACE(fmt::format("level {}, block {} {} {}", place[0], place[1], place[2], place[3]));
      const auto found = blocks.find(place);
      ASSERT_NE(found, blocks.end());
      ++seen;
      const sfc::Coord<3> c{std::uint32_t(place[1]), std::uint32_t(place[2]), std::uint32_t(place[3])};
      const Key key = whole.space().key(int(level), c);
      EXPECT_LT(before, std::pair(grid.file, key)) << "grids stand by rank, then in curve order";
      before = {grid.file, key};
      expect_grid(grid, place, l, file, found->second);
      const auto leaf = owner.find(place);
      if (leaf != owner.end()) {
        expect_owner(grid, l.variables, l.block_cells(), leaf->second.first, leaf->second.second);
      } else {  // an ancestor belongs to the owner of its first leaf
        Key first = whole.space().kEnd;
        for (const Key k : whole.keys()) {
          if (k >= whole.space().first(key)) first = std::min(first, k);
        }
        const auto f = whole.space().coord(first);
        const auto of = owner.at({whole.space().level(first), int(f[0]), int(f[1]), int(f[2])});
        expect_owner(grid, l.variables, l.block_cells(), of.first, -1);
      }
    }
  }
  EXPECT_EQ(seen, blocks.size()) << "each block and ancestor is a grid";
}

// ---- The runs -------------------------------------------------------------------------------------------------------

struct SampleRun {
  /// With `scattered` blocks are dealt out at random instead of along the curve.
  SampleRun(const support::Communicator& comm, const apps::Config& config, bool scattered = false)
      : workload(config), balancer(config.balance, config.partition), scatter(config.fields.seed) {
    Rebalancer<3>& chosen = scattered ? static_cast<Rebalancer<3>&>(scatter) : balancer;
    simulation = std::make_unique<Simulation<3>>(
        comm, config, loadbalance::make_key_space<3>(config.mesh, config.partition), workload, chosen, metrics);
    simulation->run([](std::int64_t, double, const RunTotals&) {});
  }
  [[nodiscard]] const Mesh<3>& mesh() const { return simulation->mesh(); }
  [[nodiscard]] const FieldStore& fields() const { return host_fields(simulation->fields()); }
  void write(const fs::path& dir, double time = 0.5) const {
    write_plotfile(dir, mesh(), fields(), PlotInfo{}, 12, time);
  }
  workloads::Averages workload;
  loadbalance::Balancer<3> balancer;
  checks::Scatter scatter;
  support::Metrics metrics;
  std::unique_ptr<Simulation<3>> simulation;
};

apps::Config random_config(std::uint64_t seed) {
  std::mt19937_64 dice(seed);
  const auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(dice); };
  const auto real = [&](double lo, double hi) { return std::uniform_real_distribution<double>(lo, hi)(dice); };
  apps::Config c;
  for (int d = 0; d < 3; ++d) c.mesh.root[d] = pick(1, 3);
  for (int d = 0; d < 3; ++d) c.mesh.block[d] = 2 * pick(1, 3);
  c.mesh.max_level = pick(0, 3);
  c.fields.variables = pick(1, 10);
  c.fields.seed = seed;
  c.run.steps = 2;
  c.run.stages_per_step = 2;
  c.run.refine_every = 1;
  c.partition.method = std::array{"morton", "hilbert", "gensfc", "orb"}[pick(0, 3)];
  c.balance.policy = pick(0, 3) ? "every" : "never";
  for (int i = pick(1, 2); i > 0; --i) {
    ObjectConfig o;
    for (int d = 0; d < 3; ++d) {
      o.center[d] = real(0, 1);
      o.size[d] = real(0.05, 0.3);
      o.velocity[d] = real(-0.1, 0.1);
    }
    c.objects.push_back(o);
  }
  return c;
}

TEST(Plotfile, HoldsTheMeshAndFieldsOfAnyRankCount) {
  const auto world = support::Communicator::world();
  const auto self = support::Communicator::duplicate(MPI_COMM_SELF);
  int several_levels = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const apps::Config config = random_config(seed);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    SharedFolder folder(world);
    const SampleRun run(world, config, seed % 2 == 0);
    run.write(folder.path() / "plt00012");
    const auto owner = owners(run.mesh());
    if (!world.is_root()) continue;
    const SampleRun whole(self, config);
    const Parsed file = parse(folder.path() / "plt00012");
    EXPECT_EQ(folder.entries(), 1);
    several_levels += file.levels.size() > 2;
    std::vector<std::string> names;
    for (int v = 0; v < config.fields.variables; ++v) names.push_back(fmt::format("var{:03}", v));
    names.insert(names.end(), {"rank", "block"});
    EXPECT_EQ(file.names, names);
    EXPECT_EQ(file.time, 0.5);
    EXPECT_EQ(file.steps, std::vector<std::int64_t>(file.levels.size(), 12));
    for (std::size_t k = 0; k < file.levels.size(); ++k) {
      for (int d = 0; d < 3; ++d) {
        EXPECT_EQ(file.cells[k][d], std::int64_t(config.mesh.root[d]) * config.mesh.block[d] << k);
      }
    }
    expect_plotfile(file, whole.mesh(), whole.fields(), owner);
  }
  if (world.is_root()) {
    EXPECT_GE(several_levels, 4) << "the sample is too plain";
  }
}

TEST(Plotfile, OneBlockOnManyRanksIsOneFile) {
  const auto world = support::Communicator::world();
  apps::Config config = random_config(1);
  config.mesh.root = {1, 1, 1};
  config.mesh.max_level = 0;
  SharedFolder folder(world);
  const SampleRun run(world, config);
  run.write(folder.path() / "plt00012");
  const auto owner = owners(run.mesh());
  if (!world.is_root()) return;
  const SampleRun whole(support::Communicator::duplicate(MPI_COMM_SELF), config);
  const Parsed file = parse(folder.path() / "plt00012");
  ASSERT_EQ(file.levels.size(), 1U);
  EXPECT_EQ(file.levels[0].size(), 1U);
  expect_plotfile(file, whole.mesh(), whole.fields(), owner);
}

/// The message of the RunError that all ranks must throw.
std::string refusal(const SampleRun& run, const fs::path& dir) {
  try {
    run.write(dir);
  } catch (const support::RunError& e) {
    return e.what();
  }
  ADD_FAILURE() << "no RunError";
  return {};
}

TEST(Plotfile, IsNeverOverwritten) {
  const auto world = support::Communicator::world();
  const apps::Config config = random_config(3);
  SharedFolder folder(world);
  const SampleRun run(world, config);
  const fs::path dir = folder.path() / "plt00012";
  run.write(dir, 0.25);
  const std::string before = world.is_root() ? read_file(dir / "Header") : "";
  // A folder may be named with a slash behind it.
  EXPECT_EQ(refusal(run, dir / ""), "cannot write plotfile " + dir.string() + ": it exists already");
  const fs::path other = folder.path() / "plt00013";
  if (world.is_root()) {
    EXPECT_EQ(read_file(dir / "Header"), before);
    EXPECT_EQ(folder.entries(), 1);
    fs::create_directory_symlink("nowhere", other);
  }
  support::barrier(world);
  EXPECT_EQ(refusal(run, other), "cannot write plotfile " + other.string() + ": it exists already");
}

TEST(Plotfile, NeedsItsParentFolder) {
  const auto world = support::Communicator::world();
  const apps::Config config = random_config(3);
  SharedFolder folder(world);
  const SampleRun run(world, config);
  const fs::path dir = folder.path() / "missing" / "plt00012";
  EXPECT_EQ(refusal(run, dir), "cannot write plotfile " + dir.string() + ": No such file or directory");
  support::barrier(world);
  EXPECT_EQ(folder.entries(), 0);
}

TEST(Plotfile, AFileThatCannotBeWrittenFailsAllRanksAndLeavesNothing) {
  const auto world = support::Communicator::world();
  apps::Config config = random_config(3);
  config.mesh.root = {3, 3, 3};
  SharedFolder folder(world);
  const SampleRun run(world, config);
  const int last = world.size() - 1;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  if (world.rank() == last) {
    const rlimit small{1000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  const std::string message = refusal(run, folder.path() / "plt00012");
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(message.find(fmt::format("Cell_D_{:05}: File too large", last)), std::string::npos) << message;
  support::barrier(world);
  EXPECT_EQ(folder.entries(), 0);
  run.write(folder.path() / "plt00012");  // nothing is in the way of the next try
}

TEST(Plotfile, ExtremesAreNumbersWhateverTheValues) {
  const auto world = support::Communicator::world();
  apps::Config config = random_config(5);
  config.mesh.root = {1, 1, 1};
  config.mesh.max_level = 0;
  config.fields.variables = 2;
  const support::Communicator& comm = world;
  const Mesh<3> mesh(comm, sfc::KeySpace<3>(sfc::Curve::morton, {1, 1, 1}, 0));
  FieldStore fields(kernels::make_layout(config.mesh.block, 2));
  fields.reset(mesh.size());
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    for (std::size_t k = 0; k < fields.layout().block_values(); ++k) fields.block(i)[k] = nan;
    for (int x = 0; x < 2; ++x) fields.block(i)[fields.layout().offset(1, x, 0, 0)] = x ? inf : -3.5;
  }
  SharedFolder folder(world);
  write_plotfile(folder.path() / "plt00000", mesh, fields, PlotInfo{}, 0, 0.0);
  if (!world.is_root()) return;
  const ParsedGrid grid = parse(folder.path() / "plt00000").levels.at(0).at(0);
  EXPECT_TRUE(std::isnan(grid.values[0]));
  EXPECT_EQ(grid.minima[0], 0.0);
  EXPECT_EQ(grid.maxima[0], 0.0);
  EXPECT_EQ(grid.minima[1], -3.5);
  EXPECT_EQ(grid.maxima[1], std::numeric_limits<double>::max());
}

}  // namespace
}  // namespace amrbench::amr
